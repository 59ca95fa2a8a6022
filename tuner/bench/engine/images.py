"""Images of targets: built from a target app's folder or found by name; their uWSGI."""

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from docker.errors import NotFound
from pydantic import TypeAdapter

from tuner.bench.engine import commands, folders, stubs
from tuner.bench.engine.config import EngineConfig, of_instance
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.containers import Containers
from tuner.bench.engine.failures import why_not_pulled
from tuner.bench.engine.fetching import Fetcher, Kept, write_atomically
from tuner.bench.engine.guard import no_image
from tuner.bench.measurement import BuildInfo, target_failed
from tuner.nouns.errors import Infrastructure, InvalidInput, TargetFailed, Unavailable
from tuner.nouns.model import FailureCode, ImageName, Target

ASK_TIMEOUT_S = 30.0

_BUILD_INFO = TypeAdapter(BuildInfo)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """An image of this host.

    `digest` names it on every host: the registry's digest, the tag with the hash of a build's
    folder and base, or the id of an image that no registry knows.
    """

    id: str
    digest: str


@dataclass(slots=True)
class Images:
    """Finds, builds and inspects images. One for the whole process, so each build runs once."""

    connection: Connection
    config: EngineConfig
    build_dir: Callable[[str], Path]
    _known: dict[str, BuildInfo] = field(default_factory=dict)
    _with_k6: str | None = None
    _fetching: threading.Lock = field(default_factory=threading.Lock)
    _fetcher: Fetcher = field(init=False)
    _kept: Kept = field(init=False)

    def __post_init__(self) -> None:
        self._fetcher = Fetcher(self.connection, self.config)
        config = self.config
        ours = (config.base_image, config.load_image, config.journey_image)
        spared = {ImageName.parse(name).reference for name in ours if name is not None}
        most_bytes = config.images_kept_gb * 1e9
        self._kept = Kept(self.connection, config.cache_dir, most_bytes, spared)

    def find(
        self,
        target: Target,
        digest: str | None = None,
        aborted: Callable[[], bool] = lambda: False,
    ) -> Found:
        """The target's image, built or pulled where needed. Raises `TargetFailed`.

        With the `digest` that the job has resolved, no other image: raises `Infrastructure`.
        """
        try:
            if target.image is not None:
                return self._named(target.image, digest, aborted)
            if target.target_app is not None:
                return self._built(target.target_app, digest, aborted)
        except TargetFailed as failure:
            if digest is None:
                raise
            raise Infrastructure(f"this host cannot have {digest}: {failure.message}") from failure
        raise target_failed(FailureCode.IMAGE_MISSING, "the target names no image and no app")

    def named(self, target: Target) -> str | None:
        """The digest that `find` would have, without a build or a pull; None: not known here.

        Raises `NotFound` of ours if this host does not know the target app.
        """
        if target.image is not None:
            name = ImageName.parse(target.image)
            found = self._inspected(name.reference)
            return [*_registry_digests(found, name), found["Id"]][0] if found else None
        base = self._inspected(self.config.base_image)
        if base is None or target.target_app is None:
            return None
        folder = folders.read(self.build_dir(target.target_app))
        return folder.tag(target.target_app, base["Id"])

    def find_service(
        self, target: Target, name: str, aborted: Callable[[], bool] = lambda: False
    ) -> Found:
        """The image of a service, built or pulled where needed. Raises `TargetFailed`."""
        service = target.services[name]
        if service.image is not None:
            return self._named(service.image, None, aborted)
        if target.target_app is not None and service.build is not None:
            return self._built(target.target_app, None, aborted, service.build)
        if service.stub is not None and (found := self._inspected(self.config.load_image)):
            return Found(str(found["Id"]), stubs.digest())
        raise target_failed(
            FailureCode.IMAGE_MISSING, f"services.{name}: only a target app has folders to build"
        )

    def volumes_of(self, image: str) -> tuple[str, ...]:
        """The folders that the image declares as volumes."""
        config = (self._inspected(image) or {}).get("Config") or {}
        return tuple(config.get("Volumes") or ())

    def generator(self) -> str:
        """The image of the load generator's container: the one with k6, if it is current.

        A k6 image on top of an older `load_image` is not current.
        """
        if self._with_k6 is None:
            load, name = self.config.load_image, self.config.journey_image
            below = self._layers(load)
            above = self._layers(name) if name is not None else []
            if name is None or not below or above[: len(below)] != below:
                return load  # look again next time: `tuner setup` may be running
            self._with_k6 = name
        return self._with_k6

    def has(self, name: str) -> bool:
        """Whether the image is on this host."""
        return self._id(name) is not None

    def _layers(self, name: str) -> list[str]:
        """An image's layers from the lowest up; empty if the image is not here."""
        found = self._inspected(name)
        return list(found["RootFS"].get("Layers") or ()) if found else []

    def ask(self, image: str, program: str, containers: Containers) -> BuildInfo:
        """The image's uWSGI; remembered for each image, also across processes."""
        if image not in self._known:
            self._known[image] = self._remembered(image) or self._asked(image, program, containers)
        return self._known[image]

    def started_with(self, image: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """The command that an image starts by default, and its environment."""
        words = self.entry(image)
        config = (self._inspected(image) or {}).get("Config") or {}
        pairs = (text.partition("=") for text in config.get("Env") or ())
        command = (*words["ENTRYPOINT"], *words["CMD"])
        return command, {name: value for name, _, value in pairs}

    def entry(self, image: str) -> dict[str, list[str]]:
        """The words of an image's ENTRYPOINT and CMD."""
        config = (self._inspected(image) or {}).get("Config") or {}
        return {"ENTRYPOINT": config.get("Entrypoint") or [], "CMD": config.get("Cmd") or []}

    def working_dir(self, image: str) -> str:
        """The folder in which an image's command starts."""
        config = (self._inspected(image) or {}).get("Config") or {}
        return str(config.get("WorkingDir") or "/")

    def _id(self, name: str) -> str | None:
        found = self._inspected(name)
        return str(found["Id"]) if found else None

    def _inspected(self, name: str) -> dict[str, Any] | None:
        with self.connection.api() as api:
            try:
                found: dict[str, Any] = api.inspect_image(name)  # type: ignore[no-untyped-call]  # unfinished stub
            except NotFound:
                return None
        return found

    def _named(self, text: str, digest: str | None, aborted: Callable[[], bool]) -> Found:
        name = self._allowed(text)
        found = self._inspected(digest) if digest is not None else None
        if found is None:
            wanted = ImageName.parse(digest) if digest is not None and "@" in digest else name
            found = self._inspected(wanted.reference) or self._pulled(wanted, aborted)
        self._kept.touch(found["Id"])
        names = [*_registry_digests(found, name), found["Id"]]
        return Found(found["Id"], _agreed(digest, names, text))

    def _allowed(self, text: str) -> ImageName:
        try:
            name = ImageName.parse(text)
        except ValueError as error:
            raise target_failed(FailureCode.IMAGE_MISSING, f"image {text!r}: {error}") from error
        if not name.is_among(self.config.images_allowed):
            message = f"image {text}: this host's TUNER_IMAGES_ALLOWED does not allow it"
            raise target_failed(FailureCode.IMAGE_MISSING, message)
        return name

    def _pulled(self, name: ImageName, aborted: Callable[[], bool]) -> dict[str, Any]:
        if not name.path:
            raise _missing(name.reference, "an id is known to its own host only")
        with self._fetching:  # two arms of a block ask at once
            found = self._inspected(name.reference)
            if found is None:
                said = self._fetcher.pull(name.repository, name.version, aborted)
                found = self._inspected(name.reference)
                if found is None:
                    _log.warning("image.not_pulled image=%s why=%s", name.reference, said.error)
                    raise _missing(name.reference, why_not_pulled(said.error or ""))
                self._kept.add(found)
        return found

    def _built(
        self, app: str, digest: str | None, aborted: Callable[[], bool], part: str = ""
    ) -> Found:
        base = self._inspected(self.config.base_image)
        if base is None:
            raise no_image(self.config.base_image)
        folder = folders.read(self.build_dir(app) / part)
        tag = _agreed(digest, [folder.tag(app, base["Id"], part)], f"target app {app}")
        with self._fetching:
            image = self._id(tag)
            if image is None:
                found = self._build(app, tag, folder, aborted)
                self._kept.add(found, base)
                image = str(found["Id"])
        self._kept.touch(image)
        return Found(image, tag)

    def _build(
        self, app: str, tag: str, folder: folders.Context, aborted: Callable[[], bool]
    ) -> dict[str, Any]:
        _log.info("image.building target_app=%s tag=%s", app, tag)
        said = self._fetcher.build(tag, folder.archive(), aborted)
        if said.error is not None:
            message = f"the image of target app {app} cannot be built: {said.error}"
            raise target_failed(FailureCode.BUILD_FAILED, message, said.log)
        found = self._inspected(tag)
        if found is None:
            raise Infrastructure(f"the build of {app} succeeded but left no image")
        return found

    def _asked(self, image: str, program: str, containers: Containers) -> BuildInfo:
        _, version = containers.run(image, [program, "--version"], ASK_TIMEOUT_S)
        exit_code, listing = containers.run(image, [program, "--dump-options"], ASK_TIMEOUT_S)
        if not re.fullmatch(r"\d+\.\d+\S*", version.strip()) or exit_code != 0:
            raise target_failed(
                FailureCode.NOT_STARTED, f"`{program}` in the image is not uWSGI", version.strip()
            )
        info = BuildInfo(
            image_digest=image,
            uwsgi_version=version.strip(),
            options=tuple(dict.fromkeys(listing.split())),
        )
        if (path := self._cache_file(image)) is not None:
            write_atomically(path, _BUILD_INFO.dump_json(info))
        return info

    def _remembered(self, image: str) -> BuildInfo | None:
        path = self._cache_file(image)
        try:
            return _BUILD_INFO.validate_json(path.read_bytes()) if path is not None else None
        except (OSError, ValueError):
            return None

    def _cache_file(self, image: str) -> Path | None:
        if self.config.cache_dir is None:
            return None
        return self.config.cache_dir / f"uwsgi-{image.removeprefix('sha256:')[:32]}.json"


def _registry_digests(found: Mapping[str, Any], name: ImageName) -> list[str]:
    """The image's digests in the registry that the name has, as full references."""
    names = map(ImageName.parse, sorted(found.get("RepoDigests") or ()))
    return [known.reference for known in names if known.repository == name.repository]


def _agreed(digest: str | None, names: Sequence[str], what: str) -> str:
    """What the job calls the image: the `digest` that it has resolved, else the first name."""
    if digest is None:
        return names[0]
    if digest not in names:
        raise Infrastructure(
            f"the job measures {digest}, but on this host {what} is {names[0]}: blocks of one job"
            " never mix images; submit the job again"
        )
    return digest


def _missing(name: str, reason: str) -> TargetFailed:
    return target_failed(
        FailureCode.IMAGE_MISSING,
        f"image {name} is not on this host, and the pull failed ({reason});"
        " build or pull it here, or correct its name",
    )


# ---- Facts about an image: its uWSGI, the command that it starts, its environment


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
        said = images.ask(found, commands.program(starts), containers)
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
        marks = of_instance(config.instance)
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
