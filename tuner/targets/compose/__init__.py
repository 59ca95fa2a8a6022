"""A docker-compose file → the folder of a target app, for `tuner app init`.

writing        target.yaml with its notes, and the files beside it
└── making         what is asked, and the parts of the target app; all mistakes at once
    ├── translation    one service as a service of a target app; what an arm cannot have
    │   ├── images         the usual health check of an image, and whether it is large
    │   ├── environment    its variables; secrets stay on the host
    │   └── mounts         its volumes, small files and folders in memory, and their names
    ├── naming         the names of an arm, and the hosts that it does not have
    ├── asking         the compose file, its services, and the one that is the app
    │   └── building       the Dockerfile of an image that a service only names
    ├── noting         what is lost with a script; variables that uWSGI reads
    ├── baseline       one call of uWSGI → the command with {ini}, and the present uwsgi.ini
    │   └── ordering       its words in the order of uWSGI; several files, and sections, as one
    ├── starting       the image, its words and variables, and the call that counts
    │   ├── following      words → the calls of uWSGI, through scripts, wrappers, supervisors
    │   │   ├── calls          what is found: a call, with what is lost without its script
    │   │   ├── shell          a script → its commands; conditions: which of them run
    │   │   ├── builtins       what `cd`, `export`, `set` and `envsubst` change
    │   │   ├── expanding      variables of a shell → values, and where each is from
    │   │   └── supervisors    supervisord and Procfile → their programs
    │   └── files          a path in the container → a mount, the build, the image
    │       └── dockerfile     COPY, ENV, WORKDIR, ENTRYPOINT, CMD
    ├── serving        its port, health path, Host and threads
    └── selection      which services the app needs
project        all compose files as one: in order, with `include` and `extends`
└── document       a file as a tree with lines; merge keys
    └── interpolation  ${A:-x}, and the variables of env files
findings       mistakes, and what a person has to do or to know
"""

from tuner.targets.compose.asking import Wanted
from tuner.targets.compose.findings import Findings, Kind, Note
from tuner.targets.compose.making import Draft, draft
from tuner.targets.compose.writing import target_yaml, write
