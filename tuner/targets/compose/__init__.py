"""A docker-compose file → the folder of a target app, for `tuner app init`.

writing        target.yaml with its notes, and the files beside it
└── making         the parts of the target app, all mistakes at once
    ├── asking         the compose file and the service that are meant
    ├── building       the image, or the folder of its Dockerfile
    ├── translation    one service as a service of a target app
    │   ├── environment    its variables; secrets stay on the host
    │   ├── mounts         its volumes, small files and folders in memory
    │   └── keys           what an arm cannot have: left out, or refused
    ├── placing        what target.yaml calls files and folders of the host
    ├── starting       the command with {ini}, and the present uwsgi.ini
    ├── serving        port, health path, Host
    └── selection      which services the app needs, and why not the others
document       the compose file as a tree with lines; `extends`, merge keys
interpolation  ${A:-x} and all the others
findings       mistakes, and what a person has to do or to know
"""

from tuner.targets.compose.findings import Findings, Kind, Note
from tuner.targets.compose.making import Draft, Wanted, draft
from tuner.targets.compose.writing import target_yaml, write
