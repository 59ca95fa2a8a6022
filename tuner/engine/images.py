"""Images of targets: built from a target app's folder or found by name; their uWSGI."""

import hashlib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docker.errors import APIError, NotFound
from pydantic import TypeAdapter

from tuner.engine import context
from tuner.engine.config import EngineConfig
from tuner.engine.connection import Connection, explain
from tuner.engine.containers import Containers
from tuner.engine.guard import no_image
from tuner.engine.texts import plain
from tuner.errors import Infrastructure, TargetFailed
from tuner.measurement import BuildInfo, target_failed
from tuner.model import FailureCode, Target

BUILD_LOG_LINES = 30
ASK_TIMEOUT_S = 30.0

_BUILD_INFO = TypeAdapter(BuildInfo)
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Images:
    """Finds, builds and inspects images. One for the whole process, so each build runs once."""

    connection: Connection
    config: EngineConfig
    build_dir: Callable[[str], Path]
    _known: dict[str, BuildInfo] = field(default_factory=dict)
    _with_k6: str | None = None
    _building: threading.Lock = field(default_factory=threading.Lock)

    def find(self, target: Target) -> str:
        """The id of the target's image, built or pulled where needed. Raises `TargetFailed`."""
        if target.image is not None:
            return self._id(target.image) or self._pulled(target.image)
        if target.target_app is None:
            raise target_failed(FailureCode.IMAGE_MISSING, "the target names no image and no app")
        return self._built(target.target_app)

    def generator(self) -> str:
        """The image of the load generator's container: the one with k6, if it is current.

        A k6 image on top of an older `load_image` is not current.
        """
        if self._with_k6 is None:
            load, name = self.config.load_image, self.config.journey_image
            below = self._layers(load)
            above = self._layers(name) if name is not None else []
            if name is None or not below or above[: len(below)] != below:
                return load  # look again next time: `make journeys` may be running
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
        config = (self._inspected(image) or {}).get("Config") or {}
        command = (*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ()))
        pairs = (text.partition("=") for text in config.get("Env") or ())
        return command, {name: value for name, _, value in pairs}

    def _id(self, name: str) -> str | None:
        found = self._inspected(name)
        return str(found["Id"]) if found else None

    def _inspected(self, name: str) -> dict[str, Any] | None:
        with self.connection.api() as api:
            try:
                found: dict[str, Any] = api.inspect_image(name)  # type: ignore[no-untyped-call]  # unfinished stub
            except NotFound:
                return None
            except APIError as error:
                raise _missing(name, explain(error)) from error
        return found

    def _pulled(self, name: str) -> str:
        with self.connection.api() as api:
            try:
                answers = list(api.pull(name, stream=True, decode=True))
            except APIError as error:
                raise _missing(name, explain(error)) from error
        image = self._id(name)
        if image is None:
            said = [plain(str(answer["error"])) for answer in answers if "error" in answer]
            raise _missing(name, said[-1] if said else "the registry has no such tag")
        return image

    def _built(self, app: str) -> str:
        base = self._id(self.config.base_image)
        if base is None:
            raise no_image(self.config.base_image)
        folder = context.read(self.build_dir(app))
        name = hashlib.sha256(f"{folder.sha256} {base}".encode()).hexdigest()[:16]
        tag = f"uwsgi-tuner/target-{app}:{name}"
        with self._building:  # two arms of a block ask at once
            return self._id(tag) or self._build(app, tag, folder)

    def _build(self, app: str, tag: str, folder: context.Context) -> str:
        _log.info("image.building target_app=%s tag=%s", app, tag)
        with self.connection.api() as api:
            try:
                answers = api.build(
                    fileobj=folder.archive(),
                    custom_context=True,
                    tag=tag,
                    buildargs={"BASE_IMAGE": self.config.base_image},
                    network_mode=self.config.build_network,
                    rm=True,
                    forcerm=True,
                    decode=True,
                )
                _raise_for_failed_build(app, answers)
            except APIError as error:
                raise _not_built(app, explain(error)) from error
        image = self._id(tag)
        if image is None:
            raise Infrastructure(f"the build of {app} succeeded but left no image")
        self._remove_older(tag)
        return image

    def _remove_older(self, tag: str) -> None:
        """Remove the app's older images; the engine keeps those in use."""
        name, now = tag.partition(":")[0], time.time()
        with self.connection.api() as api:
            for found in api.images(name=name):
                if now - found["Created"] < self.config.keep_images_s:
                    continue
                for older in found["RepoTags"] or ():
                    if older == tag or not older.startswith(f"{name}:"):
                        continue  # two apps of one content share an image
                    try:
                        api.remove_image(older)
                    except APIError as error:
                        _log.info("image.kept tag=%s why=%s", older, explain(error))

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
            _write_atomically(path, _BUILD_INFO.dump_json(info))
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


def _write_atomically(path: Path, content: bytes) -> None:
    """So no other process reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{threading.get_native_id()}")
    draft.write_bytes(content)
    draft.replace(path)


def _raise_for_failed_build(app: str, answers: Iterator[dict[str, Any]]) -> None:
    log: list[str] = []
    for answer in answers:
        log += plain(str(answer.get("stream", ""))).splitlines()
        if "error" in answer:
            tail = "\n".join(line for line in log if line.strip()).splitlines()
            raise _not_built(app, plain(str(answer["error"])), "\n".join(tail[-BUILD_LOG_LINES:]))


def _not_built(app: str, reason: str, log: str = "") -> TargetFailed:
    return target_failed(
        FailureCode.BUILD_FAILED, f"the image of target app {app} cannot be built: {reason}", log
    )


def _missing(name: str, reason: str) -> TargetFailed:
    return target_failed(
        FailureCode.IMAGE_MISSING,
        f"image {name} is not on this host, and the pull failed ({reason});"
        " build or pull it here, or correct its name",
    )
