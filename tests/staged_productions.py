"""Productions with a known ailment: a uWSGI in a container, and users who ask."""

import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.contract.uwsgi_lab import IMAGE
from tuner.nouns.errors import Unavailable
from tuner.nouns.model import Bottleneck
from tuner.production.looking import Watcher

APP = """
import time

held = []

def application(environ, start_response):
    what, _, number = environ["PATH_INFO"].strip("/").partition("/")
    if what == "backend":
        time.sleep(int(number) / 1000)
    elif what == "work":
        ends = time.process_time() + int(number) / 1000
        while time.process_time() < ends:
            pass
    elif what == "hold":
        while len(held) < int(number):
            held.append(bytes([7]) * (1 << 20))
        time.sleep(0.05)
    elif what == "fail":
        raise RuntimeError("staged")
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""
INI = """[uwsgi]
http-socket = :8000
wsgi-file = /app/app.py
master = true
processes = 4
listen = 8
"""
STATS = "stats = :9191\n"
STARTS_WITHIN_S = 30
BETWEEN_BURSTS_S = 1.5


@dataclass(frozen=True, kw_only=True)
class Staged:
    """What is staged. In bursts all users ask at one instant, and then wait."""

    name: str
    bottleneck: Bottleneck
    path: str
    users: int = 20
    ini: str = ""  # further lines
    cpus: float = 1.0
    memory_mb: int = 256
    bursts: bool = False

    @property
    def limits(self) -> tuple[str, ...]:
        """Those of the container."""
        memory = f"{self.memory_mb}m"
        return (f"--cpus={self.cpus}", f"--memory={memory}", f"--memory-swap={memory}")


THREADS = "processes = 1\nthreads = 4\n"
ONE = "processes = 1\n"

SLOW_BACKEND = Staged(
    name="all workers wait for a backend", bottleneck=Bottleneck.IO_WAIT, path="/backend/500"
)
THROTTLED = Staged(
    name="the quota is used up", bottleneck=Bottleneck.CPU_QUOTA, path="/work/20", cpus=0.2
)
STAGED = (
    SLOW_BACKEND,
    THROTTLED,
    Staged(
        name="all threads wait for a backend",
        bottleneck=Bottleneck.IO_WAIT,
        path="/backend/300",
        ini=THREADS,
    ),
    Staged(
        name="threads use the quota up",
        bottleneck=Bottleneck.CPU_QUOTA,
        path="/work/20",
        ini=THREADS,
        cpus=0.5,
    ),
    Staged(
        name="threads of one process share a core",
        bottleneck=Bottleneck.GIL,
        path="/work/10",
        ini=THREADS,
        cpus=2.0,
    ),
    Staged(name="the app fails", bottleneck=Bottleneck.APP_ERRORS, path="/fail", users=2),
    Staged(
        name="memory is nearly full",
        bottleneck=Bottleneck.MEMORY,
        path="/hold/112",
        users=1,
        ini=ONE,
        memory_mb=128,
    ),
    Staged(
        name="the kernel kills for memory",
        bottleneck=Bottleneck.MEMORY,
        path="/hold/200",
        users=1,
        ini=ONE,
        memory_mb=64,
    ),
    Staged(
        name="bursts overflow the queue",
        bottleneck=Bottleneck.BACKLOG,
        path="/backend/30",
        users=40,
        bursts=True,
    ),
    Staged(name="nothing", bottleneck=Bottleneck.UNKNOWN, path="/backend/100", users=1),
)


@dataclass(frozen=True)
class Production:
    """A uWSGI in a container with a network of its own."""

    host: str
    pid: int
    ini: Path
    container: str

    @property
    def stats(self) -> str:
        """The address of its stats server."""
        return f"{self.host}:9191"

    def watcher(self) -> Watcher:
        """Waits until its stats server answers."""
        ends = time.monotonic() + STARTS_WITHIN_S
        while True:
            try:
                return Watcher(self.stats, self.pid)
            except Unavailable:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.1)


@contextmanager
def production(folder: Path, ini: str, *limits: str) -> Iterator[Production]:
    """Runs while the context lasts."""
    (folder / "app.py").write_text(APP)
    (folder / "uwsgi.ini").write_text(ini)
    folder.chmod(0o755)
    words = ("run", "--detach", "--rm", *limits, "-v", f"{folder}:/app:ro", "--entrypoint=uwsgi")
    container = docker(*words, IMAGE, "--ini", "/app/uwsgi.ini")
    try:
        host = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        host, pid = docker("inspect", "--format", f"{host} {{{{.State.Pid}}}}", container).split()
        yield Production(host, int(pid), folder / "uwsgi.ini", container)
    finally:
        docker("rm", "--force", container)


@contextmanager
def staged(what: Staged, folder: Path) -> Iterator[Production]:
    """It runs, and its users ask, while the context lasts."""
    with production(folder, INI + STATS + what.ini, *what.limits) as seen:
        seen.watcher()
        with users(seen, what.path, what.users, bursts=what.bursts):
            yield seen


@contextmanager
def users(seen: Production, path: str, number: int, *, bursts: bool = False) -> Iterator[None]:
    """Users who ask again and again, from a second before the context."""
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            if bursts:
                time.sleep(BETWEEN_BURSTS_S - time.monotonic() % BETWEEN_BURSTS_S)
            with suppress(OSError):
                urllib.request.urlopen(f"http://{seen.host}:8000{path}", timeout=5).close()

    threads = [threading.Thread(target=ask) for _ in range(number)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1)
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def docker(*words: str) -> str:
    """What the command prints."""
    done = subprocess.run(
        ["docker", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
