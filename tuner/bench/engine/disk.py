"""What containers write to Docker's disk, and how much room is left there."""

import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tuner.bench.engine import config
from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.connection import TIMEOUT_S, Connection
from tuner.bench.engine.failures import LOG_TAIL_LINES
from tuner.bench.measurement import target_failed
from tuner.nouns.errors import Infrastructure
from tuner.nouns.model import APP, BYTES_PER_MB, FailureCode


@dataclass(frozen=True)
class Disk:
    """The disk of Docker's images, containers and volumes.

    Containers come by the names that messages have for them: `app`, and those of the services.
    """

    connection: Connection
    config: EngineConfig

    def shortage(self) -> str | None:
        """How little is left. None if it is enough, or if the disk is another machine's."""
        left_mb = self._too_few_mb()
        return None if left_mb is None else self._told(left_mb)

    def check_room(self, containers: Mapping[str, str]) -> None:
        """Raise if too little is left.

        `TargetFailed` if it would be enough without what these containers have written, else
        `Infrastructure`.
        """
        left_mb = self._too_few_mb()
        if left_mb is None:
            return
        written = self.written_mb(containers)
        if left_mb + sum(written.values()) < self.config.least_free_mb:
            raise Infrastructure(f"{self._told(left_mb)}: make room on this host")
        name = max(written, key=lambda each: written[each])
        self._fail(name, containers[name], written[name], self._told(left_mb))

    def check_written(self, containers: Mapping[str, str]) -> dict[str, float]:
        """What each container has written, in MB. Raises `TargetFailed` if it is too much."""
        written = self.written_mb(containers)
        for name, written_mb in written.items():
            most_mb = self.config.disk_mb if name == APP else self.config.service_disk_mb
            if written_mb > most_mb:
                self._fail(name, containers[name], written_mb, f"it may write {most_mb} MB")
        return written

    def written_mb(self, containers: Mapping[str, str]) -> dict[str, float]:
        """What each has written: into its own layer, and into its volumes.

        What was there when a volume was made as a copy of another one does not count.
        """
        with self.connection.api() as api:
            found = api.containers(all=True, size=True, filters={"id": [*containers.values()]})
        mounts = {
            each["Id"]: {m["Name"] for m in each["Mounts"] if m["Type"] == "volume"}
            for each in found
        }
        layers = {each["Id"]: each.get("SizeRw") or 0 for each in found}
        volumes = self._volume_bytes({name for names in mounts.values() for name in names})
        return {
            name: (layers[each] + sum(volumes.get(v, 0) for v in mounts[each])) / BYTES_PER_MB
            for name, each in containers.items()
            if each in layers
        }

    def _volume_bytes(self, names: Collection[str]) -> dict[str, int]:
        """How much each volume has grown since it was made."""
        if not names:
            return {}
        found = {each["Name"]: each for each in self._volumes()}
        sizes = {name: max(0, each["UsageData"]["Size"]) for name, each in found.items()}
        return {
            name: max(0, sizes[name] - sizes.get(_origin(found[name]), 0))
            for name in names
            if name in sizes
        }

    def _volumes(self) -> list[dict[str, Any]]:
        """All volumes with their sizes. docker-py would ask for images and containers too."""
        with self.connection.api() as api:
            url = f"{api.base_url}/v{api.api_version}/system/df"
            answer = api.get(url, params={"type": "volume"}, timeout=TIMEOUT_S)
            if not answer.ok:
                raise Infrastructure(f"Docker cannot measure volumes: {answer.text[:200]}")
            found: list[dict[str, Any]] = answer.json().get("Volumes") or []
        return found

    def _fail(self, name: str, container: str, written_mb: float, bound: str) -> None:
        who = "the container" if name == APP else f"service {name}"
        raise target_failed(
            FailureCode.OUT_OF_DISK,
            f"{who} has written {written_mb:.0f} MB to disk; {bound}: let it write less, or rotate"
            " its files",
            self.connection.log_tail(container, LOG_TAIL_LINES),
        )

    def _too_few_mb(self) -> int | None:
        """What is left, if that is too little."""
        if self._folder is None:
            return None
        left_mb = shutil.disk_usage(self._folder).free >> 20
        return left_mb if left_mb < self.config.least_free_mb else None

    def _told(self, left_mb: int) -> str:
        least_mb = self.config.least_free_mb
        return f"{left_mb} MB are left on Docker's disk at {self._folder}, less than {least_mb} MB"

    @cached_property
    def _folder(self) -> Path | None:
        """A folder on the disk; None if that is another machine's."""
        with self.connection.api() as api:
            root = Path(api.info()["DockerRootDir"])
            is_here = api.base_url.startswith("http+docker:")
        # In a container the folder is missing, and `/` lies on the same disk.
        there = (place for place in (root, *root.parents) if place.exists())
        return next(there) if is_here else None


def _origin(volume: Mapping[str, Any]) -> str:
    return str((volume.get("Labels") or {}).get(config.COPY_OF))
