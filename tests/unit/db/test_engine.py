"""Which errors mean "try again", and which are ours."""

import psycopg
import pytest
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tuner.nouns.errors import Unavailable
from tuner.store.db.engine import make_engine, translated


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (
            OperationalError("", {}, psycopg.OperationalError("server closed\nmore")),
            "server closed",
        ),
        (OperationalError("", {}, psycopg.errors.DiskFull("could not extend")), "disk full: could"),
        (OperationalError("", {}, psycopg.errors.DeadlockDetected("deadlock")), "deadlock"),
        (OperationalError("", {}, psycopg.errors.QueryCanceled("timeout")), "timeout"),
        (ProgrammingError("", {}, psycopg.errors.UndefinedTable("no jobs")), "tuner db upgrade"),
        (PoolTimeout("queue pool"), "all connections are in use"),
        (psycopg.OperationalError("gone"), "gone"),
    ],
)
def test_what_passes_is_unavailable(error: Exception, detail: str) -> None:
    with pytest.raises(Unavailable, match=detail) as caught, translated():
        raise error
    assert caught.value.system == "postgresql"


def test_a_broken_constraint_stays_loud() -> None:
    error = IntegrityError("", {}, psycopg.errors.UniqueViolation("twice"))
    with pytest.raises(IntegrityError), translated():
        raise error


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_the_scheme_works(scheme: str) -> None:
    engine = make_engine(f"{scheme}://user@host/name")
    assert engine.url.drivername == "postgresql+psycopg"
    engine.dispose()
