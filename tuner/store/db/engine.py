"""Connections to PostgreSQL; here driver errors become ours."""

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any, Protocol

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tuner.nouns.errors import InvalidInput, Mistake, Unavailable
from tuner.nouns.model import JobId, MeasurementId

# ---- What the store asks of the queue; `tuner.store.queue.Queue` has this shape

RawConnection = psycopg.Connection[Any]


class JobQueue(Protocol):
    """Puts work into the queue within the caller's transaction: a rollback removes it again."""

    def defer_advance(self, connection: RawConnection, job_id: JobId, pool: str) -> None:
        """Have `advance(job_id)` run on a worker of the pool."""

    def defer_measure(
        self,
        connection: RawConnection,
        measurement_id: MeasurementId,
        pool: str,
        host: str | None,
    ) -> None:
        """Have `measure(measurement_id)` run on a host of the pool; None: on any."""

    def waiting_jobs(self, connection: RawConnection) -> AbstractSet[JobId]:
        """Jobs with an `advance` that waits or runs."""

    def waiting_measurements(
        self, connection: RawConnection
    ) -> AbstractSet[tuple[MeasurementId, str | None]]:
        """Measurements with a `measure` that waits or runs, each with the host of that task."""

    def busy_workers(self, connection: RawConnection) -> AbstractSet[int]:
        """The workers that run a task; 0 stands for a worker without a row."""

    def put_back(self, connection: RawConnection, workers: Collection[int]) -> int:
        """Have the running tasks of these workers run again; how many tasks."""


POOL_TIMEOUT_S = 5.0  # to wait for a free connection of the pool

_BOTH_ENDS = {
    "tcp_user_timeout": 10_000,  # ms
    "tcp_keepalives_idle": 5,
    "tcp_keepalives_interval": 2,
    "tcp_keepalives_count": 3,
}
_OF_SESSION = {
    "timezone": "UTC",
    "statement_timeout": 10_000,  # ms
    "idle_in_transaction_session_timeout": 10_000,  # a process that hangs must not keep its locks
    **_BOTH_ENDS,
}
CONNECTION: Mapping[str, int | str] = {
    "connect_timeout": 3,
    "options": " ".join(f"-c {name}={value}" for name, value in _OF_SESSION.items()),
    **{name.replace("tcp_keep", "keep"): value for name, value in _BOTH_ENDS.items()},
}
"""Parameters of every connection: both ends notice within 11 s that the other machine is gone.

The server's end matters too. Until it notices, it keeps the lock of a worker that lost its power,
and this host cannot come back.
"""

_DISK_FULL = "53100"
_NO_SUCH_TABLE = "42P01"
_NO_SUCH_COLUMN = "42703"


def make_engine(url: str) -> Engine:
    """An engine for a `postgresql://` URL; it connects on first use.

    Raises `InvalidInput` for any other URL.
    """
    try:
        parsed = make_url(url.replace("postgres://", "postgresql://", 1))
    except ArgumentError as error:
        message = "is not a URL; give postgresql://user:password@host:port/database"
        raise InvalidInput([Mistake("TUNER_DATABASE_URL", message)]) from error
    if parsed.get_backend_name() != "postgresql":
        message = f"names {parsed.get_backend_name()}; only PostgreSQL works"
        raise InvalidInput([Mistake("TUNER_DATABASE_URL", message)])
    return create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        pool_size=10,
        max_overflow=20,
        pool_timeout=POOL_TIMEOUT_S,
        connect_args=dict(CONNECTION),
    )


def conninfo(url: str) -> str:
    """What libpq needs for a connection to `url`, for those who do not use the engine."""
    return make_conninfo(url.replace("postgresql+psycopg://", "postgresql://", 1), **CONNECTION)


def connect(url: str) -> psycopg.Connection[Any]:
    """A connection without the engine. Raises psycopg's errors."""
    return psycopg.connect(conninfo(url), autocommit=True)


class Database:
    """The transactions of the store, and the queue that takes part in them."""

    def __init__(self, engine: Engine, queue: JobQueue) -> None:
        self._engine = engine
        self._queue = queue

    def close(self) -> None:
        """Close the connections that wait for use."""
        self._engine.dispose()

    @contextmanager
    def _at_once(self) -> Iterator[Connection]:
        """For one reading statement: one round trip, without BEGIN and COMMIT."""
        with translated(), self._engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with translated(), self._engine.begin() as connection:
            yield connection


@contextmanager
def translated() -> Iterator[None]:
    """Turn "PostgreSQL is away, full, overloaded or not migrated" into `Unavailable`.

    Other errors pass: a violated constraint is our bug and must be seen.
    """
    try:
        yield
    except PoolTimeout as error:
        raise Unavailable("postgresql", "all connections are in use") from error
    except DBAPIError as error:
        if (detail := _passing(error.orig)) is None and not error.connection_invalidated:
            raise
        raise Unavailable("postgresql", detail or "the connection was lost") from error
    except psycopg.Error as error:
        if (detail := _passing(error)) is None:
            raise
        raise Unavailable("postgresql", detail or "the connection was lost") from error


def _passing(cause: BaseException | None) -> str | None:
    """The problem, if it ends by itself or the operator can end it; else None."""
    state = getattr(cause, "sqlstate", None)
    first_line = str(cause).strip().partition("\n")[0]
    if state == _DISK_FULL:
        return f"disk full: {first_line}"
    if state in (_NO_SUCH_TABLE, _NO_SUCH_COLUMN):
        return f"{first_line}; run `tuner db upgrade`"
    if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        return first_line
    return None
