"""`tuner api` in a process of its own, on a database of the test."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.service import free_port
from tuner.client import Client

KEY = "a-key-of-the-test"


@dataclass
class Running:
    """`tuner api` in a process of its own, without any worker."""

    database_url: str
    home: Path
    port: int
    environ: Mapping[str, str]
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the process; it may not listen yet."""
        inherited = {name: value for name, value in os.environ.items() if "TUNER_" not in name}
        own = {
            "TUNER_DATABASE_URL": self.database_url,
            "TUNER_DATA_DIR": str(self.home),
            "TUNER_PORT": str(self.port),
            "TUNER_API_KEY": KEY,
            **self.environ,
        }
        with (self.home / "api.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tuner.cli", "api"],
                env=inherited | own,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """End it at once."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def client(self, transport: httpx.BaseTransport | None = None) -> Client:
        """A client with the key."""
        return Client(self.url, KEY, transport=transport)

    def log(self) -> str:
        """What it has logged."""
        return (self.home / "api.log").read_text()

    def wait_until_it_listens(self) -> None:
        """Fails with its log where it does not."""
        deadline = time.monotonic() + 60
        with self.client() as client:
            while not client.answers():
                assert self.process.poll() is None, self.log()
                assert time.monotonic() < deadline, self.log()
                time.sleep(0.05)


@contextmanager
def running_api(
    database_url: str, home: Path, *, port: int | None = None, **environ: str
) -> Iterator[Running]:
    """An API that listens, with more settings; killed at the end."""
    running = Running(database_url, home, port or free_port(), environ)
    running.start()
    try:
        running.wait_until_it_listens()
        yield running
    finally:
        running.kill()
