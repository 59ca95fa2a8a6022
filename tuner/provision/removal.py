"""What a set-up left on this machine, and how to take it away again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tuner.provision import k6, oha, programs
from tuner.provision.machine import Machine

_OURS = "uwsgi-tuner/*"
_WHAT = "images"


def remove(machine: Machine) -> None:
    """Remove the images of the product, and the programs and logs that a set-up kept.

    Docker and packages of the system stay: others may use them by now. So do data of the service.
    Raises StepFailed while a container uses one of the images; then nothing else is removed.
    """
    if not machine.run(["docker", "version"], timeout_s=20).ok:
        machine.steps.ok("no Docker Engine answers, so there are no images to remove")
    elif tags := _tags(machine):
        machine.commands.must(
            ["docker", "rmi", *tags],
            what=_WHAT,
            todo="end what uses them (`docker ps --all --filter label=tuner` lists containers of"
            " the product), then run the same command again",
            timeout_s=300,
        )
        machine.steps.ok(f"removed: {', '.join(tags)}")
    else:
        machine.steps.ok("there are no images of the product")
    _forget(machine.host.cache)
    machine.steps.ok("kept programs and logs removed; Docker and the data of the service stay")


def _forget(cache: Path) -> None:
    """Last, because the log of the steps is in it. What others keep there stays."""
    for binary in (oha.cached_path(cache), k6.cached_path(cache)):
        programs.forget(binary)
    for name in ("provision.log", "provision.lock", "dockerd.log"):
        (cache / name).unlink(missing_ok=True)
    with suppress(OSError):  # it is not empty
        cache.rmdir()


def _tags(machine: Machine) -> list[str]:
    listed = machine.run(["docker", "images", "--format", "{{.Repository}}:{{.Tag}}", _OURS])
    return sorted(set(listed.output.split())) if listed.ok else []
