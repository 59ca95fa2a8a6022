"""Pulls and builds that a cancel, a deadline or a full disk ends."""

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from docker.errors import APIError, NotFound

from tuner.bench.engine.config import BUILD_NETWORK, MINE, EngineConfig
from tuner.bench.engine.connection import Connection, explain
from tuner.bench.engine.disk import Disk
from tuner.bench.measurement import target_failed
from tuner.nouns.errors import Aborted, Infrastructure, Unavailable
from tuner.nouns.model import FailureCode, ImageName

_log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.2  # a cancelled measurement has to stop within 2 s


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """How a pull or a build ended: without an `error`, the image is there."""

    error: str | None
    log: str = ""


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Pulls and builds, each in a process of its own."""

    connection: Connection
    config: EngineConfig

    def pull(self, repository: str, version: str, aborted: Callable[[], bool]) -> Fetched:
        """Pull a tag or a digest.

        Raises `Aborted`, `TargetFailed` at the deadline, `Infrastructure` while the disk is almost
        full, and `Unavailable`.
        """
        return self._run("pull", {"repository": repository, "tag": version}, b"", aborted)

    def build(self, tag: str, archive: bytes, aborted: Callable[[], bool]) -> Fetched:
        """Build from a tar with a Dockerfile; raises what `pull` raises."""
        options = {
            "custom_context": True,
            "tag": tag,
            "buildargs": {"BASE_IMAGE": self.config.base_image},
            "network_mode": self._network(),
            "rm": True,
            "forcerm": True,
        }
        return self._run("build", options, archive, aborted)

    def _network(self) -> str:
        """The network of builds; ours is made if it is missing."""
        name = self.config.build_network
        with self.connection.api() as api:
            if name == BUILD_NETWORK and not api.networks(names=[f"^{name}$"]):
                with suppress(APIError):  # another thread was first
                    api.create_network(name, "bridge", check_duplicate=True, labels={MINE: "1"})
        return name

    def _run(
        self,
        what: Literal["pull", "build"],
        options: dict[str, Any],
        given: bytes,
        aborted: Callable[[], bool],
    ) -> Fetched:
        command = [sys.executable, "-m", "tuner.bench.engine.fetcher", what, json.dumps(options)]
        pipe = subprocess.PIPE
        disk, began = Disk(self.connection, self.config), time.monotonic()
        with tempfile.TemporaryFile() as archive:
            archive.write(given)
            archive.seek(0)
            with subprocess.Popen(command, stdin=archive, stdout=pipe, stderr=pipe) as process:
                try:
                    while True:
                        if aborted():
                            raise Aborted(f"cancelled during the {what} of an image")
                        self._require_time(what, time.monotonic() - began)
                        if short := disk.shortage():
                            raise Infrastructure(f"{short}: images are neither pulled nor built")
                        with suppress(subprocess.TimeoutExpired):
                            return _fetched(what, *process.communicate(timeout=LOOK_EVERY_S))
                finally:
                    process.kill()

    def _require_time(self, what: Literal["pull", "build"], taken_s: float) -> None:
        limit_s = self.config.fetch_timeout_s
        if taken_s > limit_s:
            code = FailureCode.IMAGE_MISSING if what == "pull" else FailureCode.BUILD_FAILED
            message = f"the {what} of the image took over {limit_s:g} s (TUNER_IMAGE_TIMEOUT_S)"
            raise target_failed(code, message)


def _fetched(what: str, said: bytes, complaint: bytes) -> Fetched:
    try:
        end = json.loads(said)
    except ValueError:
        _log.error("image.fetcher_failed what=%s why=%s", what, complaint.decode(errors="replace"))
        raise Infrastructure(f"the {what} of an image ended without an answer") from None
    if "away" in end:
        raise Unavailable("docker", end["away"])
    return Fetched(**end)


# ---- The images that we pulled and built: removed by last use, all others never


@dataclass(frozen=True, slots=True)
class Kept:
    """A file in `folder` for each image, with its size in bytes; the file's time is the last use.

    Without a folder, no image is removed. `spared` are references of images that always stay.
    """

    connection: Connection
    folder: Path | None
    most_bytes: float
    spared: Collection[str]

    def add(self, found: Mapping[str, Any], below: Mapping[str, Any] | None = None) -> None:
        """Note an image that we have pulled, or built on top of the one `below`."""
        if self.folder is not None:
            size = int(found["Size"]) - (int(below["Size"]) if below is not None else 0)
            write_atomically(_file(self.folder, found["Id"]), str(size).encode())
            self._prune(self.folder)

    def touch(self, image: str) -> None:
        """Note a use of an image, if it is one of ours."""
        if self.folder is not None:
            with suppress(FileNotFoundError):
                os.utime(_file(self.folder, image))

    def _prune(self, folder: Path) -> None:
        """Remove what is beyond the bound, but never the image that was used last."""
        total = 0
        used = sorted(folder.glob("*.size"), key=lambda file: file.stat().st_mtime, reverse=True)
        for place, file in enumerate(used):
            with suppress(FileNotFoundError, ValueError):
                total += int(file.read_text())
                if place > 0 and total > self.most_bytes and self._is_removed(file.stem):
                    file.unlink()

    def _is_removed(self, stem: str) -> bool:
        """Whether it is gone. The engine keeps an image that has a container or a second name."""
        image = stem.replace("-", ":")
        with self.connection.api() as api:
            try:
                found = api.inspect_image(image)  # type: ignore[no-untyped-call]  # unfinished stub
                tags = found["RepoTags"] or ()
                if any(ImageName.parse(tag).reference in self.spared for tag in tags):
                    return False
                api.remove_image(image)
            except NotFound:
                return True
            except APIError as error:
                _log.info("image.kept image=%s why=%s", image, explain(error))
                return False
        _log.info("image.removed image=%s", image)
        return True


def _file(folder: Path, image: str) -> Path:
    return folder / f"{image.replace(':', '-')}.size"


def write_atomically(path: Path, content: bytes) -> None:
    """So no other process reads half a file. A folder that cannot be written fails no job."""
    draft = path.with_suffix(f".{threading.get_native_id()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        _log.warning("cache.not_written path=%s why=%s", path, error)
