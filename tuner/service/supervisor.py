"""Runs `tuner serve`: keeps PostgreSQL, the API and the worker alive as children.

A child that ends starts again. Exit code 2 (wrong settings) ends the service. If this process is
killed, the kernel kills its children.
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

from tuner.nouns.errors import TunerError
from tuner.store.db import EmbeddedPostgres

FIRST_DELAY_S = 0.2
LONGEST_DELAY_S = 5.0
STEADY_AFTER_S = 30.0
"""A child that ran this long was healthy: after its next end the delays start anew."""

GRACE_S = 10.0
LOOK_EVERY_S = 0.1
BAD_SETTINGS = 2
"""The exit code of a child with wrong settings: a new start would not help."""

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)  # here, because a forked child must load nothing

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Backoff:
    """The delays before a child starts again."""

    _next_s: float = FIRST_DELAY_S

    def after(self, ran_for_s: float) -> float:
        """The delay for a child that ended after `ran_for_s` seconds: 0.2, 0.4, ... 5 s."""
        if ran_for_s >= STEADY_AFTER_S:
            self._next_s = FIRST_DELAY_S
        delay_s = self._next_s
        self._next_s = min(2 * delay_s, LONGEST_DELAY_S)
        return delay_s


@dataclass(slots=True)
class Kept:
    """Something to start, watch, and start again after its end."""

    name: str
    start: Callable[[], None]
    poll: Callable[[], int | None]
    clock: Callable[[], float] = time.monotonic
    started_at: float | None = None  # by `clock`; None while it does not run
    _backoff: Backoff = field(default_factory=Backoff)
    _due_at: float = 0.0

    def look(self) -> int | None:
        """Start it if it is due; returns the exit code if it has just ended."""
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
    """One child process in its own session, so that Ctrl-C reaches the supervisor only."""

    name: str
    argv: Sequence[str]
    environ: Mapping[str, str]
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it. Raises `OSError` if the program is missing."""
        self._process = subprocess.Popen(
            self.argv,
            env=dict(self.environ),
            start_new_session=True,
            preexec_fn=dies_with(os.getpid()),  # safe: it only calls prctl
        )

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._process.poll() if self._process else None

    def terminate(self) -> None:
        """Send SIGTERM, if it runs."""
        if self._process and self._process.poll() is None:
            self._process.terminate()

    def finish(self, grace_s: float) -> None:
        """Wait for its end; after `grace_s` kill it and its own children."""
        if self._process is None:
            return
        try:
            self._process.wait(timeout=max(0.0, grace_s))
        except subprocess.TimeoutExpired:
            log.warning("supervisor.killed name=%s", self.name)
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def dies_with(parent: int) -> Callable[[], None]:
    """A `preexec_fn`: the kernel will kill the child when process `parent` ends."""

    def ask() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)

    return ask


def own_command(*arguments: str) -> Sequence[str]:
    """The argv that runs a command of our CLI."""
    return (sys.executable, "-m", "tuner.cli", *arguments)


def run(
    children: Mapping[str, Sequence[str]],
    *,
    environ: Mapping[str, str],
    database: EmbeddedPostgres | None = None,
    prepare: Callable[[], None] = lambda: None,
    grace_s: float = GRACE_S,
) -> int:
    """Keep everything alive until SIGTERM or SIGINT, then stop it; returns the exit code.

    `children` are the argv of each child by name, in the order of their start.
    The database starts first; an error of its first start is raised. Then comes `prepare` (the
    migrations), repeated until it succeeds, then the children. The children stop in reverse
    order, so the worker stops first. The database stops last.
    """
    with _stop_signals() as is_stopping, _database_running(database):
        kept = []
        if database is not None:
            now = time.monotonic()
            kept.append(Kept("postgresql", database.start, database.poll, started_at=now))
        kept.append(Kept("migrations", prepare, lambda: None))
        processes = [ChildProcess(name, argv, environ) for name, argv in children.items()]
        kept += [Kept(p.name, p.start, p.poll) for p in processes]
        try:
            return _watch(kept, is_stopping)
        finally:
            _stop(processes, grace_s)


@contextmanager
def _database_running(database: EmbeddedPostgres | None) -> Iterator[None]:
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
    """The worker first: to give its measurement back it needs the others."""
    for process in reversed(processes):
        process.terminate()
        process.finish(grace_s)


@contextmanager
def _stop_signals() -> Iterator[Callable[[], bool]]:
    """Turn SIGTERM and SIGINT into a flag; a second signal changes nothing."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
