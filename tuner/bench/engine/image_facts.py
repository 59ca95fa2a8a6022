"""Facts about an image: its uWSGI, the command that it starts, its environment."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from tuner.bench.engine import command, labels
from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.containers import Containers
from tuner.bench.engine.images import Images
from tuner.nouns.errors import Infrastructure, InvalidInput, TargetFailed, Unavailable
from tuner.nouns.model import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """`options` are all names that the image's uWSGI knows; `command` is ENTRYPOINT and CMD."""

    uwsgi_version: str
    options: tuple[str, ...]
    command: tuple[str, ...]
    environ: Mapping[str, str]


def facts_of(config: EngineConfig, image: str) -> ImageFacts:
    """Read the facts of an image, and pull it if needed.

    Raises `InvalidInput` if the image or a uWSGI in it is missing, and `Unavailable`.
    """
    config = replace(config, cache_dir=_writable(config.cache_dir))
    with _opened(config) as (images, containers):
        found = images.find(_named(image)).id
        starts, environ = images.started_with(found)
        said = images.ask(found, command.program(starts), containers)
    return ImageFacts(
        uwsgi_version=said.uwsgi_version, options=said.options, command=starts, environ=environ
    )


def file_in(config: EngineConfig, image: str, path: str) -> str | None:
    """The text of a file in an image, which is not pulled; None without Docker or the image.

    A relative path starts at the image's working directory. Raises `InvalidInput` for a file that
    cannot be read.
    """
    with suppress(Unavailable, Infrastructure), _opened(config) as (images, containers):
        if images.has(image):
            at = str(PurePosixPath(images.working_dir(image), path))
            return containers.file_in(image, at, image)
    return None


def entry_of(config: EngineConfig, image: str) -> dict[str, list[str]] | None:
    """The words of an image's ENTRYPOINT and CMD; None without Docker or the image."""
    with suppress(Unavailable, Infrastructure), _opened(config) as (images, _):
        if images.has(image):
            return images.entry(image)
    return None


@contextmanager
def _opened(config: EngineConfig) -> Iterator[tuple[Images, Containers]]:
    """What asks the engine. A fault of the image is a mistake of the user's."""
    connection = Connection()
    try:
        marks = labels.of_instance(config.instance)
        yield Images(connection, config, Path), Containers(connection, config, marks)
    except TargetFailed as failure:
        raise InvalidInput.at("--image", failure.message) from failure
    finally:
        connection.close()


def _named(image: str) -> Target:
    """A target for its image only."""
    return Target(
        image=image, port=1, health_path="/", command=(), thread_safe=False, memory_per_process_mb=1
    )


def _writable(folder: Path | None) -> Path | None:
    """The folder, created if needed; None if this user may not."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder
