"""What `tuner app init` is asked for: the compose file, and the service in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.building import Entry, image_of
from tuner.targets.compose.document import ComposeFile, Node, read_tree, text_of
from tuner.targets.compose.interpolation import Variables
from tuner.targets.compose.mounts import mounts_of, only_ini
from tuner.targets.compose.starting import command_of
from tuner.uwsgi.command_line import words_for_uwsgi

NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
"""What Compose looks for, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What `tuner app init` is asked for. `environ` is the environment of the command.

    `copy_data` lets volumes start with a copy of the folders that are mounted there. `read` gives
    the text of a file in an image, and `entry` what it starts; None without the image, or Docker.
    """

    folder: Path
    compose: Path | None = None
    service: str | None = None
    ini: Path | None = None
    image: str | None = None
    copy_data: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[str, str], str | None] = lambda image, path: None
    entry: Callable[[str], Entry | None] = lambda image: None


def compose_of(wanted: Wanted) -> ComposeFile:
    """The compose file; without one, that of an image or a Dockerfile alone."""
    file = wanted.compose or next((Path(name) for name in NAMES if Path(name).is_file()), None)
    if file is not None:
        env = file.parent / ".env"
        variables = Variables(wanted.environ)
        return ComposeFile(file, variables.with_dotenv(text_of(env) if env.is_file() else ""))
    if wanted.image is None and not (wanted.folder / "Dockerfile").is_file():
        names = ", ".join(NAMES)
        told = f"there is none of {names} here: give --compose FILE, or --image NAME and --ini FILE"
        raise InvalidInput.at("--compose", told)
    alone = wanted.folder / "Dockerfile"
    text = "services: {app: {image: alone}}" if wanted.image else "services: {app: {build: .}}"
    compose = ComposeFile(alone, Variables())
    compose.give(read_tree(alone, text, Variables()))
    return compose


def chosen(wanted: Wanted, compose: ComposeFile, services: Mapping[str, Node]) -> str:
    """The service to tune: as given, or the only one that starts uwsgi."""
    found = list(services)
    if wanted.service is not None:
        found = [name for name in found if name == wanted.service]
    elif len(found) > 1:
        found = [name for name in found if _starts_uwsgi(name, services[name], compose, wanted)]
    if len(found) == 1:
        return found[0]
    which = f"no service {wanted.service}" if wanted.service else "no single service with uwsgi"
    names = ", ".join(found or services) or "none"
    raise InvalidInput.at("--service", f"{which} in {compose.file}; there are: {names}")


def _starts_uwsgi(name: str, service: Node, compose: ComposeFile, wanted: Wanted) -> bool:
    if only_ini(mounts_of(service, compose.root)) is not None:
        return True
    of_image = wanted.entry(image_of(name, service, compose.project))
    return words_for_uwsgi(command_of(service, of_image)) is not None
