"""`tuner.measurement.Launcher` on a Docker Engine."""

import copy
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tuner.engine import command, effective, labels, nginx
from tuner.engine.config import EngineConfig
from tuner.engine.connection import Connection
from tuner.engine.containers import Containers
from tuner.engine.ending import own_words, raise_if_ended
from tuner.engine.failures import telling_line
from tuner.engine.guard import Guard, no_image
from tuner.engine.host import Placement, check_memory, place
from tuner.engine.images import Images
from tuner.engine.shared import Host
from tuner.engine.target import DockerTarget
from tuner.errors import Infrastructure, TunerError
from tuner.measurement import ArmSpec, BuildInfo, Checked, target_failed
from tuner.model import BYTES_PER_MB, FailureCode, HostFingerprint, Target
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.topology import front_of

STRICT_TIMEOUT_S = 20.0
KILL_FOR_S = 1.5  # another thread may still create containers during a kill


class DockerLauncher:
    """Starts arms, and removes what earlier ones left. Threads may share one.

    `build_dir` names the folder of a target app.
    """

    def __init__(self, config: EngineConfig, build_dir: Callable[[str], Path]) -> None:
        self._config = config
        self._connection = Connection(config.secrets.values())
        self._mine = labels.of_instance(config.instance)
        self._labels: Mapping[str, str] = self._mine
        self._called_off = threading.Event()
        images = Images(self._connection, config, build_dir)
        guard = Guard(self._connection, config)
        self._host = Host(self._connection, config, images, guard)

    def for_measurement(self, job: str, measurement: str) -> "DockerLauncher":
        """The same launcher; its containers carry the labels of one measurement."""
        bound = copy.copy(self)
        bound._labels = {**self._mine, labels.JOB: job, labels.MEASUREMENT: measurement}
        bound._called_off = threading.Event()
        return bound

    @property
    def instance(self) -> str:
        """The service that owns these containers."""
        return self._config.instance

    def problem(self) -> str | None:
        """What keeps this host from measuring; None for nothing."""
        try:
            with self._connection.api() as api:
                api.ping()
            if self._host.guard.is_held:
                return None
            if not self._host.images.has(self._config.load_image):
                return str(no_image(self._config.load_image))
        except TunerError as fault:
            return str(fault)
        return self._host.guard.problem()

    def alone(self) -> AbstractContextManager[None]:
        """Measure alone on this machine. Raises `Unavailable` while another service measures."""
        return self._host.guard.alone()

    def check_alone(self) -> None:
        """Raise `Infrastructure` if another service may have measured meanwhile."""
        self._host.guard.check()

    def give_way(self) -> None:
        """Let other services measure, if this one has nothing to measure."""
        self._host.guard.give_way()

    def close(self) -> None:
        """Close the connections to the engine."""
        self._host.guard.drop()
        self._connection.close()

    def fingerprint(self) -> HostFingerprint:
        """This host's hardware and software."""
        facts, info = self._host.facts(self._containers)
        return facts.fingerprint(info)

    def check_memory(self, arms: Sequence[ArmSpec]) -> None:
        """Refuse arms that do not fit into this host's memory. Raises `TargetFailed`.

        One load generator works at a time; the others wait.
        """
        _, info = self._host.facts(self._containers)
        check_memory(
            int(info["MemTotal"]) // BYTES_PER_MB,
            [arm.limits.memory_mb for arm in arms],
            working_mb=self._config.generator_memory_mb,
            waiting_mb=self._config.generator_waiting_mb,
        )

    def inspect(self, target: Target) -> BuildInfo:
        """Build or find the target's image. Raises `TargetFailed`."""
        images, program = self._host.images, command.program(target.command)
        found = images.find(target, aborted=self._called_off.is_set)
        return replace(images.ask(found.id, program, self._containers), image_digest=found.digest)

    def check(self, arm: ArmSpec) -> Checked:
        """Let uWSGI load the file and the app, without serving. Raises `TargetFailed`.

        With lazy-apps only the workers load the app, so its faults show at launch.
        """
        nginx.proxy_of(front_of(IniFile.parse(arm.ini), arm.target.port))
        argv = command.with_ini(arm.target.command, command.CHECK)
        timeout_s = self._config.check_timeout_s
        with self._target(arm, argv, {}) as (container, _):
            state = self._connection.wait_end(container, timeout_s)
            if state is None:
                tail = own_words(self._connection, container)
                raise target_failed(
                    FailureCode.NOT_READY, f"loading the app took over {timeout_s:g} s", tail
                )
            if state["ExitCode"] != 0:
                raise_if_ended(self._connection, container, was_ready=False)
            log = self._connection.log_tail(container, "all")
        return Checked(somaxconn=command.somaxconn_in(log), effective_ini=effective.printed(log))

    def strict(self, arm: ArmSpec) -> str:
        """What `uwsgi --strict` refuses in the file, without loading the app; empty for nothing.

        Raises `TargetFailed` if uWSGI cannot start.
        """
        argv = command.strictly(arm.target.command)
        with self._target(arm, argv, {}) as (container, _):
            state = self._connection.wait_end(container, STRICT_TIMEOUT_S)
            if state is not None and state["ExitCode"] == 0:
                return ""
            return telling_line(own_words(self._connection, container))

    @contextmanager
    def launch(self, arm: ArmSpec) -> Iterator[DockerTarget]:
        """Start an arm; the end of the context always removes its containers."""
        argv = command.with_ini(arm.target.command, command.SERVE)
        facts, _ = self._host.facts(self._containers)
        ini = IniFile.parse(arm.ini)
        front = front_of(ini, arm.target.port)
        proxy = nginx.proxy_of(front)
        with ExitStack() as stack:
            folder = proxy.folder if proxy is not None else None
            volume = stack.enter_context(self._containers.volume()) if folder else None
            volumes = {folder: volume} if folder and volume else {}
            container, placement = stack.enter_context(self._target(arm, argv, volumes))
            nofile = self._containers.nofile(facts)
            file = None
            if proxy is not None:
                file = proxy.file(
                    workers=placement.client_cpus, nofile=nofile, backlog=arm.limits.somaxconn
                )
            with self._ended_before(container):
                cgroups = self._host.cgroups(container, self._containers)
                options = self._containers.generator_options(
                    container, placement, facts, volume, cgroups.mounts(container)
                )
                image = self._host.images.generator()
                generator = stack.enter_context(self._containers.generator(image, options, file))
            # Both at once: the contexts would remove one after the other.
            stack.callback(self._connection.remove, [container, generator])
            yield DockerTarget(
                connection=self._connection,
                container=container,
                generator=generator,
                client_cpus=placement.client_cpus,
                shares_cpus=placement.shares_cpus,
                front=front,
                nofile=nofile,
                log_file=ini.get("logto2") or ini.get("logto"),
                disk_mb=self._config.disk_mb,
                cgroups=cgroups,
            )

    def reap(self, keep: Collection[str] = ()) -> int:
        """Remove every container of this instance, and its volumes, but for measurements in `keep`.

        Returns how many containers.
        """

        def is_left(found: Mapping[str, Any]) -> bool:
            return (found.get("Labels") or {}).get(labels.MEASUREMENT) not in keep

        mine = labels.query(self._mine)
        left = [found["Id"] for found in self._connection.containers(mine) if is_left(found)]
        removed = self._connection.remove(left)
        volumes = [found["Name"] for found in self._connection.volumes(mine) if is_left(found)]
        self._connection.remove_volumes(volumes)
        return removed

    def kill_measurement(self, measurement: str) -> int:
        """Kill and remove one measurement's containers; a thread that waits for one returns.

        Looks again until none is left: another thread may create the next one. Also ends the
        measurement's pull or build, if this launcher is bound to it.
        """
        self._called_off.set()
        theirs = labels.query({**self._mine, labels.MEASUREMENT: measurement})
        deadline = time.monotonic() + KILL_FOR_S
        removed = 0
        while time.monotonic() < deadline:
            found = [container["Id"] for container in self._connection.containers(theirs)]
            if not found:
                break
            removed += self._connection.remove(found)
        return removed

    @property
    def _containers(self) -> Containers:
        return Containers(self._connection, self._config, self._labels, self._host.guard.watch)

    @contextmanager
    def _target(
        self, arm: ArmSpec, argv: list[str], volumes: Mapping[str, str]
    ) -> Iterator[tuple[str, Placement]]:
        facts, _ = self._host.facts(self._containers)
        placement = place(facts.cpu_ids, arm.limits.cpus)
        containers, needs = self._containers, arm.target
        options = containers.target_options(needs, arm.limits, placement, facts, volumes)
        files = {
            command.INI: arm.ini.encode(),
            command.HARNESS: command.harness_ini(self._config.stats_address).encode(),
            command.PROBE: command.PROBE_INI.encode(),
        }
        image = self._host.images.find(arm.target, arm.image_digest, self._called_off.is_set).id
        with containers.target(image, argv, files, options, needs) as container:
            yield container, placement

    @contextmanager
    def _ended_before(self, target: str) -> Iterator[None]:
        """A target that ended at once has no namespaces to join, and no cgroup: raise why."""
        try:
            yield
        except Infrastructure:
            raise_if_ended(self._connection, target, was_ready=False)
            raise
