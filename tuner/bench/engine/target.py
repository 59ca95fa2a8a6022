"""A running target with the load generator's container."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from tuner.bench.engine import commands, counters, failures
from tuner.bench.engine.commands import Executed, execute
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.containers import GENERATOR_USER, ROOT_USER, Containers
from tuner.bench.engine.disk import Disk
from tuner.bench.engine.failures import EXIT_KILLED, own_words, raise_if_ended, telling_line
from tuner.bench.engine.options import TUN, Options
from tuner.bench.measurement import Placement, Usage, cgroups, refusal_in, target_failed
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import APP, FailureCode
from tuner.uwsgi.topology import Front, Topology

READ_TIMEOUT_S = 20.0
REFUSAL_LINES = 500  # of each log: a service that refuses connections says so again and again
END_S = 2.0  # the engine notices the end of a target within this time


@dataclass(slots=True)
class DockerTarget:
    """`tuner.bench.measurement.RunningTarget` on a Docker Engine."""

    connection: Connection
    container: str
    generator: str
    placement: Placement
    front: Front  # how the load reaches uWSGI
    nofile: int  # open files that the target may have
    client_nofile: int  # open files that the load generator may have
    log_file: str | None  # uWSGI's log, if it does not log to its output
    disk: Disk
    cgroups: counters.Cgroups
    services: Mapping[str, str] = field(default_factory=dict)  # containers by name
    delay: str | None = None  # the container that delays the packets to services
    # Where nginx runs as root, with its capabilities, only root's processes have one more than the
    # target's: no other may trace them.
    generator_user: str = GENERATOR_USER
    _has_answered: bool = False
    _effective_ini: str | None = field(default=None)

    @property
    def cgroup_folders(self) -> dict[str, str]:
        """Where the generator's container sees the cgroups, by the names of containers."""
        return {name: counters.mount_of(each) for name, each in self._containers.items()}

    def run_beside(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        files: Mapping[str, bytes] | None = None,
        uid: int | None = None,
    ) -> str:
        """Run a command in the generator's container; the end of the target ends the wait.

        `files`, by absolute path below /tmp, are there when it starts. With a `uid` it
        runs as that user, who may signal his processes in the target and needs no capability.
        Raises `TargetFailed`, or `Infrastructure` with the command's own message.
        """
        if files:
            self._put_beside(files)
        done = self._execute(argv, timeout_s, None if uid is None else f"{uid}:{uid}")
        if done.exit_code == 0:
            self._raise_for_nginx()
            self._has_answered = True
            return done.stdout
        self._raise_for_end(done)
        words = done.stderr.strip()[-500:]
        raise Infrastructure(
            f"the load generator's container failed (exit {done.exit_code}): {words}"
        )

    def run_inside(self, argv: Sequence[str], *, timeout_s: float) -> bool:
        """Run a command as root in the target's own container; whether it succeeded."""
        done = execute(
            self.connection,
            self.container,
            argv,
            user=ROOT_USER,
            timeout_s=timeout_s,
            meanwhile=self._look,
        )
        return done.exit_code == 0

    def _put_beside(self, files: Mapping[str, bytes]) -> None:
        try:
            self.connection.put(
                self.generator, commands.archive(files, owner=commands.GENERATOR_UID)
            )
        except Infrastructure:
            self._raise_for_end(Executed(None, "", ""))
            raise

    def _raise_for_end(self, done: Executed) -> None:
        """Raise the cause of a failure if a container has ended."""
        if done.exit_code in (None, EXIT_KILLED):
            # The target's end kills the generator's processes first; the engine notices it later.
            self.connection.wait_end(self.container, END_S)
        self.raise_if_ended()
        self._raise_for_nginx()

    def _raise_for_nginx(self) -> None:
        """Raise why nginx does not start. It tries for 2.5 s; another server may use its port."""
        if self._has_answered or self.front.topology is not Topology.NGINX:
            return
        log = self.connection.log_tail(self.generator, "all")
        fatal = [line.strip() for line in log.splitlines() if "[emerg]" in line]
        if fatal:
            raise target_failed(
                FailureCode.NOT_READY,
                f"nginx in front of the file's `socket` does not start: {fatal[0]}; if the command"
                " gives uWSGI an HTTP address, write it into the file",
                log,
            )

    def raise_if_ended(self) -> None:
        """Raise why the target ended, if it has ended."""
        raise_if_ended(
            self.connection,
            self.container,
            was_ready=self._has_answered,
            is_uwsgi=self.front.topology is not Topology.OTHER,
        )

    def log_tail(self) -> str:
        """The last lines of the target's own output."""
        return own_words(self.connection, self.container)

    def effective_ini(self) -> str:
        """The effective options that uWSGI printed at its start; empty if it printed none.

        Call it before the load: each request may write a line into the same log.
        """
        if self._effective_ini is None:
            found = failures.printed(self.connection.log_tail(self.container, "all"))
            if not found and self.log_file is not None:
                found = failures.printed(self.connection.read(self.container, self.log_file))
            self._effective_ini = found
        return self._effective_ini

    def usage(self) -> Usage:
        """Read the target's cgroup from here, else from the generator's container (45 ms)."""
        return replace(self._usage_of(self.container), engine_cpu_s=counters.used_s())

    def cpu_speed(self) -> AbstractContextManager[counters.Speeds]:
        """Sample the target's CPU; nothing where it has several, or runs on another machine."""
        return counters.sampled(self.placement.only_cpu if self.cgroups.root is not None else None)

    def service_usage(self) -> dict[str, Usage]:
        """The same of each service, by name. Raises if packets to them are no longer delayed."""
        if self.delay is not None:
            check_delay(self.connection, self.delay)
        running = self.services.items()
        return {name: self._usage_of(container) for name, container in running}

    def refusal(self) -> str | None:
        """A line of the app's or a service's log by which a service refused connections."""
        for container in (self.container, *self.services.values()):
            if line := refusal_in(self.connection.log_tail(container, REFUSAL_LINES)):
                return line
        return None

    def resume(self) -> None:
        """Let the services run."""
        self._each_service(self.connection.unpause)

    def rest(self) -> None:
        """Pause the services: their own work would disturb the arm that is measured."""
        self._each_service(self.connection.pause)

    def _each_service(self, change: Callable[[str], None]) -> None:
        if self.services:
            with ThreadPoolExecutor(max_workers=4) as pool:
                list(pool.map(change, self.services.values()))

    def _usage_of(self, container: str) -> Usage:
        try:
            return cgroups.usage_of(self._texts(container))
        except (OSError, KeyError, ValueError) as error:
            self._raise_for_end(Executed(None, "", ""))
            raise Infrastructure(f"cannot read a container's cgroup: {error!r}") from error

    def check_disk(self) -> dict[str, float]:
        """What each service has written to disk, in MB.

        Raises `TargetFailed` once the target or a service has written more than it may.
        """
        written = self.disk.check_written(self._containers)
        return {name: mb for name, mb in written.items() if name in self.services}

    @property
    def _containers(self) -> dict[str, str]:
        return {APP: self.container, **self.services}

    def _look(self) -> None:
        self.raise_if_ended()
        self.disk.check_room(self._containers)

    def _texts(self, container: str) -> dict[str, str]:
        files = self.cgroups.files(container)
        if self.cgroups.root is not None:
            return counters.read_local(self.cgroups.root, files)
        paths = [f"{counters.mount_of(container)}/{file}" for file in files]
        return counters.split_shown(self._beside(["sh", "-c", counters.SHOW_SCRIPT, "sh", *paths]))

    def _execute(self, argv: Sequence[str], timeout_s: float, user: str | None = None) -> Executed:
        return execute(
            self.connection,
            self.generator,
            argv,
            user=user or self.generator_user,
            timeout_s=timeout_s,
            meanwhile=self._look,
        )

    def _beside(self, argv: Sequence[str]) -> str:
        done = self._execute(argv, READ_TIMEOUT_S)
        if done.exit_code != 0 and not done.stdout:
            self._raise_for_end(done)
            raise Infrastructure(f"cgroup files: {done.stderr.strip()[-300:]}")
        return done.stdout


# ---- The way from an app to its services: a container of ours delays the packets

READY_S = 20.0
POLL_S = 0.02


@contextmanager
def delayed(
    containers: Containers,
    image: str,
    options: Options,
    target: str,
    round_trips_ms: Mapping[str, float],
) -> Iterator[str | None]:
    """The container that delays a target's packets; None where no service is delayed.

    Raises `TargetFailed` on a host that cannot do so, `Infrastructure` if the target has ended.
    """
    if not round_trips_ms:
        yield None
        return
    with ExitStack() as stack:
        created = containers.delay(image, options.delay(target), round_trips_ms)
        try:
            container = stack.enter_context(created)
        except Infrastructure as error:
            raise why_not(str(error)) or error from error
        _wait(containers.connection, container)
        yield container


def why_not(explanation: str) -> TargetFailed | None:
    """The failure of a host that cannot delay packets; None if something else is at fault."""
    if TUN not in explanation:
        return None
    return target_failed(
        FailureCode.WORKLOAD_REFUSED,
        f"this host cannot delay the packets to services: it needs {TUN} (load the kernel's module"
        f" `tun`); or give each service `rtt_ms: 0` ({explanation})",
    )


def check_delay(connection: Connection, container: str) -> None:
    """Raise if the program no longer delays packets: they would go on without a delay."""
    state = connection.state(container)
    if state is None or state["ExitCode"] == EXIT_KILLED:
        raise Infrastructure("the container that delays packets was removed, or the target ended")
    if not state["Running"]:
        said = telling_line(connection.log_tail(container, 20))
        raise why_not(said) or Infrastructure(f"the program that delays packets ended: {said}")


def _wait(connection: Connection, container: str) -> None:
    """Until packets are delayed: the program says so in its only line."""
    deadline = time.monotonic() + READY_S
    while not connection.log_tail(container, 1):
        check_delay(connection, container)
        if time.monotonic() > deadline:
            raise Infrastructure(f"the program that delays packets did not start in {READY_S:g} s")
        time.sleep(POLL_S)
    check_delay(connection, container)
