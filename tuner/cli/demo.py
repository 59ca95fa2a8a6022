"""The whole product once, on a real container: serve, submit, follow, answer, stop."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.errors import Conflict, Infrastructure, Unavailable
from tuner.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from tuner.cli.client import Client

READY_WITHIN_S = 90.0
STOP_WITHIN_S = 25.0

YOUR_OWN = """\
Your own app, in three lines:
  mkdir -p ~/tuned && cp -r {mixed} ~/tuned/my-app  # edit target.yaml (name: my-app), uwsgi.ini
  TUNER_TARGET_APPS=~/tuned {tuner} serve &
  echo '{{app: my-app, target: {{target_app: my-app}}}}' | {tuner} submit - --wait"""


def demo(
    target: Annotated[str, typer.Option(help="The target app to tune.")] = "mixed",
) -> None:
    """Tune a real app in a container and print the uwsgi.ini to deploy."""
    from rich.console import Console

    from tuner.cli.client import Client

    began = datetime.now(UTC)
    settings = Settings.from_environ(os.environ)
    console = Console()
    folder = settings.data_dir / "demo"
    with _alone(folder), _serving(folder) as (service, url), Client(url) as client:
        _wait_until_ready(client, service, folder / "serve.log")
        _cancel_leftovers(client)
        job = client.submit(_request(target))
        _print(console, f"job {job['id']}: tuning target_apps/{target} on this machine")
        job = _follow(client, job["id"], console)
        _print_answer(client, job, began, console)
    if job["state"] != "succeeded":
        raise typer.Exit(1)


def _request(target: str) -> dict[str, Any]:
    return {"app": target, "target": {"target_app": target}, "budget": {"preset": "demo"}}


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second demo off the same data. Raises `Conflict`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        advice = f"{folder}: {error.strerror}; set TUNER_DATA_DIR to a folder that can be written"
        raise Conflict(advice) from error
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another demo is running on {folder}") from None
        yield


@contextmanager
def _serving(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`tuner serve` on a free port, with everything that it started gone afterwards."""
    from tuner.supervisor import dies_with

    port = _free_port()
    environ = _environ(os.environ, folder, port)
    with (folder / "serve.log").open("wb") as log, _sigterm_interrupts():
        service = subprocess.Popen(
            [sys.executable, "-m", "tuner.cli", "serve"],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for us: we stop it in order
            preexec_fn=dies_with(os.getpid()),
        )
        try:
            yield service, f"http://127.0.0.1:{port}"
        finally:
            _stop(service)


def _environ(environ: Mapping[str, str], folder: Path, port: int) -> dict[str, str]:
    """The service of the demo is its own: other data, another port, no key."""
    kept = ("TUNER_DATABASE_URL", "TUNER_API_KEY", "TUNER_POOL", "TUNER_URL")
    return {name: value for name, value in environ.items() if name not in kept} | {
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
    """Let SIGTERM unwind as Ctrl-C does, so that the service is stopped then too."""

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


def _wait_until_ready(client: "Client", service: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            client.check_ready()
            return
        except Unavailable as error:
            if service.poll() is not None:
                raise Infrastructure(f"the service ended at once:\n{_tail(log)}") from error
            if time.monotonic() > until:
                raise Infrastructure(f"{error}\n{_tail(log)}") from error
        time.sleep(0.1)


def _tail(log: Path, lines: int = 15) -> str:
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join([*text[-lines:], f"(the whole log: {log})"])


def _cancel_leftovers(client: "Client") -> None:
    """A demo that was killed left its job behind, and it would go on before ours."""
    for state in ("running", "queued"):
        for job in client.jobs(state):
            client.cancel(job["id"])


def _follow(client: "Client", job_id: int, console: "Console") -> dict[str, Any]:
    from tuner.cli import following

    with following.shown_on(console) as shown:
        return following.follow(client, job_id, shown)


def _print_answer(
    client: "Client", job: dict[str, Any], began: datetime, console: "Console"
) -> None:
    from tuner.cli import printing

    first = job["progress"]["first_window_at"]
    if first is not None:
        seconds = (datetime.fromisoformat(first) - began).total_seconds()
        _print(console, f"from the command to the first window: {seconds:.1f} s")
    if job["state"] != "succeeded":
        _print(console, "\n".join([f"the job {job['state']}", *printing.error_lines(job)]))
        return
    found = client.recommendation(job["id"])
    text = [
        "",
        *printing.recommendation_lines(found),
        "",
        "the uwsgi.ini to deploy:",
        "",
        found["uwsgi_ini"].rstrip(),
        "",
        _your_own(),
    ]
    _print(console, "\n".join(text))


def _your_own() -> str:
    """What to type for another app, with the paths of this installation."""
    from tuner.catalog import own_data

    program = sys.argv[0] if Path(sys.argv[0]).name == "tuner" else "tuner"
    return YOUR_OWN.format(mixed=own_data("target_apps") / "mixed", tuner=program)


def _print(console: "Console", text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
