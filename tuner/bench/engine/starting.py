"""What every launch of a process shares: the connection, the lock, and facts that are read once."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tuner.bench.engine import commands, config, counters, stubs
from tuner.bench.engine.backing import Backing, Beside, Parts, connected, parts_of
from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.containers import Containers
from tuner.bench.engine.disk import Disk
from tuner.bench.engine.folders import AppFolders
from tuner.bench.engine.guard import Guard
from tuner.bench.engine.host import FACTS_COMMAND, HostFacts, place_arm
from tuner.bench.engine.images import Found, Images
from tuner.bench.engine.options import Options
from tuner.bench.engine.states import States
from tuner.bench.measurement import ArmSpec
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
    _cgroups: counters.Cgroups | None = None
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

    def cgroups(self, running: str, containers: Containers) -> counters.Cgroups:
        """Where the engine puts cgroups, found with the first container that runs."""
        _, info = self.facts(containers)
        version = int(info.get("CgroupVersion") or 1)
        with self._asking:
            if self._cgroups is None:
                root = self.config.cgroup_root
                self._cgroups = counters.seen_from_here(root, version, running)
            if self._cgroups is None:
                self._cgroups = self._searched(version, running, containers)
            return self._cgroups

    def _searched(self, version: int, running: str, containers: Containers) -> counters.Cgroups:
        """Search the host's whole tree, in a container of ours that ends before the load."""
        argv = counters.find_command(version, running)
        tree = {"binds": {counters.HOST_ROOT: {"bind": counters.MOUNT, "mode": "ro"}}}
        _, output = containers.run(self.config.load_image, argv, TIMEOUT_S, tree)
        found = counters.seen_by_find(output, version, running)
        if found is None:
            raise Infrastructure("the target's cgroup is not in the host's /sys/fs/cgroup")
        return found


# ---- Starting what an arm consists of, under the labels of one measurement


@dataclass(frozen=True, slots=True)
class Starting:
    """Starts containers with these labels, until they are called off."""

    host: Host
    disk: Disk
    labels: Mapping[str, str]
    called_off: threading.Event = field(default_factory=threading.Event)

    @property
    def containers(self) -> Containers:
        """Makes and removes containers with these labels."""
        host = self.host
        return Containers(host.connection, host.config, self.labels, host.guard.watch)

    @contextmanager
    def target(
        self, arm: ArmSpec, argv: list[str], volumes: Mapping[str, str], *, serves: bool
    ) -> Iterator[tuple[str, Options, Beside]]:
        """The container of an arm, how it was started, and what runs beside it.

        The end of the context removes all of them. Raises `TargetFailed` or `Infrastructure`.
        """
        facts, _ = self.host.facts(self.containers)
        placement = place_arm(facts, arm.limits, arm.target)
        options = Options(self.host.config, facts, placement)
        containers, needs = replace(self.containers, app=arm.target.target_app), arm.target
        harness = commands.harness_ini(self.host.config.stats_address)
        files = commands.files_of(arm.ini, needs.ini_path, harness, serves=serves)
        with self._beside(arm, containers, options) as beside:
            its = options.target(needs, arm.limits, volumes)
            its = connected(its, beside.network, beside.volumes)
            known = containers.known_as(APP, beside.network)
            trusts = stubs.trusting(needs, beside.certificates)
            with containers.target(beside.image, argv, files, its, trusts, known) as container:
                self._check_wanted()
                yield container, options, beside

    @contextmanager
    def _beside(self, arm: ArmSpec, containers: Containers, options: Options) -> Iterator[Beside]:
        """The arm's image, and its services on data of their own."""
        found = self.found(arm.target, arm.image_digest)
        if not arm.target.has_data:
            yield Beside(image=found.id)
            return
        parts = self.parts(arm.target, found, arm.data_sha256)
        backing = Backing(containers, stubs.runnable(arm.target), options, self.disk)
        job = self.labels.get(config.JOB, "")
        with self.host.states.arm(job, parts, backing, arm.limits) as beside:
            yield beside

    def _check_wanted(self) -> None:
        """Raise `Infrastructure` where the measurement was killed before its container was there.

        A kill says so first, and then looks for containers: none is missed.
        """
        if self.called_off.is_set():
            raise Infrastructure("the measurement was called off while its containers started")

    def found(self, target: Target, digest: str | None = None) -> Found:
        """The image of a target, built or pulled if need be. Raises `TargetFailed`."""
        return self.host.images.find(target, digest, self.called_off.is_set)

    def started_with(self, found: Found) -> tuple[str, ...]:
        """ENTRYPOINT and CMD of an image."""
        return self.host.images.started_with(found.id)[0]

    def parts(self, target: Target, app: Found, sha256: str | None = None) -> Parts:
        """What the data of an app and its services are made of."""
        job = self.labels.get(config.JOB, "")
        return self.host.parts(job, target, app, sha256, self.called_off.is_set)
