"""uv and the locked dependencies, in the checkout's own `.venv`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tuner.provision.apt import Apt
from tuner.provision.commands import Commands, must
from tuner.provision.host import Host
from tuner.provision.steps import StepFailed, Steps

_VERSION = "0.13.9"  # the version a private copy gets
_OLDEST = (0, 9)  # reads the lock file's format
_WHAT = "Python dependencies"


def sync(steps: Steps, commands: Commands, host: Host, apt: Apt, checkout: Path) -> None:
    """Make `.venv` equal to `uv.lock`, with every group; milliseconds when it already is.

    Raises StepFailed when uv cannot be had or the lock cannot be installed.
    """
    program = find(commands, host.cache) or _private(steps, commands, host, apt)
    venv = checkout / ".venv"
    fresh = not venv.exists()
    if fresh:
        steps.working("installing the locked Python dependencies (about 20 seconds, once)")
    interpreter = ["--python", sys.executable] if fresh else []
    must(
        commands,
        [program, "sync", "--locked", "--all-groups", *interpreter],
        what=_WHAT,
        todo="read the lines above: a lock that is out of date needs `uv lock`, a download that"
        " fails needs the package index to be reachable; then run the same command again",
        timeout_s=900,
        cwd=checkout,
        env={**host.trust, "UV_PYTHON_DOWNLOADS": "never", "UV_PROJECT_ENVIRONMENT": str(venv)},
    )
    steps.ok("Python dependencies are those of uv.lock")


def find(commands: Commands, cache: Path) -> str | None:
    """A uv that runs and reads our lock: the one on PATH, else the private one, else None."""
    for candidate in (commands.which("uv"), str(_private_path(cache))):
        if candidate and _version(commands, candidate) >= _OLDEST:
            return candidate
    return None


def _private(steps: Steps, commands: Commands, host: Host, apt: Apt) -> str:
    program = _private_path(host.cache)
    venv = program.parent.parent
    with steps.slow("installing uv into the cache directory", f"uv {_VERSION} in {venv}"):
        _make_venv(commands, host, apt, venv)
        must(
            commands,
            [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", f"uv=={_VERSION}"],
            what="uv",
            todo="make the Python package index reachable for pip, or put uv on PATH;"
            " then run the same command again",
            timeout_s=300,
            env=host.trust,
        )
    return str(program)


def _make_venv(commands: Commands, host: Host, apt: Apt, venv: Path) -> None:
    """Debian ships python3 without ensurepip; its python3-venv package adds it."""
    argv = [sys.executable, "-m", "venv", "--clear", str(venv)]
    if commands.run(argv, timeout_s=120).ok:
        return
    if not apt.usable:
        package = (
            "apt-get install python3-venv, as root"
            if host.is_debian
            else "install Python's venv module"
        )
        raise StepFailed(
            "uv", "this Python cannot make a virtual environment", f"{package}, or put uv on PATH"
        )
    apt.install(["python3-venv"], what="uv")
    must(
        commands,
        argv,
        what="uv",
        todo="install Python's venv module, or put uv on PATH",
        timeout_s=120,
    )


def _private_path(cache: Path) -> Path:
    return cache / "uv" / "bin" / "uv"


def _version(commands: Commands, program: str) -> tuple[int, int]:
    """(0, 0) for a program that does not run: a shim may be on PATH with nothing behind it."""
    finished = commands.run([program, "--version"])
    found = re.search(r"(\d+)\.(\d+)", finished.output) if finished.ok else None
    return (int(found[1]), int(found[2])) if found else (0, 0)
