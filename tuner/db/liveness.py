"""A worker's proof of life: a connection that holds the lock on its host's name, and a beat.

Each proof alone is too slow or too weak. PostgreSQL frees the lock the moment a process dies, but
a process that hangs keeps it. The beat shows a hang, but only after seconds, and a worker that is
killed and started again must not wait for its own old beat. `hosts.lives` asks for both.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from tuner.db.engine import CONNECT_TIMEOUT_S, translated
from tuner.db.hosts import HOST_LOCKS
from tuner.errors import Conflict

_SEEN = """
INSERT INTO hosts (name, pool, last_seen, worker_id) VALUES (%(host)s, %(pool)s, now(), %(worker)s)
    ON CONFLICT (name) DO UPDATE
   SET pool = excluded.pool, last_seen = excluded.last_seen, worker_id = excluded.worker_id
"""


class Liveness:
    """The proof of life of one worker, made by `host_alive`."""

    def __init__(self, connection: psycopg.Connection[Any], host: str, pool: str) -> None:
        self._connection = connection
        self._host = host
        self._pool = pool

    def register(self, worker_id: int | None) -> None:
        """Note the queue's number of this worker, before its first task. Raises `Unavailable`."""
        values = {"host": self._host, "pool": self._pool, "worker": worker_id}
        with translated():
            self._connection.execute(_SEEN, values)

    def beat(self) -> None:
        """Show that this process does not hang.

        Raises `Unavailable`. The connection is lost then, and with it the lock: to the others
        this worker is gone, and it has to start anew.
        """
        with translated():
            self._connection.execute(
                "UPDATE hosts SET last_seen = now() WHERE name = %s", [self._host]
            )


@contextmanager
def host_alive(url: str, host: str, pool: str) -> Iterator[Liveness]:
    """Be the one worker of a host name on this database, while the context lasts.

    Raises `Conflict` where there is one, `Unavailable` where PostgreSQL is away.
    """
    with translated():
        connection = _connect(url)
    with closing(connection):
        with translated():
            query = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
            (taken,) = connection.execute(query, [HOST_LOCKS, host]).fetchone() or (False,)
        if not taken:
            raise Conflict(
                f"a worker named {host!r} already uses this database. Two workers on one machine "
                "disturb each other's measurements. On another machine, choose another --host"
            )
        liveness = Liveness(connection, host, pool)
        liveness.register(None)  # what an earlier worker of this name did is lost
        yield liveness


def _connect(url: str) -> psycopg.Connection[Any]:
    """A connection whose ends notice within seconds that the other machine is gone.

    The server's end matters most: until it notices, it keeps the lock of a machine that lost its
    power, and that host cannot come back.
    """
    return psycopg.connect(
        url.replace("postgresql+psycopg://", "postgresql://", 1),
        autocommit=True,
        connect_timeout=CONNECT_TIMEOUT_S,
        keepalives_idle=5,
        keepalives_interval=2,
        keepalives_count=3,
        options="-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3",
    )
