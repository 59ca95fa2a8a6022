"""A single program: taken out of an image, or made once and kept in the cache directory."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tuner.provision.machine import Machine, StepFailed

_REGISTRY_ANSWERS_WITHIN_S = 12.0
_PLACES = ("/usr/local/bin", "/usr/bin", "/bin", "")


def kept(binary: Path, make: Callable[[Path], Path]) -> Path:
    """The program at `binary`; where there is none, `make` gets a folder to make it in."""
    if binary.is_file():
        return binary
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=binary.parent) as folder:
        made = make(Path(folder))
        made.chmod(0o755)
        # In one step: a half-written binary must never look like a finished one.
        made.replace(binary)
    return binary


def forget(binary: Path) -> None:
    """Drop a program that `kept` has, so that the next run makes another."""
    shutil.rmtree(binary.parent, ignore_errors=True)


def version(machine: Machine, *argv: str) -> tuple[int, int]:
    """Major and minor version; (0, 0) for a program that does not run, such as an empty shim."""
    finished = machine.run(argv)
    found = re.search(r"(\d+)\.(\d+)", finished.output) if finished.ok else None
    return (int(found[1]), int(found[2])) if found else (0, 0)


def none_new_enough(place: str, compiler: str, *, what: str, todo: str) -> StepFailed:
    why = f"no registry answers and {place} has no {compiler} that is new enough"
    return StepFailed(what, why, todo)


def pull(machine: Machine, image: str) -> bool:
    """Fetch an image; False where no registry has it, or none answers."""
    return machine.run(
        ["docker", "pull", image], timeout_s=900, answer_within_s=_REGISTRY_ANSWERS_WITHIN_S
    ).ok


def taken_from(machine: Machine, folder: Path, program: str, variable: str) -> Path:
    """`program` out of the image that the user named with `variable`.

    Asked for by name, so a failure is a StepFailed and not a reason to look elsewhere.
    """
    what = f"load generator {program}"
    image = machine.environment[variable]
    with machine.steps.slow(f"taking {program} out of {image}", f"{program} taken from {image}"):
        if not machine.run(["docker", "image", "inspect", image]).ok and not pull(machine, image):
            why = f"{variable}={image} cannot be pulled"
            raise StepFailed(what, why, "name an image that exists, or unset it")
        todo = f"name another image with {variable}, or unset it"
        copied = copied_out(machine, image, program, folder, what=what, todo=todo)
    if copied is None:
        raise StepFailed(what, f"there is no {program} in {variable}={image}", todo)
    return copied


def copied_out(
    machine: Machine, image: str, program: str, folder: Path, *, what: str, todo: str
) -> Path | None:
    """`program` out of an image that is here; None where it has none in a usual place."""
    made = machine.commands.must(["docker", "create", image], what=what, todo=todo)
    created, target = made.output.split()[-1], folder / program
    try:
        for place in _PLACES:
            source = f"{created}:{place}/{program}"
            if machine.run(["docker", "cp", "--follow-link", source, str(target)]).ok:
                return target
    finally:
        machine.run(["docker", "rm", "--force", created])
    return None


# ---- uv and the locked dependencies, in the checkout's own `.venv`

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


def installed(machine: Machine, package: str, folder: Path, *, what: str, todo: str) -> None:
    """Put a package of the Python index into `folder`, without what it depends on."""
    program = find(machine, machine.host.cache) or _private(machine)
    machine.commands.must(
        [program, "pip", "install", "--quiet", "--no-deps", "--target", str(folder), package],
        what=what,
        todo=todo,
        timeout_s=300,
        env=machine.host.trust,
    )


def find(machine: Machine, cache: Path) -> str | None:
    """A uv that runs and reads our lock: the one on PATH, else the private one, else None."""
    for candidate in (machine.which("uv"), str(private_path(cache))):
        if candidate and version(machine, candidate, "--version") >= _OLDEST:
            return candidate
    return None


def _private(machine: Machine) -> str:
    program = private_path(machine.host.cache)
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


def private_path(cache: Path) -> Path:
    """The uv that we install where the machine has none."""
    return cache / "uv" / "bin" / "uv"
