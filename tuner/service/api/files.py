"""The files of a recommendation: the ini, and the limits that it relies on."""

import json
import re
from collections.abc import Sequence

from tuner.nouns.errors import Conflict
from tuner.nouns.model import Job, Limits, Recommendation, box_of
from tuner.nouns.schemas import IniForm, SysctlForm
from tuner.uwsgi.command_line import command_of
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.options import known

_UNFIT = re.compile(r"[^a-z0-9-]")  # in a name that becomes part of a DNS name

INI_PATH = "/etc/uwsgi/uwsgi.ini"
"""The compose file mounts the recommended ini here."""


def ini_of(found: Recommendation, form: IniForm) -> str:
    """The user's file with the changes in place, or the changes alone for a second --ini.

    Or the whole file as a command line. Raises `Conflict` if that form cannot have it all.
    """
    match form:
        case "patched":
            return found.uwsgi_ini
        case "overlay":
            if not found.overlay_ini:
                raise Conflict("a second --ini cannot take a line out: take the patched file")
            return found.overlay_ini
        case "command":
            try:
                return f"{command_of(IniFile.parse(found.uwsgi_ini), known())}\n"
            except ValueError as error:
                raise Conflict(f"the file is no command: {error}") from error


def compose_of(job: Job, found: Recommendation) -> str:
    """A compose file with the box that the file relies on."""
    spec = job.spec
    path = spec.target.ini_path or INI_PATH
    words = [word.replace("{ini}", path) for word in spec.target.command]
    command = [word.replace("$", "$$") for word in words]  # or Compose would put variables in
    start = f"    command: {json.dumps(command)}\n" if command else ""
    # Every JSON string is a YAML string.
    head = f"""\
# The box in which job {job.id} measured {spec.app}: the recommended uwsgi.ini relies on it.
services:
  {json.dumps(spec.app)}:
    image: {json.dumps(spec.target.image or f"{spec.target.target_app}:latest")}
{start}    volumes:
      - {json.dumps(f"./uwsgi.ini:{path}:ro")}
"""
    return head + _lines(_of_service(job, box_of(spec.limits, found.lines)), indent=4)


def sysctls_of(job: Job, found: Recommendation, form: SysctlForm) -> str:
    """The kernel settings that the file relies on, and the other limits of its container.

    `plain` is for sysctl.conf, which holds kernel settings only: the other limits are comments.
    `compose` goes into a Compose service, `kubernetes` into a pod's spec.
    """
    limits = box_of(job.spec.limits, found.lines)
    match form:
        case "plain":
            return _lines(_plain(job, limits))
        case "compose":
            return _lines(_of_service(job, limits))
        case "kubernetes":
            return _lines(_of_pod(job, limits))


def media_type_of(form: SysctlForm) -> str:
    """The media type of `sysctls_of`."""
    return "text/plain" if form == "plain" else "application/yaml"


def _plain(job: Job, limits: Limits) -> list[str]:
    lines = [f"# besides, per container: {limits.cpus:g} CPU, {limits.memory_mb} MB, no swap"]
    if _nofile(job) is not None:
        lines += [f"# and ulimit -n {_nofile(job)}"]
    return [*lines, *(f"{name} = {value}" for name, value in limits.kernel_settings.items())]


def _of_service(job: Job, limits: Limits) -> list[str]:
    lines = [
        f"cpus: {limits.cpus:g}",
        f"mem_limit: {limits.memory_mb}m",
        f"memswap_limit: {limits.memory_mb}m",
    ]
    if _nofile(job) is not None:
        lines += ["ulimits:", f"  nofile: {_nofile(job)}"]
    settings = (f"  {name}: {value}" for name, value in limits.kernel_settings.items())
    return [*lines, "sysctls:", *settings]


def _of_pod(job: Job, limits: Limits) -> list[str]:
    """Requests equal limits: a smaller request would let the node give the rest to other pods."""
    settings = limits.kernel_settings
    sizes = [f"cpu: {round(1000 * limits.cpus)}m", f"memory: {limits.memory_mb}Mi"]
    lines = [
        "# In the pod's spec. The kubelet allows those that it does not call safe with",
        f"# --allowed-unsafe-sysctls={','.join(settings)}",
        "securityContext:",
        "  sysctls:",
    ]
    for name, value in settings.items():
        lines += [f"    - name: {name}", f'      value: "{value}"']
    if _nofile(job) is not None:
        lines += [
            f"# ulimit -n was {_nofile(job)}: a pod cannot ask for it, the node's runtime sets it."
        ]
    return [
        *lines,
        "containers:",
        f'  - name: "{_UNFIT.sub("-", job.spec.app)}"',
        "    resources:",
        *(
            line
            for kind in ("requests", "limits")
            for line in (f"      {kind}:", *(f"        {size}" for size in sizes))
        ),
    ]


def _nofile(job: Job) -> int | None:
    """None for a job that did not record it."""
    return job.facts.nofile if job.facts is not None else None


def _lines(lines: Sequence[str], indent: int = 0) -> str:
    return "".join(f"{' ' * indent}{line}\n" for line in lines)
