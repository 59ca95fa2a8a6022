"""Pulls and builds that a cancel, a deadline or a full disk ends."""

import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.disk import Disk
from tuner.bench.measurement import target_failed
from tuner.nouns.errors import Aborted, Infrastructure, Unavailable
from tuner.nouns.model import FailureCode

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
            "network_mode": self.config.build_network,
            "rm": True,
            "forcerm": True,
        }
        return self._run("build", options, archive, aborted)

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
