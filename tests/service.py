"""The whole product as a user runs it: `tuner serve` in a process of its own, spoken to by HTTP."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from tests.patience import JOB_ENDS_WITHIN_S
from tests.real_bench import containers_of, everything_of
from tuner.service import bootstrap
from tuner.service.settings import Settings
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

READY_WITHIN_S = 180.0
STOP_WITHIN_S = 60.0
FINAL = ("succeeded", "failed", "cancelled")
Json = dict[str, Any]


def is_refused_as_busy(job: Json) -> bool:
    """Whether a job has ended because two equal arms differed."""
    failure = job.get("failure") or {}
    return "two equal arms differ" in failure.get("message", "")


@dataclass
class Service:
    """A running service: what it answers, what runs below it, and which containers are its."""

    home: Path
    port: int
    environ: Mapping[str, str]
    http: httpx.Client
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self, command: str = "serve", *, until: str = "/readyz") -> None:
        """Start a command of `tuner`, and wait until a path answers 200; /readyz wants a worker."""
        with (self.home / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tuner.cli", command],
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait_for(lambda: self.status(until) == 200, READY_WITHIN_S, f"{until} answers")

    def stop(self) -> None:
        """End it as an operator would, and see that it does."""
        self.process.terminate()
        self.process.wait(STOP_WITHIN_S)

    def submit(self, **request: Any) -> Json:
        """Hand in a job that has to be accepted."""
        answer = self.http.post("/v1/jobs", json=request)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def job(self, job_id: int) -> Json:
        """A job as it stands."""
        return dict(self.get(f"/v1/jobs/{job_id}").json())

    def glance(self, job_id: int) -> Json | None:
        """A job as it stands; None while the service, or its database, is being restarted."""
        try:
            return self.job(job_id)
        except (httpx.TransportError, AssertionError):
            return None

    def get(self, path: str) -> httpx.Response:
        """An answer that has to be 200."""
        answer = self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer

    def succeed(self, **request: Any) -> Json:
        """The end of a job that has to succeed.

        Handed in again, up to twice, where the calibration found the machine too busy: that is
        the right answer of the product then, and no fault of it.
        """
        ended = self.finish(self.submit(**request)["id"])
        for _ in range(2):
            if is_refused_as_busy(ended):
                ended = self.finish(self.submit(**request)["id"])
        assert ended["state"] == "succeeded", (ended, self.log())
        return ended

    def finish(
        self, job_id: int, *, within_s: float = JOB_ENDS_WITHIN_S, every_s: float = 0.25
    ) -> Json:
        """Wait until a job has ended, whatever the service does meanwhile.

        Every look costs the machine some 6 ms of CPU: where figures are to be reported, look less.
        """

        def ended() -> bool:
            job = self.glance(job_id)
            return job is not None and job["state"] in FINAL

        self.wait_for(ended, within_s, f"job {job_id} has ended", every_s=every_s)
        return self.job(job_id)

    def wait_for(
        self, holds: Callable[[], bool], within_s: float, what: str, *, every_s: float = 0.1
    ) -> None:
        """Poll until something holds. Fails with the service's log where it does not in time."""
        deadline = time.monotonic() + within_s
        while not holds():
            assert time.monotonic() < deadline, f"after {within_s:g} s not: {what}\n{self.log()}"
            time.sleep(every_s)

    def log(self) -> str:
        """The last of what the service wrote."""
        return (self.home / "serve.log").read_text(errors="replace")[-4000:]

    def child(self, word: str) -> int | None:
        """The process id of the direct child whose command line has `word` in it."""
        for pid, parent, command in _processes():
            if parent == self.process.pid and word in command:
                return pid
        return None

    def kill(self, word: str) -> int:
        """SIGKILL one child: `worker`, `api` or `postgres`."""
        pid = self.child(word)
        assert pid is not None, f"no child {word!r}"
        os.kill(pid, signal.SIGKILL)
        return pid

    def containers(self) -> list[str]:
        """All containers of this service, running or not."""
        return containers_of(self._instance, self.environ)

    def leftovers(self) -> list[str]:
        """What an engine holds of this service: containers, networks, volumes, states of data."""
        return everything_of(self._instance, self.environ)

    @property
    def _instance(self) -> str:
        return bootstrap.instance(Settings.from_environ(self.environ))

    def status(self, path: str) -> int | None:
        """The status of an answer; None where there was none."""
        assert self.process.poll() is None, self.log()
        try:
            return self.http.get(path).status_code
        except httpx.TransportError:
            return None

    def pause(self, seconds: float) -> None:
        """Let it work for a while."""
        time.sleep(seconds)


OWN_LOCK = """
import sys
if {{"worker", "check"}} & {{*sys.orig_argv}}:
    from tuner.bench.engine import guard
    guard.NAME = "{name}"
"""
"""A worker or a check with this takes another lock than the machine's."""


@contextmanager
def running(*, until: str = "/readyz", measures: bool = True, **environ: str) -> Iterator[Service]:
    """A service with its own data, port and PostgreSQL; gone afterwards, with all it started.

    One that `measures` waits while another measures on this machine. Where figures do not matter,
    nothing has to wait.
    """
    # Not pytest's tmp_path: as root, PostgreSQL runs as a user who may not pass its folders.
    home, port = Path(tempfile.mkdtemp(prefix="tuner-service-")), free_port()
    inherited = {name: value for name, value in os.environ.items() if "TUNER_" not in name}
    settings = {"TUNER_DATA_DIR": str(home), "TUNER_PORT": str(port), **environ}
    home.chmod(0o711)  # as root, PostgreSQL runs as another user
    if not measures:
        (home / "sitecustomize.py").write_text(OWN_LOCK.format(name=home.name))
        settings["PYTHONPATH"] = str(home)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as http:
        service = Service(home=home, port=port, environ=inherited | settings, http=http)
        try:
            service.start(until=until)
            yield service
        finally:
            if service.process.poll() is None:
                service.stop()
            shutil.rmtree(home, ignore_errors=True)


@contextmanager
def another_host(service: Service, name: str, **environ: str) -> Iterator[Service]:
    """A worker of the service's pool, as on a machine of its own: it measures while others do."""
    home = service.home / name
    home.mkdir()
    (home / "sitecustomize.py").write_text(OWN_LOCK.format(name=f"{service.home.name}-{name}"))
    own = {
        "TUNER_DATABASE_URL": bootstrap.database_url(Settings.from_environ(service.environ)),
        "TUNER_WORKER_NAME": name,
        "PYTHONPATH": str(home),
    }
    host = replace(service, home=home, environ={**service.environ, **own, **environ})
    try:
        host.start("worker")
        yield host
    finally:
        host.stop()


@contextmanager
def opened_store(service: Service) -> Iterator[Store]:
    """The rows themselves, past the API."""
    engine = make_engine(bootstrap.database_url(Settings.from_environ(service.environ)))
    try:
        yield Store(engine, Queue())
    finally:
        engine.dispose()


def _processes() -> Iterator[tuple[int, int, str]]:
    """Process id, parent's id and command line of everything that runs."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(folder.name), int(status.rpartition(")")[2].split()[1]), command


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
