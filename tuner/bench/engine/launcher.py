"""`tuner.bench.measurement.Launcher` on a Docker Engine."""

import copy
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tuner.bench.engine import commands, failures, nginx
from tuner.bench.engine.config import (
    JOB,
    MEASUREMENT,
    STATE,
    EngineConfig,
    of_instance,
    our_containers,
    query,
)
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.containers import generator_user
from tuner.bench.engine.disk import Disk
from tuner.bench.engine.failures import own_words, raise_if_ended, telling_line
from tuner.bench.engine.folders import AppFolders
from tuner.bench.engine.guard import Guard, no_image
from tuner.bench.engine.host import check_cpus, check_memory, check_open_files
from tuner.bench.engine.images import Images
from tuner.bench.engine.starting import Host, Starting
from tuner.bench.engine.states import Copies, States
from tuner.bench.engine.target import DockerTarget, delayed
from tuner.bench.measurement import ArmSpec, BuildInfo, Checked, target_failed
from tuner.nouns.errors import Infrastructure, TunerError
from tuner.nouns.model import BYTES_PER_MB, FailureCode, HostFingerprint, Target
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.topology import Front, Topology, front_of

STRICT_TIMEOUT_S = 20.0


class DockerLauncher:
    """Starts arms, and removes what earlier ones left. Threads may share one.

    `build_dir` names the folder from which a target app is built, and `app_dir` that of its
    target.yaml; default: the same.
    """

    def __init__(
        self,
        config: EngineConfig,
        build_dir: Callable[[str], Path],
        app_dir: Callable[[str], Path] | None = None,
    ) -> None:
        self._config = config
        self._connection = Connection(config.secrets.values())
        self._disk = Disk(self._connection, config)
        self._mine = of_instance(config.instance)
        images = Images(self._connection, config, build_dir)
        guard = Guard(self._connection, config)
        copies = Copies(self._connection, config)
        states = States(self._connection, config, copies)
        folders = AppFolders(app_dir or build_dir)
        self._host = Host(self._connection, config, images, guard, states, folders)
        self._starting = Starting(self._host, self._disk, self._mine)

    def for_measurement(self, job: str, measurement: str) -> "DockerLauncher":
        """The same launcher; its containers carry the labels of one measurement."""
        bound = copy.copy(self)
        its = {**self._mine, JOB: job, MEASUREMENT: measurement}
        bound._starting = Starting(self._host, self._disk, its)
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
        """Measure alone on this machine.

        Raises `Infrastructure` while another service measures, `Unavailable` without the engine.
        """
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
        facts, info = self._host.facts(self._starting.containers)
        return facts.fingerprint(info)

    def check_room(self, arms: Sequence[ArmSpec]) -> None:
        """Refuse arms that this host has no room for. Raises `TargetFailed`.

        Their memory must fit together, CPUs and open files of each alone. One load generator works
        at a time; the others wait.
        """
        facts, info = self._host.facts(self._starting.containers)
        for arm in arms:
            check_cpus(facts, arm.limits, arm.target)
            check_open_files(facts, arm.limits)
        check_memory(
            int(info["MemTotal"]) // BYTES_PER_MB,
            [arm.limits.memory_mb for arm in arms],
            services_mb=[arm.target.services_memory_mb for arm in arms],
            working_mb=self._config.generator_memory_mb,
            waiting_mb=self._config.generator_waiting_mb,
        )

    def inspect(self, target: Target) -> BuildInfo:
        """Build or find the target's image. Raises `TargetFailed`."""
        images, found = self._host.images, self._starting.found(target)
        started = () if target.command else self._starting.started_with(found)
        if target.is_uwsgi:
            program = commands.program(target.command or started)
            info = images.ask(found.id, program, self._starting.containers)
        else:
            info = BuildInfo(image_digest=found.digest, uwsgi_version="", options=())
        data = self._starting.parts(target, found).sha256 if target.has_data else None
        return replace(info, image_digest=found.digest, data_sha256=data, command=started)

    def image(self, target: Target) -> str | None:
        """The digest of the target's image, without a build or a pull; None: not known here.

        Raises `NotFound` for an app that this host does not know, `Unavailable` without an engine.
        """
        return self._host.images.named(target)

    def own_file(self, target: Target) -> str:
        """The text of the file at `ini_path` in the target's image. Raises `TargetFailed`."""
        found = self._starting.found(target)
        return self._starting.containers.file_in(found.id, f"{target.ini_path}", target.name)

    def check(self, arm: ArmSpec) -> Checked:
        """Let uWSGI load the file and the app, without serving. Raises `TargetFailed`.

        With lazy-apps only the workers load the app, so its faults show at launch.
        """
        nginx.proxy_of(front_of(IniFile.parse(arm.ini), arm.target.port))
        argv = commands.with_ini(arm.target.command, commands.CHECK)
        timeout_s = self._config.check_timeout_s
        with self._starting.target(arm, argv, {}, serves=False) as (container, _, _):
            state = self._connection.wait_end(container, timeout_s)
            if state is None:
                words = commands.took_too_long(arm.target.ini_path, timeout_s)
                tail = own_words(self._connection, container)
                raise target_failed(FailureCode.NOT_READY, words, tail)
            if state["ExitCode"] != 0:
                raise_if_ended(self._connection, container, was_ready=False)
            log = self._connection.log_tail(container, "all")
        return Checked(somaxconn=commands.somaxconn_in(log), effective_ini=failures.printed(log))

    def strict(self, arm: ArmSpec) -> str:
        """What `uwsgi --strict` refuses in the file, without loading the app; empty for nothing.

        Raises `TargetFailed` if uWSGI cannot start.
        """
        its, starting = arm.target, self._starting
        started = its.command or starting.started_with(starting.found(its, arm.image_digest))
        argv = commands.strictly(started)
        alone = replace(arm, target=its.without_data().model_copy(update={"ini_path": None}))
        with self._starting.target(alone, argv, {}, serves=False) as (container, _, _):
            state = self._connection.wait_end(container, STRICT_TIMEOUT_S)
            if state is not None and state["ExitCode"] == 0:
                return ""
            return telling_line(own_words(self._connection, container))

    @contextmanager
    def launch(self, arm: ArmSpec) -> Iterator[DockerTarget]:
        """Start an arm; the end of the context always removes its containers."""
        argv = commands.with_ini(arm.target.command, commands.SERVE)
        front = _front_of(arm)
        proxy = nginx.proxy_of(front)
        folder = proxy.folder if proxy is not None else None
        volumes, containers = {}, self._starting.containers
        with ExitStack() as stack:
            if folder:
                shared = containers.volume(in_memory=arm.target.in_memory.get(folder))
                volumes[folder] = stack.enter_context(shared)
            target = self._starting.target(arm, argv, volumes, serves=True)
            container, options, beside = stack.enter_context(target)
            file = options.proxy_file(proxy, arm.limits) if proxy is not None else None
            with self._ended_before(arm, container):
                cgroups = self._host.cgroups(container, containers)
                seen = cgroups.mounts([container, *beside.services.values()])
                its = options.generator(container, volumes.get(folder or ""), seen)
                image = self._host.images.generator()
                generator = stack.enter_context(containers.generator(image, its, file))
                way = delayed(containers, image, options, container, arm.target.delayed_ms)
                delay = stack.enter_context(way)
            # All at once: the contexts would remove one after the other.
            others = [delay, *beside.services.values()] if delay else beside.services.values()
            stack.callback(self._connection.remove, [container, generator, *others])
            yield DockerTarget(
                connection=self._connection,
                container=container,
                generator=generator,
                placement=options.placement,
                front=front,
                nofile=options.nofile_of(arm.limits),
                client_nofile=options.nofile,
                log_file=_log_file(arm),
                disk=self._disk,
                cgroups=cgroups,
                services=beside.services,
                delay=delay,
                generator_user=generator_user(file),
            )

    def reap(self, keep: Collection[str] = ()) -> int:
        """Remove every container of this instance, but for measurements in `keep`.

        Also their networks, and their volumes but for the data of jobs. Returns how many
        containers.
        """

        return reap(self._connection, self._mine, keep)

    def end_jobs(self, keep: Collection[str]) -> None:
        """Remove the data that arms of all jobs but these start with."""
        self._host.states.end(keep)

    def kill_measurement(self, measurement: str) -> int:
        """Kill and remove one measurement's containers; a thread that waits for one returns.

        Also ends the measurement's pull or build, if this launcher is bound to it.
        """
        self._starting.called_off.set()
        theirs = our_containers({**self._mine, MEASUREMENT: measurement})
        return remove_all(self._connection, theirs)

    @contextmanager
    def _ended_before(self, arm: ArmSpec, target: str) -> Iterator[None]:
        """A target that ended at once has no namespaces to join, and no cgroup: raise why."""
        try:
            yield
        except Infrastructure:
            is_uwsgi = arm.target.is_uwsgi
            raise_if_ended(self._connection, target, was_ready=False, is_uwsgi=is_uwsgi)
            raise


def _log_file(arm: ArmSpec) -> str | None:
    ini = IniFile.parse(arm.ini)
    return ini.get("logto2") or ini.get("logto")


def _front_of(arm: ArmSpec) -> Front:
    """How the load reaches the arm; another server than uWSGI is asked on its port."""
    if not arm.target.is_uwsgi:
        return Front(topology=Topology.OTHER, port=arm.target.port)
    return front_of(IniFile.parse(arm.ini), arm.target.port)


# ---- Removes what measurements have left: containers, networks and volumes, by their labels

KILL_FOR_S = 1.5  # another thread may still create containers during a kill


def remove_all(connection: Connection, filters: Mapping[str, Any]) -> int:
    """Kill and remove the containers that match; returns how many.

    Looks again until none is left: another thread may create the next one.
    """
    deadline = time.monotonic() + KILL_FOR_S
    removed = 0
    while time.monotonic() < deadline:
        found = [container["Id"] for container in connection.containers(filters)]
        if not found:
            break
        removed += connection.remove(found)
    return removed


def reap(connection: Connection, mine: Mapping[str, str], keep: Collection[str]) -> int:
    """Remove what has the labels `mine`, but for measurements in `keep`; how many containers.

    Volumes with the data of jobs stay.
    """

    def is_left(found: Mapping[str, Any]) -> bool:
        return (found.get("Labels") or {}).get(MEASUREMENT) not in keep

    def is_of_an_arm(found: Mapping[str, Any]) -> bool:
        return is_left(found) and STATE not in (found.get("Labels") or {})

    wanted = query(mine)
    containers = connection.containers(our_containers(mine))
    left = [found["Id"] for found in containers if is_left(found)]
    removed = connection.remove(left)
    volumes = connection.volumes(wanted)
    connection.remove_volumes(each["Name"] for each in volumes if is_of_an_arm(each))
    networks = connection.networks(wanted)
    connection.remove_networks(each["Id"] for each in networks if is_left(each))
    return removed
