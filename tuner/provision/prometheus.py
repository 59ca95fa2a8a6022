"""Prometheus and its promtool, for the tests of docs/monitoring.

They are unpacked from Debian's package. Installed, it would start a service on port 9090.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from tuner.provision import programs
from tuner.provision.machine import Machine
from tuner.provision.steps import StepFailed

SERVER, TOOL = "prometheus", "promtool"
_PACKAGE = "prometheus"
_WHAT = "Prometheus"
_TODO = (
    f"make `apt-get download {_PACKAGE}` succeed, or put {SERVER} and {TOOL} on PATH;"
    " then run the same command again"
)


def find(program: str, cache: Path) -> Path:
    """Where SERVER or TOOL is: on PATH, else where `ensure` puts it."""
    found = shutil.which(program)
    return Path(found) if found else cache / _PACKAGE / program


def ensure(machine: Machine) -> None:
    """Have both programs. Raises StepFailed where they cannot be had."""
    if not (machine.which(SERVER) and machine.which(TOOL)):
        programs.kept(machine.host.cache / _PACKAGE / TOOL, partial(_unpacked, machine))
    machine.steps.ok("Prometheus is here, for the tests of the metrics")


def _unpacked(machine: Machine, folder: Path) -> Path:
    """The tool in `folder`; the server is already where it stays."""
    if not machine.host.is_debian:
        why = f"{SERVER} and {TOOL} are not on PATH, and this is neither Debian nor Ubuntu"
        raise StepFailed(_WHAT, why, "install Prometheus, then run the same command again")
    with machine.steps.slow("downloading Debian's Prometheus", "Prometheus downloaded"):
        machine.apt.refresh()
        download = ["apt-get", "download", _PACKAGE]
        machine.commands.must(download, what=_WHAT, todo=_TODO, timeout_s=300, cwd=folder)
        (package,) = folder.glob(f"{_PACKAGE}_*.deb")
        extract = ["dpkg-deb", "--extract", str(package), str(folder)]
        machine.commands.must(extract, what=_WHAT, todo=_TODO, timeout_s=300)
    found = folder / "usr" / "bin"
    (found / SERVER).replace(folder.parent / SERVER)
    return found / TOOL
