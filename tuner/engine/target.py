"""A target that runs, with the load generator's container beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tuner.engine import cgroup
from tuner.engine.connection import Connection
from tuner.engine.containers import CGROUP_MOUNT
from tuner.engine.ending import LOG_TAIL_LINES, raise_if_ended
from tuner.engine.executing import execute
from tuner.engine.host import Placement
from tuner.errors import Infrastructure
from tuner.measurement import Usage

READ_TIMEOUT_S = 20.0


@dataclass(slots=True)
class DockerTarget:
    """`tuner.measurement.RunningTarget` on a Docker Engine."""

    connection: Connection
    container: str
    generator: str
    placement: Placement
    cgroup_version: int
    cgroup_root: Path
    _has_answered: bool = False
    _cgroup_files: tuple[str, ...] | None = field(default=None)

    @property
    def client_cpus(self) -> int:
        """CPUs that the load generator may use."""
        return self.placement.client_cpus

    @property
    def shares_cpus(self) -> bool:
        """Whether target and load generator could not be kept on different CPUs."""
        return self.placement.shares_cpus

    def run_beside(self, argv: Sequence[str], *, timeout_s: float) -> str:
        """Run a command in the generator's container; a target that ends meanwhile ends the wait.

        Raises `TargetFailed`, or `Infrastructure` with the command's own words.
        """
        done = execute(
            self.connection,
            self.generator,
            argv,
            timeout_s=timeout_s,
            meanwhile=self.raise_if_ended,
        )
        if done.exit_code == 0:
            self._has_answered = True
            return done.stdout
        self.raise_if_ended()
        words = done.stderr.strip()[-500:]
        raise Infrastructure(
            f"the load generator's container failed (exit {done.exit_code}): {words}"
        )

    def raise_if_ended(self) -> None:
        """Raise what the target's end means, where it has ended."""
        raise_if_ended(self.connection, self.container, was_ready=self._has_answered)

    def log_tail(self) -> str:
        """The last lines of the target's own output."""
        return self.connection.log_tail(self.container, LOG_TAIL_LINES)

    def usage(self) -> Usage:
        """Read the target's cgroup: this process's view of it, else the generator's (45 ms)."""
        if self._cgroup_files is None:
            self._cgroup_files = self._find_cgroup()
        try:
            return cgroup.usage_of(self._texts(self._cgroup_files))
        except (KeyError, ValueError) as error:
            raise Infrastructure(f"the target's cgroup cannot be read: {error!r}") from error

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
            raise Infrastructure("the target's cgroup is not below the host's /sys/fs/cgroup")
        root = CGROUP_MOUNT if self.cgroup_version == 2 else f"{CGROUP_MOUNT}/memory"
        return cgroup.files_at(self.cgroup_version, str(PurePosixPath(found[0]).relative_to(root)))

    def _texts(self, files: Sequence[str]) -> dict[str, str]:
        try:
            return cgroup.read_local(self.cgroup_root, files)
        except OSError:
            paths = [f"{CGROUP_MOUNT}/{file}" for file in files]
            shown = self._beside(["sh", "-c", cgroup.SHOW_SCRIPT, "sh", *paths])
            return cgroup.split_shown(shown, CGROUP_MOUNT)

    def _beside(self, argv: Sequence[str]) -> str:
        done = execute(
            self.connection,
            self.generator,
            argv,
            timeout_s=READ_TIMEOUT_S,
            meanwhile=self.raise_if_ended,
        )
        if done.exit_code != 0 and not done.stdout:
            self.raise_if_ended()
            raise Infrastructure(f"cgroup files: {done.stderr.strip()[-300:]}")
        return done.stdout
