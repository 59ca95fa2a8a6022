"""`tuner.measurement.Launcher` on a Docker Engine."""

import copy
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tuner.engine import command, effective, labels, nginx
from tuner.engine.config import EngineConfig
from tuner.engine.connection import Connection
from tuner.engine.containers import Containers
from tuner.engine.ending import own_words, raise_if_ended
from tuner.engine.failures import telling_line
from tuner.engine.host import FACTS_COMMAND, HostFacts, Placement, place
from tuner.engine.images import Images
from tuner.engine.target import DockerTarget
from tuner.errors import Infrastructure
from tuner.measurement import ArmSpec, BuildInfo, Checked, target_failed
from tuner.model import FailureCode, HostFingerprint, Target
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.topology import front_of

FACTS_TIMEOUT_S = 30.0
STRICT_TIMEOUT_S = 20.0
KILL_FOR_S = 1.5  # another thread may still create containers during a kill


@dataclass(slots=True)
class _Host:
    """What every launch on this host shares, read once."""

    images: Images
    facts: HostFacts | None = None
    info: dict[str, Any] | None = None
    asking: threading.Lock = field(default_factory=threading.Lock)


class DockerLauncher:
    """Starts arms, and removes what earlier ones left. Threads may share one.

    `build_dir` names the folder of a target app.
    """

    def __init__(self, config: EngineConfig, build_dir: Callable[[str], Path]) -> None:
        self._config = config
        self._connection = Connection()
        self._mine = labels.of_instance(config.instance)
        self._labels: Mapping[str, str] = self._mine
        self._host = _Host(Images(self._connection, config, build_dir))

    def for_measurement(self, job: str, measurement: str) -> "DockerLauncher":
        """The same launcher; its containers carry the labels of one measurement."""
        bound = copy.copy(self)
        bound._labels = {**self._mine, labels.JOB: job, labels.MEASUREMENT: measurement}
        return bound

    @property
    def instance(self) -> str:
        """The service that owns these containers."""
        return self._config.instance

    def ping(self) -> None:
        """Raise `Unavailable` if the engine does not answer."""
        with self._connection.api() as api:
            api.ping()

    def close(self) -> None:
        """Close the connections to the engine."""
        self._connection.close()

    def fingerprint(self) -> HostFingerprint:
        """This host's hardware and software."""
        facts, info = self._host_facts()
        return facts.fingerprint(info)

    def inspect(self, target: Target) -> BuildInfo:
        """Build or find the target's image. Raises `TargetFailed`."""
        image = self._host.images.find(target)
        return self._host.images.ask(image, command.program(target.command), self._containers)

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
        facts, info = self._host_facts()
        ini = IniFile.parse(arm.ini)
        front = front_of(ini, arm.target.port)
        proxy = nginx.proxy_of(front)
        with ExitStack() as stack:
            folder = proxy.folder if proxy is not None else None
            volume = stack.enter_context(self._containers.volume()) if folder else None
            volumes = {folder: volume} if folder and volume else {}
            container, placement = stack.enter_context(self._target(arm, argv, volumes))
            options = self._containers.generator_options(container, placement, facts, volume)
            nofile = self._containers.nofile(facts)
            file = None
            if proxy is not None:
                file = proxy.file(
                    workers=placement.client_cpus, nofile=nofile, backlog=arm.limits.somaxconn
                )
            generator = stack.enter_context(self._generator(container, options, file))
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
                cgroup_version=int(info.get("CgroupVersion") or 1),
                cgroup_root=self._config.cgroup_root,
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

        Looks again until none is left: another thread may create the next one.
        """
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
        return Containers(self._connection, self._config, self._labels)

    @contextmanager
    def _target(
        self, arm: ArmSpec, argv: list[str], volumes: Mapping[str, str]
    ) -> Iterator[tuple[str, Placement]]:
        facts, _ = self._host_facts()
        placement = place(facts.cpu_ids, arm.limits.cpus)
        options = self._containers.target_options(arm.limits, placement, facts, volumes)
        files = {
            command.INI: arm.ini.encode(),
            command.HARNESS: command.harness_ini(self._config.stats_address).encode(),
            command.PROBE: command.PROBE_INI.encode(),
        }
        image = self._host.images.find(arm.target)
        with self._containers.target(image, argv, files, options) as container:
            yield container, placement

    @contextmanager
    def _generator(
        self, target: str, options: dict[str, Any], file: nginx.ProxyFile | None
    ) -> Iterator[str]:
        with ExitStack() as stack:
            image = self._host.images.generator()
            try:
                generator = stack.enter_context(self._containers.generator(image, options, file))
            except Infrastructure:
                # A target that ended at once has no namespaces to join.
                raise_if_ended(self._connection, target, was_ready=False)
                raise
            yield generator

    def _host_facts(self) -> tuple[HostFacts, dict[str, Any]]:
        host = self._host
        with host.asking:
            if host.facts is None or host.info is None:
                load_image = self._config.load_image
                _, text = self._containers.run(load_image, FACTS_COMMAND, FACTS_TIMEOUT_S)
                with self._connection.api() as api:
                    host.info = dict(api.info())
                try:
                    host.facts = HostFacts.parse(text)
                except ValueError as error:
                    raise Infrastructure(f"cannot read this host's facts: {error}") from error
            return host.facts, host.info
