"""Starting what an arm consists of, under the labels of one measurement."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tuner.bench.engine import command, labels, stubs
from tuner.bench.engine.backing import Backing, Beside, Parts, connected
from tuner.bench.engine.containers import Containers
from tuner.bench.engine.disk import Disk
from tuner.bench.engine.host import place_arm
from tuner.bench.engine.images import Found
from tuner.bench.engine.options import Options
from tuner.bench.engine.shared import Host
from tuner.bench.measurement import ArmSpec
from tuner.nouns.errors import Infrastructure
from tuner.nouns.model import APP, Target


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
        harness = command.harness_ini(self.host.config.stats_address)
        files = command.files_of(arm.ini, needs.ini_path, harness, serves=serves)
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
        job = self.labels.get(labels.JOB, "")
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
        job = self.labels.get(labels.JOB, "")
        return self.host.parts(job, target, app, sha256, self.called_off.is_set)
