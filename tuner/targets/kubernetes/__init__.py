"""Manifests of Kubernetes → the folder of a target app, and the answer back into the manifests.

manifest       one manifest as a text: its ini, and the answer for it
├── answering      the answer in the form in which the options stand, or in an operator's object
└── editing        one text of a file replaced, and nothing else

making         what is asked, and the target app; `targets.compose` makes its parts
├── notes          what an arm cannot have of a pod, and where an answer must go
└── gathering      all containers that the app may need, as the tree of one compose file
    ├── roles          what the other containers of a pod are for
    ├── probes         probes as health checks
    ├── names          Services and the names in a cluster
    └── tree           one container as a service of a compose file
        └── variables      env and envFrom in their order, `$(NAME)`, quantities; no secrets
manifests      the container that starts uwsgi, and where its options stand
├── volumes        the files and folders that a container gets
├── objects        workloads with their pods; who writes an object
└── documents      what was given as objects with lines; what is no manifest
"""

from tuner.targets.kubernetes.making import Asked, draft
from tuner.targets.kubernetes.manifest import Manifest, is_manifest
from tuner.targets.kubernetes.manifests import Choice
