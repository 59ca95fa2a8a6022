"""The files that a recommendation consists of: the ini, and what its box has to look like."""

import json
from typing import Literal

from tuner.model import Job, JobSpec, Recommendation

IniForm = Literal["patched", "overlay"]
SysctlForm = Literal["plain", "compose", "kubernetes"]

INI_PATH = "/etc/uwsgi/uwsgi.ini"
"""Where the rendered compose file mounts the recommended ini."""


def ini_of(found: Recommendation, form: IniForm) -> str:
    """The user's file with the changes in place, or the changes alone for a second --ini."""
    return found.uwsgi_ini if form == "patched" else found.overlay_ini


def compose_of(job: Job) -> str:
    """A compose file with the limits and sysctls under which the file was measured."""
    spec, limits = job.spec, job.spec.limits
    command = [word.replace("{ini}", INI_PATH) for word in spec.target.command]
    # JSON strings are YAML strings, whatever is in them.
    return f"""\
# The box in which job {job.id} measured {spec.app}: the recommended uwsgi.ini relies on it.
services:
  {spec.app}:
    image: {json.dumps(spec.target.image or f"{spec.target.target_app}:latest")}
    command: {json.dumps(command)}
    volumes:
      - ./uwsgi.ini:{INI_PATH}:ro
    cpus: {limits.cpus:g}
    mem_limit: {limits.memory_mb}m
    memswap_limit: {limits.memory_mb}m
    sysctls:
      net.core.somaxconn: {limits.somaxconn}
"""


def sysctls_of(spec: JobSpec, form: SysctlForm) -> str:
    """The kernel settings that the file relies on, for whoever has to set them."""
    somaxconn = spec.limits.somaxconn
    if form == "plain":
        return f"net.core.somaxconn = {somaxconn}\n"
    if form == "compose":
        return f"sysctls:\n  net.core.somaxconn: {somaxconn}\n"
    return f"""\
# In the pod's spec. The kubelet needs --allowed-unsafe-sysctls=net.core.somaxconn.
securityContext:
  sysctls:
    - name: net.core.somaxconn
      value: "{somaxconn}"
"""
