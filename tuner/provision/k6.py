"""The binary of the second load generator: out of an image, or compiled once and kept."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tuner.provision import programs
from tuner.provision.apt import Apt
from tuner.provision.commands import Commands, must
from tuner.provision.host import Host
from tuner.provision.steps import StepFailed, Steps

VERSION = "1.8.1"

_IMAGE = f"grafana/k6:{VERSION}"
_VARIABLE = "TUNER_K6_IMAGE"
_GO = (1, 25)  # what k6 1.8 asks for
_COMPILES_WITHIN_S = 1800.0
_WHAT = f"load generator k6 {VERSION}"
_TODO = (
    f"install Go {_GO[0]}.{_GO[1]} or later, or name an image that holds k6 {VERSION} with"
    f" {_VARIABLE}; then run the same command again"
)


def cached_path(cache: Path) -> Path:
    return cache / f"k6-{VERSION}" / "k6"


def ensure(
    steps: Steps,
    commands: Commands,
    host: Host,
    apt: Apt,
    *,
    image: str | None,
    registry_answers: bool,
) -> Path:
    """The binary's path.

    Sources, in order: `image`, k6's own image, this machine's Go, Debian's package. Raises
    StepFailed when none of them is there, or when compiling fails.
    """

    def make(folder: Path) -> Path:
        if image:
            return programs.taken_from(
                steps, commands, folder, program="k6", image=image, variable=_VARIABLE
            )
        pulled = _pulled(steps, commands, folder) if registry_answers else None
        return pulled or _compiled(steps, commands, host, apt, folder)

    return programs.kept(cached_path(host.cache), make)


def forget(cache: Path) -> None:
    """Drop the cached binary, so that the next run makes another."""
    shutil.rmtree(cached_path(cache).parent, ignore_errors=True)


def _pulled(steps: Steps, commands: Commands, folder: Path) -> Path | None:
    steps.working(f"pulling {_IMAGE}")
    if not programs.pull(commands, _IMAGE):
        return None
    copied = programs.copied_out(commands, _IMAGE, "k6", folder, what=_WHAT, todo=_TODO)
    if copied is not None:
        steps.ok(f"k6 {VERSION} taken from {_IMAGE}")
    return copied


def _compiled(steps: Steps, commands: Commands, host: Host, apt: Apt, folder: Path) -> Path:
    go = _go(steps, commands, apt)
    with steps.slow(f"compiling k6 {VERSION} (about 1 minute, once)", f"k6 {VERSION} compiled"):
        must(
            commands,
            [go, "install", "-trimpath", "-ldflags=-s -w", f"go.k6.io/k6@v{VERSION}"],
            what=_WHAT,
            todo=f"make the Go module proxy reachable for `go`, or name an image that holds"
            f" k6 {VERSION} with {_VARIABLE}; then run the same command again",
            timeout_s=_COMPILES_WITHIN_S,
            cwd=folder,
            # Without C it runs on whatever C library the image has.
            env={**host.trust, "CGO_ENABLED": "0", "GOBIN": str(folder)},
        )
    return folder / "k6"


def _go(steps: Steps, commands: Commands, apt: Apt) -> str:
    for candidate in (commands.which("go"), "/usr/local/go/bin/go"):
        if candidate and _go_version(commands, candidate) >= _GO:
            return candidate
    if not apt.usable:
        raise StepFailed(
            _WHAT, "no registry answers and this machine has no Go that is new enough", _TODO
        )
    if (apt.candidate("golang-go") or (0, 0)) < _GO:
        raise StepFailed(
            _WHAT,
            "no registry answers and this release of Debian has no Go that is new enough",
            _TODO,
        )
    with steps.slow("installing golang-go with apt", "golang-go installed"):
        apt.install(["golang-go", "ca-certificates"], what=_WHAT)
    return "/usr/bin/go"


def _go_version(commands: Commands, go: str) -> tuple[int, int]:
    finished = commands.run([go, "version"])
    found = re.search(r"go(\d+)\.(\d+)", finished.output) if finished.ok else None
    return (int(found[1]), int(found[2])) if found else (0, 0)
