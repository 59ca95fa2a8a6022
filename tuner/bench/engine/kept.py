"""The images that we pulled and built: removed by last use, all others never."""

import logging
import os
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import APIError, NotFound

from tuner.bench.engine.connection import Connection
from tuner.bench.engine.transport import explain
from tuner.nouns.model import ImageName

_log = logging.getLogger(__name__)


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
        for place, file in enumerate(_newest_first(folder)):
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


def _newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.size"), key=lambda file: file.stat().st_mtime, reverse=True)


def write_atomically(path: Path, content: bytes) -> None:
    """So no other process reads half a file. A folder that cannot be written fails no job."""
    draft = path.with_suffix(f".{threading.get_native_id()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        _log.warning("cache.not_written path=%s why=%s", path, error)
