"""The images that the product's engine starts its containers from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tuner.provision import building, k6, oha, programs
from tuner.provision.machine import Machine, StepFailed

UWSGI_VERSION = "2.0.31"
BASE_TAG = f"uwsgi-tuner/base:{UWSGI_VERSION}"
LOAD_TAG = f"uwsgi-tuner/load:{oha.VERSION}"
JOURNEY_TAG = f"uwsgi-tuner/load-k6:{k6.VERSION}"

_FOLDER = Path("tuner/bench/load/image")
_AGAIN = "then run the same command again"


def ensure_base(machine: Machine) -> None:
    """uWSGI compiled once: every app is measured with the same binary. Raises StepFailed."""
    folder = machine.checkout / "target_apps" / "_base"
    found = _other_version(
        machine,
        BASE_TAG,
        {name: folder / name for name in ("Dockerfile", "requirements.txt")},
        {"PYTHON_IMAGE": building.TAG},
        doing="which compiles uWSGI (about 30 seconds, once)",
        todo="make the Python package index reachable from a docker build",
        asked=("uwsgi", "--version"),
        wanted=UWSGI_VERSION,
    )
    if found is not None:
        todo = f"`docker rmi {BASE_TAG}`, {_AGAIN}"
        raise StepFailed(f"image {BASE_TAG}", f"its uWSGI says {found!r}", todo)


def ensure_load(machine: Machine, binary: Path) -> None:
    """The load generator oha on the base image: a known Python and C library."""
    dockerfile = machine.checkout / _FOLDER / "Dockerfile"
    found = _other_version(
        machine,
        LOAD_TAG,
        {"Dockerfile": dockerfile, "oha": binary},
        {"BASE_IMAGE": BASE_TAG},
        doing="which installs nginx",
        todo="make the distribution's packages reachable from a docker build",
        asked=("oha", "--version"),
        wanted=f"oha {oha.VERSION}",
    )
    if found is not None:
        # Such a binary does not start there.
        newer = ": it was compiled against a newer C library than the image has"
        said = f"`oha --version` says {found!r}{newer if 'GLIBC' in found else ''}"
        todo = (
            "name an image that holds a fitting oha with TUNER_OHA_IMAGE, or let a registry answer"
            " so that it is compiled in a container"
        )
        raise _unusable(machine, LOAD_TAG, binary, said, todo)


def ensure_journeys(machine: Machine, binary: Path) -> None:
    """The load generator image with k6 on top, for bursts and journeys. Raises StepFailed."""
    dockerfile = machine.checkout / _FOLDER / "journeys.Dockerfile"
    found = _other_version(
        machine,
        JOURNEY_TAG,
        {"Dockerfile": dockerfile, "k6": binary},
        {"LOAD_IMAGE": LOAD_TAG},
        doing="",
        todo="read the lines above",
        asked=("k6", "version"),
        wanted=f"k6 v{k6.VERSION}",
    )
    if found is not None:  # another version may write other rows
        todo = f"name an image that holds k6 {k6.VERSION} with TUNER_K6_IMAGE, or unset it"
        raise _unusable(machine, JOURNEY_TAG, binary, f"`k6 version` says {found!r}", todo)


def _other_version(
    machine: Machine,
    tag: str,
    files: Mapping[str, Path],
    parent: Mapping[str, str],
    *,
    doing: str,
    todo: str,
    asked: tuple[str, ...],
    wanted: str,
) -> str | None:
    """Build the image unless it is current; what its program says if it is not the wanted one.

    `parent` is the build argument with the image that this one is made on.
    """
    ids = [building.image_id(machine, name) or "" for name in parent.values()]
    recipe = building.Recipe(tag=tag, files=files, arguments=parent, parent_id="".join(ids))
    if not building.is_current(machine, recipe):
        doing = f"building {recipe.tag}{doing and ', '}{doing}"
        building.build(machine, recipe, doing=doing, todo=f"{todo}, {_AGAIN}")
        program, *words = asked
        inside = ["docker", "run", "--rm", "--network=none", "--entrypoint", program, recipe.tag]
        said = machine.run([*inside, *words])
        if not said.ok or f" {wanted} " not in f" {' '.join(said.output.split())} ":
            return said.last_lines
    machine.steps.ok(f"image {recipe.tag} is current")
    return None


def _unusable(machine: Machine, tag: str, binary: Path, said: str, todo: str) -> StepFailed:
    """Remove the image and the binary in it, and say why."""
    programs.forget(binary)
    machine.run(["docker", "rmi", "--force", tag])
    todo = f"{todo}; {_AGAIN} (the unusable binary was deleted)"
    return StepFailed(f"image {tag}", f"inside the image {said}", todo)
