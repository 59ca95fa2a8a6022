"""uv and the locked dependencies, in the checkout's own `.venv`."""

from __future__ import annotations

import sys
from pathlib import Path

from tuner.provision import programs
from tuner.provision.machine import Machine
from tuner.provision.steps import StepFailed

_VERSION = "0.13.9"  # the version a private copy gets
_OLDEST = (0, 9)  # reads the lock file's format
_WHAT = "Python dependencies"


def sync(machine: Machine, *, compiled: bool) -> None:
    """Make `.venv` equal to `uv.lock`, with every group; milliseconds when it already is.

    With `compiled`, also compile the libraries' bytecode: ten seconds, once. Containers often keep
    Python from writing any, and then every process of the service compiles them again, for seconds.
    Raises StepFailed when uv cannot be had or the lock cannot be installed.
    """
    program = find(machine, machine.host.cache) or _private(machine)
    venv = machine.checkout / ".venv"
    fresh = not venv.exists()
    if fresh:
        machine.steps.working("installing the locked Python dependencies (about 20 seconds, once)")
    options = ["--compile-bytecode"] if compiled else []
    options += ["--python", sys.executable] if fresh else []
    machine.commands.must(
        [program, "sync", "--locked", "--all-groups", *options],
        what=_WHAT,
        todo="read the lines above: a lock that is out of date needs `uv lock`, a download that"
        " fails needs the package index to be reachable; then run the same command again",
        timeout_s=900,
        cwd=machine.checkout,
        env={
            **machine.host.trust,
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_PROJECT_ENVIRONMENT": str(venv),
        },
    )
    machine.steps.ok("Python dependencies are those of uv.lock")


def find(machine: Machine, cache: Path) -> str | None:
    """A uv that runs and reads our lock: the one on PATH, else the private one, else None."""
    for candidate in (machine.which("uv"), str(_private_path(cache))):
        if candidate and programs.version(machine, candidate, "--version") >= _OLDEST:
            return candidate
    return None


def _private(machine: Machine) -> str:
    program = _private_path(machine.host.cache)
    venv = program.parent.parent
    with machine.steps.slow("installing uv into the cache directory", f"uv {_VERSION} in {venv}"):
        _make_venv(machine, venv)
        machine.commands.must(
            [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", f"uv=={_VERSION}"],
            what="uv",
            todo="make the Python package index reachable for pip, or put uv on PATH;"
            " then run the same command again",
            timeout_s=300,
            env=machine.host.trust,
        )
    return str(program)


def _make_venv(machine: Machine, venv: Path) -> None:
    """Debian ships python3 without ensurepip; its python3-venv package adds it."""
    argv = [sys.executable, "-m", "venv", "--clear", str(venv)]
    if machine.run(argv, timeout_s=120).ok:
        return
    if not machine.host.can_apt:
        package = (
            "apt-get install python3-venv, as root"
            if machine.host.is_debian
            else "install Python's venv module"
        )
        raise StepFailed(
            "uv", "this Python cannot make a virtual environment", f"{package}, or put uv on PATH"
        )
    machine.apt.install(["python3-venv"], what="uv")
    todo = "install Python's venv module, or put uv on PATH"
    machine.commands.must(argv, what="uv", todo=todo, timeout_s=120)


def _private_path(cache: Path) -> Path:
    return cache / "uv" / "bin" / "uv"
