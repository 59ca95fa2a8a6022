"""A docker-compose file → the folder of a target app, for `tuner app init`.

writing        target.yaml with its notes, and the files beside it
└── making         what is asked, and the parts of the target app; all mistakes at once
    ├── translation    one service as a service of a target app; what an arm cannot have
    │   ├── environment    its variables; secrets stay on the host
    │   └── mounts         its volumes, small files and folders in memory, and their names
    ├── starting       the image, the command with {ini}, and the present uwsgi.ini
    └── selection      which services the app needs; its port, health path and Host
document       the compose file as a tree with lines; `extends`, merge keys, ${A:-x}
findings       mistakes, and what a person has to do or to know
"""

from tuner.targets.compose.findings import Findings, Kind, Note
from tuner.targets.compose.making import Draft, Wanted, draft
from tuner.targets.compose.writing import target_yaml, write
