"""The Dockerfile of an image that a service only names: it shows how the image starts.

The target app keeps the image. Its Dockerfile may be in another service or compose file of the
folder, or it is the one of the folder that starts uWSGI.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.calls import Trail
from tuner.targets.compose.dockerfile import dockerfile_of, walked
from tuner.targets.compose.document import Node
from tuner.targets.compose.files import Files, shown
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.starting import BUILT_FROM, dockerfile_for

_DOCKERFILE = re.compile(r"Dockerfile(?:[.-].*)?|.*\.Dockerfile", re.IGNORECASE)
_MOST_DOCKERFILES = 20


def with_builds(
    services: Mapping[str, Node], others: Callable[[], Iterable[Mapping[str, Node]]]
) -> dict[str, Node]:
    """The services, each image with the build of another service that makes it.

    `others` are the services of other compose files of the folder.
    """
    if all(each.get("build") for each in services.values() if each.get("image")):
        return dict(services)
    every = [each for file in (services, *others()) for each in file.values()]
    builds = [(each.text_of("image"), each.get("build")) for each in every if each.get("build")]
    return {name: _with_build(service, builds) for name, service in services.items()}


def _with_build(service: Node, builds: Iterable[tuple[str, Node]]) -> Node:
    """With the build of the same image, or of another version if all are built alike."""
    image = service.text_of("image")
    if not image or service.get("build"):
        return service
    same = [build for name, build in builds if name == image]
    versions = [build for name, build in builds if name and _unversioned(name, image)]
    found = [_built(service, build) for build in same or versions]
    files = {(each.file, each.context) for each in map(dockerfile_for, found) if each is not None}
    return found[0] if len(files) == 1 else service


def _unversioned(one: str, other: str) -> bool:
    """Whether two images differ in their tags only."""
    return re.sub(r":[^/]*$", "", one) == re.sub(r"[:@][^/]*$", "", other)


def with_dockerfile_here(service: Node, folder: Path, trail: Callable[[Node], Trail]) -> Node:
    """With the Dockerfile of a folder that starts uWSGI, if the service itself shows no start.

    Of several Dockerfiles, all must start it by the same line. Raises `InvalidInput` otherwise.
    """
    if dockerfile_for(service) is not None or trail(service).calls:
        return service
    found: dict[Path, Node] = {}
    lines = set[tuple[str, tuple[str, ...]]]()
    for file in _dockerfiles(folder):
        built = _built(service, _build_of(service, file, folder))
        if calls := trail(built).calls:
            found[file] = built
            lines |= {(call.at, call.options) for call in calls}
    if len(found) > 1 and len(lines) > 1:
        names = ", ".join(map(shown, found))
        told = (
            f"{service.text_of('image')} has no `build`, and several Dockerfiles here start uwsgi:"
            f" {names}: give the service the `build` that makes its image, or what starts uwsgi"
            " with --command"
        )
        raise InvalidInput.at(f"{service.file}:{service.line}", told)
    return next(iter(found.values()), service)


def name_build(name: str, service: Node, findings: Findings) -> None:
    """Say which Dockerfile is read for an image."""
    build, dockerfile = service.get(BUILT_FROM), dockerfile_for(service)
    if build and dockerfile is not None:
        why = (
            f"its start is that of {shown(dockerfile.file)}, which is likely to make it:"
            " the arms run the image itself"
        )
        findings.changed(f"{name}.image {service.text_of('image')}", why)


def name_guessed(image: str, files: Files, findings: Findings) -> None:
    """Say which files of the folder are read in the place of those in an image."""
    for path, file in files.guessed.items():
        why = f"it is read in {shown(file)}, the only file here with its name: the image may differ"
        findings.changed(f"{path} in {image}", why)


def _dockerfiles(folder: Path) -> Iterator[Path]:
    """Those of a folder, the usual name first."""
    found = (file for file in walked(folder) if _DOCKERFILE.fullmatch(file.name))
    each = sorted(found, key=lambda file: (len(file.parts), len(file.name), str(file)))
    yield from each[:_MOST_DOCKERFILES]


def _build_of(service: Node, file: Path, folder: Path) -> Node:
    """A build of a Dockerfile, in the folder that has what it copies: its own, or the whole."""
    own = dockerfile_of(file.parent, file.name, "")
    is_own = own is not None and own.copies and own.has_sources
    context = file.parent if is_own else folder
    texts = {"context": os.fspath(context.resolve()), "dockerfile": os.fspath(file.resolve())}
    each = {key: replace(service, value=text, used=()) for key, text in texts.items()}
    return replace(service, value=each, used=())


def _built(service: Node, build: Node) -> Node:
    return replace(service, value={**service.items(), BUILT_FROM: build})
