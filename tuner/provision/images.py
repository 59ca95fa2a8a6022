"""The images that the product's engine starts its containers from."""

from __future__ import annotations

from pathlib import Path

from tuner.provision import docker_build, oha, python_image
from tuner.provision.apt import Apt
from tuner.provision.commands import Commands
from tuner.provision.host import Host
from tuner.provision.steps import StepFailed, Steps

UWSGI_VERSION = "2.0.31"
BASE_TAG = f"uwsgi-tuner/base:{UWSGI_VERSION}"
LOAD_TAG = f"uwsgi-tuner/load:{oha.VERSION}"

_AGAIN = "then run the same command again"


def ensure_base(steps: Steps, commands: Commands, checkout: Path) -> None:
    """uWSGI compiled once: every app is measured with the same binary. Raises StepFailed."""
    folder = checkout / "target_apps" / "_base"
    recipe = docker_build.Recipe(
        tag=BASE_TAG,
        files={name: folder / name for name in ("Dockerfile", "requirements.txt")},
        arguments={"PYTHON_IMAGE": python_image.TAG},
        parent_id=docker_build.image_id(commands, python_image.TAG) or "",
    )
    if not docker_build.is_current(commands, recipe):
        docker_build.build(
            steps,
            commands,
            recipe,
            doing=f"building {BASE_TAG}, which compiles uWSGI (about 30 seconds, once)",
            todo=f"make the Python package index reachable from a docker build, {_AGAIN}",
        )
        found = _version_inside(commands, BASE_TAG, "uwsgi")
        if found != UWSGI_VERSION:
            raise StepFailed(
                f"image {BASE_TAG}",
                f"its uWSGI says {found!r}",
                f"`docker rmi {BASE_TAG}`, {_AGAIN}",
            )
    steps.ok(f"image {BASE_TAG} is current")


def ensure_load(
    steps: Steps, commands: Commands, host: Host, apt: Apt, checkout: Path, *, oha_image: str | None
) -> None:
    """The load generator on the same base: a known Python and C library. Raises StepFailed."""
    binary = oha.ensure(
        steps,
        commands,
        host,
        apt,
        image=oha_image,
        registry_answers=docker_build.image_id(commands, python_image.DEFAULT_SOURCE) is not None,
    )
    recipe = docker_build.Recipe(
        tag=LOAD_TAG,
        files={"Dockerfile": checkout / "tuner" / "load" / "image" / "Dockerfile", "oha": binary},
        arguments={"BASE_IMAGE": BASE_TAG},
        parent_id=docker_build.image_id(commands, BASE_TAG) or "",
    )
    if not docker_build.is_current(commands, recipe):
        docker_build.build(
            steps,
            commands,
            recipe,
            doing=f"building {LOAD_TAG}",
            todo=f"read the lines above, {_AGAIN}",
        )
        _check_oha(commands, host)
    steps.ok(f"image {LOAD_TAG} is current")


def _check_oha(commands: Commands, host: Host) -> None:
    """A binary compiled against a newer C library than the image's does not start there."""
    found = _version_inside(commands, LOAD_TAG, "oha")
    if found == oha.VERSION:
        return
    commands.run(["docker", "rmi", "--force", LOAD_TAG])
    oha.forget(host.cache)
    why = f"inside the image `oha --version` says {found!r}"
    if "GLIBC" in found:
        why += ": it was compiled against a newer C library than the image has"
    raise StepFailed(
        f"image {LOAD_TAG}",
        why,
        "name an image that holds a fitting oha with TUNER_OHA_IMAGE, or let a registry answer so"
        f" that it is compiled in a container; {_AGAIN} (the unusable binary was deleted)",
    )


def _version_inside(commands: Commands, tag: str, program: str) -> str:
    """The version, else what the program said instead of one."""
    finished = commands.run(
        ["docker", "run", "--rm", "--network=none", "--entrypoint", program, tag, "--version"]
    )
    return (
        finished.output.split()[-1]
        if finished.ok and finished.output.strip()
        else finished.last_lines
    )
