"""A PostgreSQL server of our own: it lives in the data directory and ends with this process.

A lock on `postgres.lock` shows whether it runs: the server's processes inherit the lock, so it is
free only after all of them have ended. `postmaster.pid` may be wrong after a reboot, in a new
container, or with a zombie.
"""

import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from tuner.nouns.errors import Unavailable
from tuner.store.db import binaries, server
from tuner.store.db.binaries import Home, taken
from tuner.store.db.server import START_TIMEOUT_S, Server

ROOM = 64 << 20  # bytes: a few segments of its write-ahead log


class EmbeddedPostgres:
    """One server on one data directory. Call `start` again after `poll` shows that it ended.

    A second process that starts it on the same directory joins the running server.
    """

    def __init__(self, data_dir: Path, *, settings: Mapping[str, str] | None = None) -> None:
        """`settings` are server options such as `{"fsync": "off"}` for tests."""
        self._home = Home(data_dir)
        self._server = Server(self._home.cluster, self._home.log, settings or {})

    @property
    def url(self) -> str:
        """Its URL, for libpq and SQLAlchemy."""
        return self._server.url

    @property
    def admin_url(self) -> str:
        """The same database for the superuser, which the service never is."""
        return self._server.admin_url(server.DATABASE)

    @property
    def pid(self) -> int | None:
        """The server's process id, if this object started it."""
        return self._server.process.pid if self._server.process else None

    def start(self) -> None:
        """Join the running server, or start it, and create its files if needed.

        Call it from the main thread: the server ends with the thread that started it.
        Raises `Unavailable` (no binaries, disk full, does not start) or `InvalidInput` (unusable
        directory, files of another major version).
        """
        require_main_thread()
        account = binaries.server_account()
        self._home.make(account)
        with self._home.lock_file() as lock:
            deadline = time.monotonic() + START_TIMEOUT_S
            while not taken(lock):
                if self._home.cluster.is_dir():  # an upgrade may work on it for long
                    server.check_major(self._home.cluster)
                if self._server.answers():
                    self._server.forget_if_ended()
                    break
                if time.monotonic() > deadline:
                    detail = (
                        f"another process holds {self._home.lock}, but its server does not answer"
                    )
                    raise Unavailable("postgresql", detail)
                time.sleep(0.05)
            else:
                self._run(account, lock)
        server.create_database(self._server)

    def poll(self) -> int | None:
        """None while the server runs; else its exit status, -1 if it was not our child."""
        if self._server.process is not None:
            return self._server.process.poll()
        with self._home.lock_file() as lock:
            return -1 if taken(lock) else None

    def stop(self) -> None:
        """Stop the server if it is ours: a fast shutdown, then an immediate one, then a kill."""
        self._server.stop()

    def __enter__(self) -> "EmbeddedPostgres":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, account: binaries.Account, lock: int) -> None:
        """The caller holds the lock: no process of an earlier server is left."""
        self._home.finish_upgrade()
        if self._home.cluster.is_dir():
            server.check_major(self._home.cluster)
        bindir = binaries.runnable_by(account, binaries.find(), self._home.folder)
        if not self._home.cluster.is_dir():
            server.create(bindir, self._home.cluster, account)
        self._server.start(bindir, account, lock)


def require_main_thread() -> None:
    """Raise `RuntimeError` in any other thread: a server ends with the thread that started it."""
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("start the server from the main thread: it ends with its starter")


def require_room(data_dir: Path) -> None:
    """Raise `Unavailable` if the disk of an embedded server is almost full.

    A server that cannot write its log ends, and starts only when there is room again. So the
    operator needs the warning earlier.
    """
    if (data_dir / "postgres").is_dir() and (free := shutil.disk_usage(data_dir).free) < ROOM:
        detail = f"{free >> 20} MB are left on the disk of {data_dir}; free {ROOM >> 20} MB"
        raise Unavailable("postgresql", detail)
