"""A running target with the load generator's container."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from tuner.engine import cgroup, command, effective, own_cpu
from tuner.engine.connection import Connection
from tuner.engine.containers import CGROUP_MOUNT, NOBODY_USER
from tuner.engine.ending import own_words, raise_if_ended
from tuner.engine.executing import Executed, execute
from tuner.engine.failures import EXIT_KILLED
from tuner.errors import Infrastructure
from tuner.measurement import Usage, target_failed
from tuner.model import FailureCode
from tuner.uwsgi.topology import Front, Topology

READ_TIMEOUT_S = 20.0
END_S = 2.0  # the engine notices the end of a target within this time


@dataclass(slots=True)
class DockerTarget:
    """`tuner.measurement.RunningTarget` on a Docker Engine."""

    connection: Connection
    container: str
    generator: str
    client_cpus: int
    shares_cpus: bool
    front: Front  # how the load reaches uWSGI
    nofile: int  # open files that target and load generator may have each
    log_file: str | None  # uWSGI's log, if it does not log to its output
    cgroup_version: int
    cgroup_root: Path
    _has_answered: bool = False
    _cgroup_files: tuple[str, ...] | None = field(default=None)
    _effective_ini: str | None = field(default=None)

    def run_beside(
        self, argv: Sequence[str], *, timeout_s: float, files: Mapping[str, bytes] | None = None
    ) -> str:
        """Run a command in the generator's container; the end of the target ends the wait.

        `files`, by absolute path below /tmp, are there when it starts. Raises `TargetFailed`, or
        `Infrastructure` with the command's own message.
        """
        if files:
            self._put_beside(files)
        done = self._execute(argv, timeout_s)
        if done.exit_code == 0:
            self._raise_for_nginx()
            self._has_answered = True
            return done.stdout
        self._raise_for_end(done)
        words = done.stderr.strip()[-500:]
        raise Infrastructure(
            f"the load generator's container failed (exit {done.exit_code}): {words}"
        )

    def _put_beside(self, files: Mapping[str, bytes]) -> None:
        try:
            self.connection.put(self.generator, command.archive(files, owner=command.NOBODY))
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
        raise_if_ended(self.connection, self.container, was_ready=self._has_answered)

    def log_tail(self) -> str:
        """The last lines of the target's own output."""
        return own_words(self.connection, self.container)

    def effective_ini(self) -> str:
        """The effective options that uWSGI printed at its start; empty if it printed none.

        Call it before the load: each request may write a line into the same log.
        """
        if self._effective_ini is None:
            found = effective.printed(self.connection.log_tail(self.container, "all"))
            if not found and self.log_file is not None:
                found = effective.printed(self.connection.read(self.container, self.log_file))
            self._effective_ini = found
        return self._effective_ini

    def usage(self) -> Usage:
        """Read the target's cgroup from here, else from the generator's container (45 ms)."""
        if self._cgroup_files is None:
            self._cgroup_files = self._find_cgroup()
        try:
            found = cgroup.usage_of(self._texts(self._cgroup_files))
        except (KeyError, ValueError) as error:
            raise Infrastructure(f"cannot read the target's cgroup: {error!r}") from error
        return replace(found, engine_cpu_s=own_cpu.used_s())

    def _find_cgroup(self) -> tuple[str, ...]:
        for files in cgroup.candidates(self.cgroup_version, self.container):
            try:
                self._texts(files)
            except (Infrastructure, ValueError):
                continue
            return files
        found = self._beside(
            cgroup.find_command(CGROUP_MOUNT, self.cgroup_version, self.container)
        ).split()
        if not found:
            raise Infrastructure("the target's cgroup is not in the host's /sys/fs/cgroup")
        root = CGROUP_MOUNT if self.cgroup_version == 2 else f"{CGROUP_MOUNT}/memory"
        return cgroup.files_at(self.cgroup_version, str(PurePosixPath(found[0]).relative_to(root)))

    def _texts(self, files: Sequence[str]) -> dict[str, str]:
        try:
            return cgroup.read_local(self.cgroup_root, files)
        except OSError:
            paths = [f"{CGROUP_MOUNT}/{file}" for file in files]
            shown = self._beside(["sh", "-c", cgroup.SHOW_SCRIPT, "sh", *paths])
            return cgroup.split_shown(shown, CGROUP_MOUNT)

    def _execute(self, argv: Sequence[str], timeout_s: float) -> Executed:
        return execute(
            self.connection,
            self.generator,
            argv,
            user=NOBODY_USER,
            timeout_s=timeout_s,
            meanwhile=self.raise_if_ended,
        )

    def _beside(self, argv: Sequence[str]) -> str:
        done = self._execute(argv, READ_TIMEOUT_S)
        if done.exit_code != 0 and not done.stdout:
            self._raise_for_end(done)
            raise Infrastructure(f"cgroup files: {done.stderr.strip()[-300:]}")
        return done.stdout
