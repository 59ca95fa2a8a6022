"""What every launch of a process shares: the connection, the lock, and facts that are read once."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tuner.bench.engine import cgroup
from tuner.bench.engine.backing import Parts, parts_of
from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.containers import Containers
from tuner.bench.engine.folders import AppFolders
from tuner.bench.engine.guard import Guard
from tuner.bench.engine.host import FACTS_COMMAND, HostFacts
from tuner.bench.engine.images import Found, Images
from tuner.bench.engine.states import States
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import APP, Target

TIMEOUT_S = 30.0


@dataclass(slots=True)
class Host:
    """This host, as far as a process knows it."""

    connection: Connection
    config: EngineConfig
    images: Images
    guard: Guard
    states: States
    folders: AppFolders
    _facts: HostFacts | None = None
    _info: dict[str, Any] | None = None
    _cgroups: cgroup.Cgroups | None = None
    _asking: threading.Lock = field(default_factory=threading.Lock)

    def facts(self, containers: Containers) -> tuple[HostFacts, dict[str, Any]]:
        """The host's facts, and the engine's own (`docker info`)."""
        with self._asking:
            if self._facts is None or self._info is None:
                _, text = containers.run(self.config.load_image, FACTS_COMMAND, TIMEOUT_S)
                with self.connection.api() as api:
                    self._info = dict(api.info())
                try:
                    facts = HostFacts.parse(text)
                except ValueError as error:
                    raise Infrastructure(f"cannot read this host's facts: {error}") from error
                self._facts = replace(facts, bounds_disk=containers.bounds_disk())
            return self._facts, self._info

    def parts(
        self,
        job: str,
        target: Target,
        app: Found,
        sha256: str | None,
        aborted: Callable[[], bool],
    ) -> Parts:
        """What the data of a job's arms are made of. Raises `TargetFailed`.

        With the `sha256` that the job has resolved, no other data: raises `Infrastructure`.
        """
        images, read = self.images, partial(self.folders.of, job, target.target_app)
        try:
            found = {name: images.find_service(target, name, aborted) for name in target.services}
            parts = parts_of(target, {APP: app, **found}, images.volumes_of, read)
        except TargetFailed as failure:
            if sha256 is None:
                raise
            raise Infrastructure(f"this host cannot make the data: {failure.message}") from failure
        if sha256 not in (None, parts.sha256):
            raise Infrastructure(
                f"the job's data were made of {sha256}, and this host would make them of"
                f" {parts.sha256}: an image of a service or a folder to copy is another one here,"
                " or has changed; submit the job again"
            )
        return parts

    def cgroups(self, running: str, containers: Containers) -> cgroup.Cgroups:
        """Where the engine puts cgroups, found with the first container that runs."""
        _, info = self.facts(containers)
        version = int(info.get("CgroupVersion") or 1)
        with self._asking:
            if self._cgroups is None:
                root = self.config.cgroup_root
                self._cgroups = cgroup.seen_from_here(root, version, running)
            if self._cgroups is None:
                self._cgroups = self._searched(version, running, containers)
            return self._cgroups

    def _searched(self, version: int, running: str, containers: Containers) -> cgroup.Cgroups:
        """Search the host's whole tree, in a container of ours that ends before the load."""
        argv = cgroup.find_command(version, running)
        tree = {"binds": {cgroup.HOST_ROOT: {"bind": cgroup.MOUNT, "mode": "ro"}}}
        _, output = containers.run(self.config.load_image, argv, TIMEOUT_S, tree)
        found = cgroup.seen_by_find(output, version, running)
        if found is None:
            raise Infrastructure("the target's cgroup is not in the host's /sys/fs/cgroup")
        return found
