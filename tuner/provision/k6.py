"""The binary of the second load generator: out of an image, or compiled once and kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tuner.provision import programs
from tuner.provision.machine import Machine

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


def ensure(machine: Machine, registry_answers: Callable[[], bool]) -> Path:
    """The binary's path.

    `registry_answers` waits for the engine. Sources, in order: TUNER_K6_IMAGE, k6's own image, this
    machine's Go, Debian's package. Raises StepFailed when there is none, or when compiling fails.
    """

    def make(folder: Path) -> Path:
        has_registry = registry_answers()
        if machine.environment.get(_VARIABLE):
            return programs.taken_from(machine, folder, "k6", _VARIABLE)
        pulled = _pulled(machine, folder) if has_registry else None
        return pulled or _compiled(machine, folder)

    return programs.kept(cached_path(machine.host.cache), make)


def _pulled(machine: Machine, folder: Path) -> Path | None:
    machine.steps.working(f"pulling {_IMAGE}")
    if not programs.pull(machine, _IMAGE):
        return None
    copied = programs.copied_out(machine, _IMAGE, "k6", folder, what=_WHAT, todo=_TODO)
    if copied is not None:
        machine.steps.ok(f"k6 {VERSION} taken from {_IMAGE}")
    return copied


def _compiled(machine: Machine, folder: Path) -> Path:
    go = _go(machine)
    with machine.steps.slow(
        f"compiling k6 {VERSION} (about 1 minute, once)", f"k6 {VERSION} compiled"
    ):
        machine.commands.must(
            [go, "install", "-trimpath", "-ldflags=-s -w", f"go.k6.io/k6@v{VERSION}"],
            what=_WHAT,
            todo=f"make the Go module proxy reachable for `go`, or name an image that holds"
            f" k6 {VERSION} with {_VARIABLE}; then run the same command again",
            timeout_s=_COMPILES_WITHIN_S,
            cwd=folder,
            # Without C it runs on whatever C library the image has.
            env={**machine.host.trust, "CGO_ENABLED": "0", "GOBIN": str(folder)},
        )
    return folder / "k6"


def _go(machine: Machine) -> str:
    for candidate in (machine.which("go"), "/usr/local/go/bin/go"):
        if candidate and programs.version(machine, candidate, "version") >= _GO:
            return candidate
    if not machine.host.can_apt:
        raise programs.none_new_enough("this machine", "Go", what=_WHAT, todo=_TODO)
    if (machine.apt.candidate("golang-go") or (0, 0)) < _GO:
        raise programs.none_new_enough("this release of Debian", "Go", what=_WHAT, todo=_TODO)
    with machine.steps.slow("installing golang-go with apt", "golang-go installed"):
        machine.apt.install(["golang-go", "ca-certificates"], what=_WHAT)
    return "/usr/bin/go"
