"""What `tuner app init` is asked for: the compose file, and the service in it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.building import with_builds, with_dockerfile_here
from tuner.targets.compose.calls import Trail
from tuner.targets.compose.choosing import Choice, is_of_others
from tuner.targets.compose.dockerfile import Entry
from tuner.targets.compose.document import Node, read_tree
from tuner.targets.compose.environment import with_env_files
from tuner.targets.compose.files import Files
from tuner.targets.compose.interpolation import Variables
from tuner.targets.compose.mounts import mounts_of, only_ini, texts_of
from tuner.targets.compose.project import NAMES, ComposeFile, files_here, with_dotenv
from tuner.targets.compose.starting import command_of, dockerfile_for, image_of, trail_of

_MOST_FILES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What `tuner app init` is asked for. `environ` is the environment of the command.

    `command` is what starts uWSGI, instead of what the container starts. `copy_data` lets volumes
    start with a copy of the folders that are mounted there. `read` gives the text of a file in an
    image, and `entry` what it starts; None without the image, or Docker.
    """

    folder: Path
    compose: tuple[Path, ...] = ()
    service: str | None = None
    ini: Path | None = None
    command: str | None = None
    image: str | None = None
    copy_data: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[str, str], str | None] = lambda image, path: None
    entry: Callable[[str], Entry | None] = lambda image: None


def compose_of(wanted: Wanted) -> ComposeFile:
    """The compose file; without one, that of an image or a Dockerfile alone."""
    here = with_dotenv(Variables(wanted.environ), Path())
    if files := wanted.compose or files_here(here):
        return ComposeFile(files, with_dotenv(Variables(wanted.environ), files[0].parent))
    if wanted.image is None and not (wanted.folder / "Dockerfile").is_file():
        names = ", ".join(NAMES)
        told = f"there is none of {names} here: give --compose FILE, or --image NAME and --ini FILE"
        raise InvalidInput.at("--compose", told)
    alone = wanted.folder / "Dockerfile"
    text = "services: {app: {image: alone}}" if wanted.image else "services: {app: {build: .}}"
    compose = ComposeFile((alone,), Variables())
    compose.give(read_tree(alone, text, Variables()))
    return compose


def files_of(name: str, service: Node, compose: ComposeFile, wanted: Wanted) -> Files:
    """The files of the container of a service."""
    image = wanted.image or image_of(name, service, compose.project)
    mounts = mounts_of(service, compose.root)
    checkout = None if compose.is_made or is_of_others(image) else compose.file.parent
    build = dockerfile_for(service)
    return Files(mounts, build, lambda path: wanted.read(image, path), checkout)


def services_of(compose: ComposeFile) -> dict[str, Node]:
    """All services with their env files, and the builds of images that they only name."""
    services = {
        name: with_env_files(node, compose.variables) for name, node in compose.services().items()
    }
    return with_builds(services, lambda: (services for _, services in _others(compose)))


def chosen(wanted: Wanted, compose: ComposeFile, services: Mapping[str, Node]) -> str:
    """The service to tune: as given, or the only one that starts uwsgi."""
    return _choice(wanted, compose, services).service(wanted.service)


def with_start(
    name: str, wanted: Wanted, compose: ComposeFile, services: Mapping[str, Node]
) -> Node:
    """A service, with the Dockerfile of the folder if nothing else shows how its image starts."""
    service = services[name]
    is_shown = wanted.command is not None or compose.is_made or is_of_others(wanted.image or "")
    if is_shown or not service.get("image"):
        return service
    return with_dockerfile_here(
        service, compose.file.parent, lambda each: _trail(name, each, compose, wanted)
    )


def _trail(name: str, service: Node, compose: ComposeFile, wanted: Wanted) -> Trail:
    entry = wanted.entry(image_of(name, service, compose.project))
    return trail_of(service, command_of(service, entry), files_of(name, service, compose, wanted))


def _choice(wanted: Wanted, compose: ComposeFile, services: Mapping[str, Node]) -> Choice:
    return Choice(
        file=compose.file,
        services=services,
        trail=lambda name: _trail(name, services[name], compose, wanted),
        has_ini=lambda name: only_ini(mounts_of(services[name], compose.root)) is not None,
        texts=lambda service: texts_of(service, compose.root),
        elsewhere=lambda: list(_elsewhere(wanted, compose)),
    )


def _elsewhere(wanted: Wanted, compose: ComposeFile) -> Iterator[str]:
    """The other compose files of the folder that start uWSGI, with the services."""
    for other, services in _others(compose):
        choice = _choice(wanted, other, services)
        if found := [name for name in services if choice.trail(name).calls]:
            yield f"{other.file} ({', '.join(found)})"


def _others(compose: ComposeFile) -> Iterator[tuple[ComposeFile, dict[str, Node]]]:
    """The other compose files of the folder that can be read, each with its services."""
    files = sorted(compose.file.parent.glob("*compose*.y*ml"))[:_MOST_FILES]
    for file in (file for file in files if file not in compose.files):
        other = ComposeFile((file,), compose.variables)
        try:
            yield other, other.services()
        except InvalidInput:
            continue
