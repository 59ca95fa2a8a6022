"""Runs `tuner serve`: PostgreSQL, the API and the worker as children, each kept alive.

A child that dies is started again; one that cannot run with these settings (exit code 2) ends the
service. Should this process itself be killed, the kernel kills its children: nothing is left.
"""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from tuner.errors import TunerError

FIRST_DELAY_S = 0.2
LONGEST_DELAY_S = 5.0
STEADY_AFTER_S = 30.0
"""A child that ran for so long has started well: its next death begins with the first delay."""

GRACE_S = 10.0
LOOK_EVERY_S = 0.1
BAD_SETTINGS = 2
"""The exit code of a child whose settings are wrong: starting it again would change nothing."""

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)  # loaded here: nothing may be loaded after a fork

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """A process to keep alive."""

    name: str
    argv: tuple[str, ...]


class Database(Protocol):
    """An embedded PostgreSQL."""

    @property
    def url(self) -> str:
        """Where it answers; the same after every start."""

    def start(self) -> None:
        """Start it, and return once it answers."""

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""

    def stop(self) -> None:
        """Stop it; nothing happens where it does not run."""


@dataclass(slots=True)
class Backoff:
    """How long to wait before a child is started again."""

    _next_s: float = FIRST_DELAY_S

    def after(self, ran_for_s: float) -> float:
        """The delay for a child that died after `ran_for_s` seconds: 0.2, 0.4, ... 5 s."""
        if ran_for_s >= STEADY_AFTER_S:
            self._next_s = FIRST_DELAY_S
        delay_s = self._next_s
        self._next_s = min(2 * delay_s, LONGEST_DELAY_S)
        return delay_s


@dataclass(slots=True)
class Kept:
    """Anything that is started, watched, and started again when it died."""

    name: str
    start: Callable[[], None]
    poll: Callable[[], int | None]
    clock: Callable[[], float] = time.monotonic
    started_at: float | None = None  # by `clock`; None where it does not run
    _backoff: Backoff = field(default_factory=Backoff)
    _due_at: float = 0.0

    def look(self) -> int | None:
        """Start it where it is due; return the exit code of a death that was just noticed."""
        now = self.clock()
        if self.started_at is None:
            if now >= self._due_at:
                self._begin(now)
            return None
        code = self.poll()
        if code is None:
            return None
        delay_s = self._backoff.after(now - self.started_at)
        self.started_at, self._due_at = None, now + delay_s
        log.warning("supervisor.died name=%s code=%d restart_in_s=%.1f", self.name, code, delay_s)
        return code

    def _begin(self, now: float) -> None:
        try:
            self.start()
        except (TunerError, OSError) as error:
            delay_s = self._backoff.after(0.0)
            self._due_at = now + delay_s
            log.error("supervisor.not_started name=%s error=%s", self.name, error)
            return
        self.started_at = now
        log.info("supervisor.started name=%s", self.name)


@dataclass(slots=True)
class ChildProcess:
    """One child process in a session of its own, so that Ctrl-C reaches only the supervisor."""

    spec: ChildSpec
    environ: Mapping[str, str]
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it. Raises `OSError` where there is no such program."""
        self._process = subprocess.Popen(
            self.spec.argv,
            env=dict(self.environ),
            start_new_session=True,
            preexec_fn=dies_with(os.getpid()),  # it only calls prctl
        )

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._process.poll() if self._process else None

    def terminate(self) -> None:
        """Ask it to end."""
        if self._process and self._process.poll() is None:
            self._process.terminate()

    def finish(self, grace_s: float) -> None:
        """Wait for its end; after `grace_s` kill it, together with what it started."""
        if self._process is None:
            return
        try:
            self._process.wait(timeout=max(0.0, grace_s))
        except subprocess.TimeoutExpired:
            log.warning("supervisor.killed name=%s", self.spec.name)
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def dies_with(parent: int) -> Callable[[], None]:
    """A `preexec_fn` by which the kernel kills the child when process `parent` has died."""

    def ask() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we could ask
            os._exit(1)

    return ask


def python_child(name: str, *arguments: str) -> ChildSpec:
    """A child that runs a command of our own CLI."""
    return ChildSpec(name=name, argv=(sys.executable, "-m", "tuner.cli", *arguments))


def run(
    children: Sequence[ChildSpec],
    *,
    environ: Mapping[str, str],
    database: Database | None = None,
    prepare: Callable[[], None] = lambda: None,
    grace_s: float = GRACE_S,
) -> int:
    """Keep everything alive until SIGTERM or SIGINT, then stop it; the process's exit code.

    The database comes first (and raises what its first start raises), then `prepare` (migrations;
    repeated while it raises an error of ours), then the children: an API without a database says
    so. On the way down the last child (the worker) goes first and the database last.
    """
    with _stop_signals() as is_stopping, _database_running(database):
        kept = []
        if database is not None:
            now = time.monotonic()
            kept.append(Kept("postgresql", database.start, database.poll, started_at=now))
        kept.append(Kept("migrations", prepare, lambda: None))
        processes = [ChildProcess(spec, environ) for spec in children]
        kept += [Kept(p.spec.name, p.start, p.poll) for p in processes]
        try:
            return _watch(kept, is_stopping)
        finally:
            _stop(processes, grace_s)


@contextmanager
def _database_running(database: Database | None) -> Iterator[None]:
    if database is None:
        yield
        return
    try:
        database.start()
        yield
    finally:
        database.stop()


def _watch(kept: Sequence[Kept], is_stopping: Callable[[], bool]) -> int:
    while not is_stopping():
        for one in kept:
            if one.look() == BAD_SETTINGS and one.name != "postgresql":
                log.error("supervisor.gave_up name=%s: its settings are wrong", one.name)
                return BAD_SETTINGS
        time.sleep(LOOK_EVERY_S)
    return 0


def _stop(processes: Sequence[ChildProcess], grace_s: float) -> None:
    """One after the other, the worker first: it hands its measurement back through the rest."""
    for process in reversed(processes):
        process.terminate()
        process.finish(grace_s)


@contextmanager
def _stop_signals() -> Iterator[Callable[[], bool]]:
    """Turn SIGTERM and SIGINT into a flag; a second one does not interrupt the stopping."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
