"""The images that the product's engine starts its containers from."""

from __future__ import annotations

from pathlib import Path

from tuner.provision import docker_build, k6, oha, python_image
from tuner.provision.apt import Apt
from tuner.provision.commands import Commands, Finished
from tuner.provision.host import Host
from tuner.provision.steps import StepFailed, Steps

UWSGI_VERSION = "2.0.31"
BASE_TAG = f"uwsgi-tuner/base:{UWSGI_VERSION}"
LOAD_TAG = f"uwsgi-tuner/load:{oha.VERSION}"
JOURNEY_TAG = f"uwsgi-tuner/load-k6:{k6.VERSION}"

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
            doing=f"building {LOAD_TAG}, which installs nginx",
            todo=f"make the distribution's packages reachable from a docker build, {_AGAIN}",
        )
        _check_oha(commands, host)
    steps.ok(f"image {LOAD_TAG} is current")


def ensure_journeys(
    steps: Steps, commands: Commands, host: Host, apt: Apt, checkout: Path, *, k6_image: str | None
) -> None:
    """The load generator with k6 on top, for bursts and journeys. Raises StepFailed."""
    binary = k6.ensure(
        steps,
        commands,
        host,
        apt,
        image=k6_image,
        registry_answers=docker_build.image_id(commands, python_image.DEFAULT_SOURCE) is not None,
    )
    dockerfile = checkout / "tuner" / "load" / "image" / "journeys.Dockerfile"
    recipe = docker_build.Recipe(
        tag=JOURNEY_TAG,
        files={"Dockerfile": dockerfile, "k6": binary},
        arguments={"LOAD_IMAGE": LOAD_TAG},
        parent_id=docker_build.image_id(commands, LOAD_TAG) or "",
    )
    if not docker_build.is_current(commands, recipe):
        docker_build.build(
            steps,
            commands,
            recipe,
            doing=f"building {JOURNEY_TAG}",
            todo=f"read the lines above, {_AGAIN}",
        )
        _check_k6(commands, host)
    steps.ok(f"image {JOURNEY_TAG} is current")


def _check_k6(commands: Commands, host: Host) -> None:
    """Another version may write other rows; one for another machine does not start."""
    finished = _run_inside(commands, JOURNEY_TAG, "k6", "version")
    if finished.ok and f"k6 v{k6.VERSION} " in finished.output:
        return
    commands.run(["docker", "rmi", "--force", JOURNEY_TAG])
    k6.forget(host.cache)
    raise StepFailed(
        f"image {JOURNEY_TAG}",
        f"inside the image `k6 version` says {finished.last_lines!r}",
        f"name an image that holds k6 {k6.VERSION} with TUNER_K6_IMAGE, or unset it; {_AGAIN}"
        " (the unusable binary was deleted)",
    )


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
    finished = _run_inside(commands, tag, program, "--version")
    return (
        finished.output.split()[-1]
        if finished.ok and finished.output.strip()
        else finished.last_lines
    )


def _run_inside(commands: Commands, tag: str, program: str, word: str) -> Finished:
    return commands.run(
        ["docker", "run", "--rm", "--network=none", "--entrypoint", program, tag, word]
    )
