"""A job until it ends: on the service, or on one of its own for the time of a command."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from rich.console import Console

from tuner.cli.printing import error_lines, known_lines, progress, sight, submitted_lines
from tuner.cli.shared import print_on, say
from tuner.client import Asked, Client
from tuner.nouns.errors import Conflict, Infrastructure, Unavailable
from tuner.nouns.model import FailureCode, JobKind
from tuner.nouns.schemas import JobAnswer
from tuner.service.settings import Settings

# ---- A service for one command: `tuner serve` on a free port, stopped at the end

READY_WITHIN_S = 90.0
STOP_WITHIN_S = 25.0

_OF_ANOTHER = frozenset(
    f"TUNER_{name}"
    for name in (
        *("DATABASE_URL", "POOL", "URL", "BASE_PATH"),
        *("API_KEY", "API_KEY_FILE", "TLS_CERT", "TLS_KEY"),
    )
)
"""Settings of a service that runs for long, which one for a command leaves out."""


@contextmanager
def reached() -> Iterator[tuple[Client, bool]]:
    """A client of the service, and whether the service runs on after this command.

    If TUNER_URL is not set and no service answers at the usual address, start one.
    """
    settings = Settings.from_environ(os.environ)
    with Client(settings.url, settings.api_key) as client:
        if os.environ.get("TUNER_URL", "").strip() or client.answers():
            yield client, True
            return
    folder = settings.data_dir / "own"
    say(f"no service answers at {settings.url}: starting one for this command (data: {folder})")
    with started(folder) as client:
        yield client, False


@contextmanager
def started(folder: Path, apps: Path | None = None) -> Iterator[Client]:
    """A service with its data in `folder`, ready to measure. It also knows the apps in `apps`.

    The jobs of a command that was stopped go on in it, until `cancel_others`.
    """
    with _alone(folder), _serving(folder, apps) as (service, url), Client(url) as client:
        _wait_until_ready(client, service, folder / "serve.log")
        yield client


def cancel_others(client: Client, kept: int) -> None:
    """Cancel all jobs but one: commands that were stopped left them, and they would run as well."""
    for state in ("running", "queued"):
        for job in client.jobs(state):
            if job.id != kept:
                with suppress(Conflict):  # it has just ended
                    client.cancel(job.id)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder against a second command. Raises `Conflict`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        advice = f"{folder}: {error.strerror}; set TUNER_DATA_DIR to a writable folder"
        raise Conflict(advice) from error
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another command runs a service with the data in {folder}") from None
        yield


@contextmanager
def _serving(folder: Path, apps: Path | None) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`tuner serve` on a free port. It and its children are stopped at the end."""
    from tuner.service.supervisor import dies_with

    port = _free_port()
    environ = _environ(os.environ, folder, port)
    if apps is not None:
        known = environ.get("TUNER_TARGET_APPS", "")
        environ["TUNER_TARGET_APPS"] = os.pathsep.join(filter(None, [known, str(apps)]))
    with (folder / "serve.log").open("wb") as log, _sigterm_interrupts():
        service = subprocess.Popen(
            [sys.executable, "-m", "tuner.cli", "serve"],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C reaches this command alone, which stops the service
            preexec_fn=dies_with(os.getpid()),
        )
        try:
            yield service, f"http://127.0.0.1:{port}"
        finally:
            _stop(service)


def _environ(environ: Mapping[str, str], folder: Path, port: int) -> dict[str, str]:
    """It has nothing in common with any other service: other data, another port, no key, no TLS."""
    return {name: value for name, value in environ.items() if name not in _OF_ANOTHER} | {
        "TUNER_DATA_DIR": str(folder),
        "TUNER_HOST": "127.0.0.1",
        "TUNER_PORT": str(port),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Make SIGTERM act like Ctrl-C, so that it stops the service too."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(service: subprocess.Popen[bytes]) -> None:
    service.terminate()
    try:
        service.wait(timeout=STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        service.kill()  # its children go with it
        service.wait()


def _wait_until_ready(client: Client, service: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            client.check_ready()
            return
        except Unavailable as error:
            if service.poll() is not None:
                raise Infrastructure(f"the service stopped:\n{_tail(log)}") from error
            if time.monotonic() > until:
                raise Infrastructure(f"{error}\n{_tail(log)}") from error
        time.sleep(0.1)


def _tail(log: Path, lines: int = 15) -> str:
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join([*text[-lines:], f"(full log: {log})"])


# ---- A job until it ends: a live line on a terminal, one line for each change elsewhere

POLL_S = 1.0
CONTINUES = "job {0} continues; follow it with: tuner watch {0}"
GOES_ON = "the same command goes on with job {0}"


class Show(Protocol):
    """Shows the present line; `keep` also leaves it on the screen."""

    def __call__(self, line: str, *, keep: bool = False) -> None: ...


def run(
    client: Client,
    request: Asked,
    *,
    runs_on: bool,
    quiet: bool,
    goes_on: bool = False,
    max_age_days: float | None = None,
) -> JobAnswer:
    """The job of a request, once it has ended; see `follow`.

    `goes_on`: take an equal job that has not ended; with `max_age_days` also one that succeeded at
    most so many days ago. Without any, submit the request. `runs_on`: the service outlives this
    command; one that does not measures this job alone.
    """
    if goes_on:
        job, is_new = client.go_on(request, max_age_days=max_age_days)
    else:
        job, is_new = client.submit(request), True
    if not quiet:
        say("\n".join((submitted_lines if is_new else known_lines)(job, client.url)))
    if job.state.is_final:
        return job
    if not runs_on:
        cancel_others(client, job.id)
    at_stop = CONTINUES if runs_on else GOES_ON if goes_on else ""
    ended = follow(client, job.id, Console(stderr=True, quiet=quiet), at_stop)
    if is_new or ended.failure is None or ended.failure.code is not FailureCode.INFRASTRUCTURE:
        return ended
    # Its earlier blocks cannot be added to, for example because the app's image has changed.
    return run(client, request, runs_on=runs_on, quiet=quiet)


def follow(client: Client, job_id: int, console: Console, at_stop: str = CONTINUES) -> JobAnswer:
    """Show each change of a job until it has ended, and why it failed; the job.

    `at_stop` is said after Ctrl-C, with the number of the job. Raises `Unavailable` if the service
    has been away for a minute.
    """
    try:
        with _shown_on(console) as show:
            job = _followed(client, job_id, show)
    except KeyboardInterrupt:
        if at_stop:
            say(at_stop.format(job_id))
        raise
    why = () if job.failure is None else error_lines(job.failure)
    print_on(console, "\n".join([f"job {job_id} {job.state}", *why]))
    return job


def _followed(client: Client, job_id: int, show: Show) -> JobAnswer:
    def wait(error: Unavailable) -> None:
        show(f"waiting: {error}")

    phase, is_calibrated = None, False
    for job in client.watch(job_id, poll_s=POLL_S, on_away=wait):
        is_new_phase, phase = job.phase != phase, job.phase
        if job.kind is JobKind.TUNE and job.calibration is not None and not is_calibrated:
            is_calibrated = True
            show(sight(job.calibration), keep=True)
        if not job.state.is_final:
            show(progress(job), keep=is_new_phase)
    return job


@contextmanager
def _shown_on(console: Console) -> Iterator[Show]:
    if not console.is_terminal:
        yield _plain(console)
        return
    with console.status("") as status:

        def live(line: str, *, keep: bool = False) -> None:
            if keep:
                print_on(console, line)
            status.update(line.replace("[", r"\["))

        yield live


def _plain(console: Console) -> Show:
    shown = ""

    def print_changes(line: str, *, keep: bool = False) -> None:
        nonlocal shown
        if line != shown:
            print_on(console, line)
        shown = line

    return print_changes
