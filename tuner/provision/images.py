"""The images that the product's engine starts its containers from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tuner.provision import docker_build, k6, oha, python_image
from tuner.provision.commands import Finished
from tuner.provision.machine import Machine
from tuner.provision.steps import StepFailed

UWSGI_VERSION = "2.0.31"
BASE_TAG = f"uwsgi-tuner/base:{UWSGI_VERSION}"
LOAD_TAG = f"uwsgi-tuner/load:{oha.VERSION}"
JOURNEY_TAG = f"uwsgi-tuner/load-k6:{k6.VERSION}"

_FOLDER = Path("tuner/load/image")
_AGAIN = "then run the same command again"


def ensure_base(machine: Machine) -> None:
    """uWSGI compiled once: every app is measured with the same binary. Raises StepFailed."""
    folder = machine.checkout / "target_apps" / "_base"
    recipe = docker_build.Recipe(
        tag=BASE_TAG,
        files={name: folder / name for name in ("Dockerfile", "requirements.txt")},
        arguments={"PYTHON_IMAGE": python_image.TAG},
        parent_id=docker_build.image_id(machine, python_image.TAG) or "",
    )
    _have(
        machine,
        recipe,
        doing=f"building {BASE_TAG}, which compiles uWSGI (about 30 seconds, once)",
        todo="make the Python package index reachable from a docker build",
        check=_check_uwsgi,
    )


def ensure_load(machine: Machine, binary: Path) -> None:
    """The load generator oha on the base image: a known Python and C library."""
    recipe = docker_build.Recipe(
        tag=LOAD_TAG,
        files={"Dockerfile": machine.checkout / _FOLDER / "Dockerfile", "oha": binary},
        arguments={"BASE_IMAGE": BASE_TAG},
        parent_id=docker_build.image_id(machine, BASE_TAG) or "",
    )
    _have(
        machine,
        recipe,
        doing=f"building {LOAD_TAG}, which installs nginx",
        todo="make the distribution's packages reachable from a docker build",
        check=_check_oha,
    )


def ensure_journeys(machine: Machine, binary: Path) -> None:
    """The load generator image with k6 on top, for bursts and journeys. Raises StepFailed."""
    recipe = docker_build.Recipe(
        tag=JOURNEY_TAG,
        files={"Dockerfile": machine.checkout / _FOLDER / "journeys.Dockerfile", "k6": binary},
        arguments={"LOAD_IMAGE": LOAD_TAG},
        parent_id=docker_build.image_id(machine, LOAD_TAG) or "",
    )
    _have(
        machine,
        recipe,
        doing=f"building {JOURNEY_TAG}",
        todo="read the lines above",
        check=_check_k6,
    )


def _have(
    machine: Machine,
    recipe: docker_build.Recipe,
    *,
    doing: str,
    todo: str,
    check: Callable[[Machine], None],
) -> None:
    """Build the image unless it is current, and check the program that it was built for."""
    if not docker_build.is_current(machine, recipe):
        docker_build.build(machine, recipe, doing=doing, todo=f"{todo}, {_AGAIN}")
        check(machine)
    machine.steps.ok(f"image {recipe.tag} is current")


def _check_uwsgi(machine: Machine) -> None:
    found = _version_inside(machine, BASE_TAG, "uwsgi")
    if found != UWSGI_VERSION:
        raise StepFailed(
            f"image {BASE_TAG}", f"its uWSGI says {found!r}", f"`docker rmi {BASE_TAG}`, {_AGAIN}"
        )


def _check_k6(machine: Machine) -> None:
    """Another version may write other rows; one for another machine does not start."""
    finished = _run_inside(machine, JOURNEY_TAG, "k6", "version")
    if not (finished.ok and f"k6 v{k6.VERSION} " in finished.output):
        k6.forget(machine.host.cache)
        said = f"inside the image `k6 version` says {finished.last_lines!r}"
        todo = f"name an image that holds k6 {k6.VERSION} with TUNER_K6_IMAGE, or unset it"
        raise _unusable(machine, JOURNEY_TAG, said, todo)


def _check_oha(machine: Machine) -> None:
    """A binary compiled against a newer C library than the image's does not start there."""
    found = _version_inside(machine, LOAD_TAG, "oha")
    if found != oha.VERSION:
        oha.forget(machine.host.cache)
        newer = ": it was compiled against a newer C library than the image has"
        said = f"inside the image `oha --version` says {found!r}{newer if 'GLIBC' in found else ''}"
        todo = (
            "name an image that holds a fitting oha with TUNER_OHA_IMAGE, or let a registry answer"
            " so that it is compiled in a container"
        )
        raise _unusable(machine, LOAD_TAG, said, todo)


def _unusable(machine: Machine, tag: str, why: str, todo: str) -> StepFailed:
    """Remove the image, and say why."""
    machine.run(["docker", "rmi", "--force", tag])
    return StepFailed(f"image {tag}", why, f"{todo}; {_AGAIN} (the unusable binary was deleted)")


def _version_inside(machine: Machine, tag: str, program: str) -> str:
    """The version, else what the program said instead of one."""
    finished = _run_inside(machine, tag, program, "--version")
    return (
        finished.output.split()[-1]
        if finished.ok and finished.output.strip()
        else finished.last_lines
    )


def _run_inside(machine: Machine, tag: str, program: str, word: str) -> Finished:
    return machine.run(
        ["docker", "run", "--rm", "--network=none", "--entrypoint", program, tag, word]
    )
