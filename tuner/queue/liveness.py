"""Who lives: advisory locks, which the server itself frees when a process dies.

procrastinate tells a dead worker by a heartbeat that grew old. That takes seconds, and a worker
that is killed and started again at once must not wait for itself. So each worker also holds a
lock on its number, and whoever sweeps the queue sees from the lock who is gone.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tuner.errors import Conflict
from tuner.queue.deferring import queue_of, translated

HEARTBEAT_IS_STALE_AFTER_S = 20.0  # for a machine that vanished: its lock stays with the server

_HOST_LOCKS = 7_803  # first key of the advisory locks on host names
_WORKER_LOCKS = 7_804  # ... and on the numbers of procrastinate's workers

_REVIVE = """
SELECT procrastinate_retry_job_v2(dead.id, NULL, NULL, NULL, NULL)
  FROM (SELECT job.id
          FROM procrastinate_jobs AS job
          LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
         WHERE job.status = 'doing'
           AND job.queue_name = %(queue)s
           AND (worker.id IS NULL
                OR worker.last_heartbeat < now() - make_interval(secs => %(stale_s)s)
                OR NOT EXISTS (SELECT 1 FROM pg_locks
                                WHERE locktype = 'advisory' AND granted
                                  AND database = (SELECT oid FROM pg_database
                                                   WHERE datname = current_database())
                                  AND classid = %(locks)s AND objid = worker.id AND objsubid = 2))
           FOR UPDATE OF job SKIP LOCKED) AS dead
"""

_TIDY = """
DELETE FROM procrastinate_jobs
 WHERE status IN ('succeeded', 'failed', 'cancelled', 'aborted')
   AND NOT EXISTS (SELECT 1 FROM procrastinate_events AS event
                    WHERE event.job_id = procrastinate_jobs.id
                      AND event.at > now() - interval '1 day')
"""


def connect(url: str) -> psycopg.Connection[Any]:
    """A connection of which both ends notice within seconds that the other's machine is gone.

    The server's end matters most: until it notices, it keeps the locks of a machine that lost
    its power, and the same host could not come back.
    """
    return psycopg.connect(
        url.replace("postgresql+psycopg://", "postgresql://", 1),
        autocommit=True,
        connect_timeout=3,
        keepalives_idle=5,
        keepalives_interval=2,
        keepalives_count=3,
        options="-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3",
    )


@contextmanager
def host_lock(url: str, host: str) -> Iterator[None]:
    """Be the one worker of that host name on this database, for as long as the context lasts.

    Raises `Conflict` where there is one, `Unavailable` where PostgreSQL is away.
    """
    with translated():
        connection = connect(url)
    with connection:
        with translated():
            query = "SELECT pg_try_advisory_lock(%s, %s)"
            row = connection.execute(query, [_HOST_LOCKS, _key(host)]).fetchone()
        if row is None or not row[0]:
            raise Conflict(
                f"a worker named {host!r} is already at work on this database; two would disturb "
                "each other's measurements (another machine needs another name: --host)"
            )
        yield


class Sign:
    """A worker's sign of life: a connection of its own that holds the lock on its number."""

    def __init__(self, url: str) -> None:
        with translated():
            self._connection = connect(url)

    def hold(self, worker_id: int) -> None:
        """Show that this worker lives, from before its first job. Raises `Unavailable`."""
        with translated():
            self._connection.execute("SELECT pg_advisory_lock(%s, %s)", [_WORKER_LOCKS, worker_id])

    def revive(self, pool: str) -> int:
        """Put back what dead workers of the pool were at; how many. Raises `Unavailable`.

        Raises it too where our own connection, and with it our lock, was lost: this worker then
        looks dead to the others and has to start anew.
        """
        values = {
            "queue": queue_of(pool),
            "stale_s": HEARTBEAT_IS_STALE_AFTER_S,
            "locks": _WORKER_LOCKS,
        }
        with translated():
            return self._connection.execute(_REVIVE, values).rowcount

    def tidy(self) -> None:
        """Forget queue jobs that ended a day ago. Raises `Unavailable`."""
        with translated():
            self._connection.execute(_TIDY)

    def close(self) -> None:
        """Give the lock back."""
        self._connection.close()


def _key(name: str) -> int:
    """A signed 32-bit number, as the second key of an advisory lock has to be."""
    return zlib.crc32(name.encode()) - 2**31
