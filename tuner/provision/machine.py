"""The machine that is set up: steps, the one door to other programs, Debian packages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO

from tuner.provision.host import Host

# ---- One line a step, and one kind of failure


class StepFailed(Exception):
    """A step cannot go on, for a reason that was foreseen; shown to people without a stack trace.

    `what` names the step, `why` quotes the evidence (often the last lines of a program), `todo` is
    the next thing to do.
    """

    def __init__(self, what: str, why: str, todo: str) -> None:
        super().__init__(f"{what}: {why} -> {todo}")
        self.what = what
        self.why = why
        self.todo = todo


class Steps:
    """Prints the progress of a set-up to one stream; steps may run side by side."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def ok(self, text: str) -> None:
        self._line("ok", text)

    def working(self, text: str) -> None:
        """Announce something slow, so that a silent minute is not taken for a hang."""
        self._line("..", text)

    def failed(self, failure: StepFailed) -> None:
        why = failure.why.strip().replace("\n", "\n     ")
        todo = failure.todo.strip().replace("\n", "\n        ")
        self._line("!!", f"{failure.what}: {why}\n     -> {todo}")

    @contextmanager
    def slow(self, doing: str, done: str) -> Iterator[None]:
        """Announce `doing`, and report `done` with the seconds it took unless the body raises."""
        self.working(doing)
        started = time.monotonic()
        yield
        self.ok(f"{done} ({time.monotonic() - started:.0f} s)")

    def _line(self, mark: str, text: str) -> None:
        with self._lock:
            self._stream.write(f"[{mark}] {text}\n")
            self._stream.flush()


# ---- The one door to other programs
#
# Their whole output goes to a log file; people see its last lines when a step fails.

_SHOWN_LINES = 15
_NOT_FOUND = 127
_POLL_S = 0.02
# An ordinary user's PATH often lacks these, and that is where dockerd lives.
_SYSTEM_DIRECTORIES = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Finished:
    """How a program ended; `output` is stdout and stderr together."""

    code: int
    output: str
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.code == 0 and not self.timed_out

    @property
    def last_lines(self) -> str:
        lines = [line.rstrip() for line in self.output.splitlines() if line.strip()]
        return "\n".join(lines[-_SHOWN_LINES:])


class Commands:
    """Programs of this machine; tests script them. `env` is added to our own environment."""

    def __init__(self, log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")
        self.log = log
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the programs that run, and start no more: another thread's step has failed."""
        self._stopped.set()

    def which(self, name: str) -> str | None:
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_SYSTEM_DIRECTORIES])
        return shutil.which(name, path=path)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 60.0,
        answer_within_s: float | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run to its end or `timeout_s`.

        With `answer_within_s`, give up earlier when nothing at all was printed.
        """
        # Not a pipe: a daemon that a program leaves behind would keep it open for ever.
        with tempfile.TemporaryFile() as captured:
            try:
                process = self._start(argv, captured, cwd, env)
            except OSError as error:
                finished = Finished(_NOT_FOUND, f"{argv[0]}: {error.strerror}")
            else:
                in_time = self._wait(process, captured, timeout_s, answer_within_s)
                captured.seek(0)
                output = captured.read().decode(errors="replace")
                finished = Finished(process.wait(), output, not in_time)
        with self.log.open("a") as log:
            log.write(f"$ {shlex.join(argv)}\n{finished.output.rstrip()}\n= {finished.code}\n")
        return finished

    def must(
        self,
        argv: Sequence[str],
        *,
        what: str,
        todo: str,
        timeout_s: float = 60.0,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run a program that has to succeed.

        Raises StepFailed with the program's last lines and the log's path when it does not.
        """
        finished = self.run(argv, timeout_s=timeout_s, cwd=cwd, env=env)
        if finished.ok:
            return finished
        raise StepFailed(what, self.evidence(argv, finished, timeout_s), todo)

    def evidence(self, argv: Sequence[str], finished: Finished, timeout_s: float) -> str:
        """What a person needs in order to judge a failed program."""
        in_time = f"ended with {finished.code}"
        ending = f"did not end within {timeout_s:.0f} s" if finished.timed_out else in_time
        shown = f"\n{finished.last_lines}" if finished.last_lines else ""
        return f"`{shlex.join(argv)}` {ending}{shown}\n(everything it printed: {self.log})"

    def start_daemon(self, argv: Sequence[str], log: Path) -> None:
        """Start a program that outlives us, in its own session."""
        with log.open("ab") as output:
            self._start(argv, output)

    def _start(
        self,
        argv: Sequence[str],
        output: IO[bytes],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.which(argv[0]) or argv[0], *argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )

    def _wait(
        self,
        process: subprocess.Popen[bytes],
        captured: IO[bytes],
        timeout_s: float,
        answer_within_s: float | None,
    ) -> bool:
        """Wait for the end; False if we ended the program because a time ran out."""
        started = time.monotonic()
        try:
            while process.poll() is None:
                waited_s = time.monotonic() - started
                silent = os.fstat(captured.fileno()).st_size == 0
                if (
                    self._stopped.is_set()
                    or waited_s > timeout_s
                    or (answer_within_s is not None and silent and waited_s > answer_within_s)
                ):
                    _end(process)
                    return False
                time.sleep(_POLL_S)
        except BaseException:  # Ctrl-C does not reach the program: it has its own process group
            _end(process)
            raise
        return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and its children: a killed `cargo` alone would leave compilers behind."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(5)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# ---- Debian packages, installed only by root and only what a step names

_QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
# Never take a package away, and wait for an unattended upgrade that is running.
_OPTIONS = ("-y", "--no-install-recommends", "--no-remove", "-o", "DPkg::Lock::Timeout=120")


class Apt:
    """The package lists are refreshed once per run, and only when something has to be installed."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._refreshed = False
        self._alone = threading.RLock()  # apt-get itself does not wait for every lock

    def install(self, packages: Sequence[str], *, what: str) -> None:
        """Install the packages.

        Raises StepFailed with apt's last lines.
        """
        with self._alone:
            self.refresh()
            self._commands.must(
                ["apt-get", "install", *_OPTIONS, *packages],
                what=what,
                todo=f"make `apt-get install {' '.join(packages)}` succeed,"
                " then run the same command again",
                timeout_s=900,
                env=_QUIET,
            )

    def refresh(self) -> None:
        """A third party's broken source may fail here; `install` says whether ours can be had."""
        with self._alone:
            if not self._refreshed:
                self._commands.run(["apt-get", "update"], timeout_s=300, env=_QUIET)
                self._refreshed = True

    def candidate(self, package: str) -> tuple[int, int] | None:
        """Major and minor version that would be installed, None when there is no such package."""
        self.refresh()
        policy = self._commands.run(["apt-cache", "policy", package]).output
        found = re.search(r"Candidate: (?:\d+:)?(\d+)\.(\d+)", policy)
        return (int(found[1]), int(found[2])) if found else None


# ---- The machine that is set up: what every step works with


@dataclass
class Machine:
    """Facts, programs, packages, and where progress is reported.

    `apps` are the product's own target apps, where they are not in the checkout.
    """

    steps: Steps
    commands: Commands
    host: Host
    checkout: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    apps: Path | None = None
    apt: Apt = field(init=False)

    def __post_init__(self) -> None:
        self.apt = Apt(self.commands)
        # The two that every step calls.
        self.run, self.which = self.commands.run, self.commands.which
