"""A worker's proof of life: a connection that holds the lock on its host's name, and a beat.

Each proof alone is too slow or too weak. PostgreSQL frees the lock the moment a process dies, but
a process that hangs keeps it. The beat shows a hang, but only after seconds, and a worker that is
killed and started again must not wait for its own old beat. `hosts.lives` asks for both.

A worker that loses the connection takes the lock again, under the same number of the queue. So a
block that it runs meanwhile is still its own, until another host begins a new attempt.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from tuner.nouns.errors import Conflict, TunerError, Unavailable
from tuner.store.db.engine import connect, translated
from tuner.store.db.hosts import HOST_LOCKS

log = logging.getLogger(__name__)

_SEEN = """
  WITH noted AS (INSERT INTO events (kind, pool) VALUES ('host', %(pool)s))
INSERT INTO hosts (name, pool, last_seen, worker_id) VALUES (%(host)s, %(pool)s, now(), %(worker)s)
    ON CONFLICT (name) DO UPDATE
   SET pool = excluded.pool, last_seen = excluded.last_seen, worker_id = excluded.worker_id
"""
_BEAT = "UPDATE hosts SET last_seen = now() WHERE name = %(host)s"
_LOCK = f"SELECT pg_try_advisory_lock({HOST_LOCKS}, hashtext(%(host)s))"
_IS_OURS = "SELECT worker_id = %(worker)s FROM hosts WHERE name = %(host)s"


class Liveness:
    """The proof of life of one worker, made by `host_alive`. Threads may share one."""

    def __init__(self, url: str, host: str, pool: str) -> None:
        self._url = url
        self._values: dict[str, Any] = {"host": host, "pool": pool, "worker": None}
        self._one_at_a_time = threading.Lock()
        with translated():
            self._take_name()  # what an earlier worker of this name did is lost

    def register(self, worker_id: int) -> None:
        """Note the queue's number of this worker, before its first task. Raises `Unavailable`."""
        self._values["worker"] = worker_id
        with translated():
            self._connection.execute(_SEEN, self._values)

    def beat(self) -> None:
        """Show that this process does not hang. If the lock was lost, take it again.

        Raises `Unavailable` while PostgreSQL is away, `Conflict` if another worker has the name.
        """
        with self._one_at_a_time, translated():
            if self._connection.closed:
                self._take_name()
                log.info("PostgreSQL is back; this worker is %(host)r again", self._values)
            self._connection.execute(_BEAT, self._values)

    def close(self) -> None:
        """Free the name."""
        self._connection.close()

    def _take_name(self) -> None:
        self._connection = connect(self._url)
        try:
            if not self._says(_LOCK):
                raise self._refusal()
            self._connection.execute(_SEEN, self._values)
        except BaseException:
            self.close()
            raise

    def _refusal(self) -> TunerError:
        if self._values["worker"] is not None and self._says(_IS_OURS):
            return Unavailable("postgresql", "it does not know yet that our connection was lost")
        return Conflict(
            f"a worker named {self._values['host']!r} already uses this database. Two workers on "
            "one machine disturb each other's measurements. On another machine, set another "
            "TUNER_WORKER_NAME"
        )

    def _says(self, query: str) -> bool:
        return self._connection.execute(query.encode(), self._values).fetchone() == (True,)


@contextmanager
def host_alive(url: str, host: str, pool: str) -> Iterator[Liveness]:
    """Be the one worker of a host name on this database, while the context lasts.

    Raises `Conflict` where there is one, `Unavailable` where PostgreSQL is away.
    """
    with closing(Liveness(url, host, pool)) as liveness:
        yield liveness
