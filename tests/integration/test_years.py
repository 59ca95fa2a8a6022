"""A database with the jobs of years, at a small size: what it answers, and how rows are found."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, Select

from tests.benchmarks.years_calls import CALLS, answers, opened
from tests.filled_years import POOL, Years, fill, seen
from tests.postgres import fresh_database
from tuner.nouns.model import Budget
from tuner.store.db import dumps, make_engine
from tuner.store.db.apps import _answers, _newest
from tuner.store.db.work import _startable

SMALL = Budget(trials=3, calibrate_blocks=2, confirm_blocks=6, window_s=1.0)


@pytest.fixture(scope="module")
def filled() -> Iterator[tuple[str, Years]]:
    """The URL of a database with some 700 trials, and what is in it."""
    with fresh_database() as url:
        yield url, fill(url, trials=700, days=1_000, queued=5, budget=SMALL)


def test_there_are_as_many_rows_as_asked_for_and_all_have_what_they_refer_to(
    filled: tuple[str, Years],
) -> None:
    url, years = filled
    assert years == seen(url)
    assert years.trials == pytest.approx(800, rel=0.05)  # 100 are of the running job
    assert years.windows > 5 * years.trials
    with psycopg.connect(url) as connection:
        for table, column, other in (
            ("windows", "measurement_id", "measurements"),
            ("measurements", "job_id", "jobs"),
            ("trials", "job_id", "jobs"),
        ):
            lost = f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT id FROM {other})"  # noqa: S608
            assert connection.execute(lost.encode()).fetchone() == (0,)
        counted = "SELECT sum(value) FROM totals WHERE counted = 'jobs_ended'"
        ended = "SELECT count(*) FROM jobs WHERE finished_at IS NOT NULL"
        assert (
            connection.execute(counted.encode()).fetchone()
            == connection.execute(ended.encode()).fetchone()
        )


def test_what_is_restored_answers_with_the_same_bytes(
    filled: tuple[str, Years], tmp_path: Path
) -> None:
    url, years = filled
    dumps.dump(url, tmp_path / "years.dump")
    with fresh_database("template0") as other:
        dumps.restore(other, tmp_path / "years.dump")
        with (
            opened(url, years, tmp_path / "before") as before,
            opened(other, years, tmp_path / "after") as after,
        ):
            expected, found = answers(before), answers(after)
            assert [path for path, body in expected.items() if found[path] != body] == []
            assert len({path.split("/")[3] for path in expected if "/windows" in path}) > 10
            for call in CALLS.values():  # that the benchmark times
                call(after)
        dumps.check(other)


def plan(engine: Engine, query: Select[Any]) -> str:
    """How PostgreSQL would find the rows."""
    asked = str(query.compile(engine, compile_kwargs={"literal_binds": True}))
    with engine.connect() as connection:
        found = connection.exec_driver_sql(f"EXPLAIN {asked}".replace("%", "%%"))
        return "\n".join(row[0] for row in found)


@pytest.mark.parametrize(
    ("query", "table", "index"),
    [
        pytest.param(_newest(None, None, 50, ()), "jobs", "ix_jobs_app_id", id="apps"),
        pytest.param(_answers(["app-00", "app-01"], 5), "jobs", "ix_jobs_answered", id="answers"),
        pytest.param(_startable(POOL), "measurements", "ix_measurements_open", id="open blocks"),
    ],
)
def test_neither_jobs_nor_blocks_of_years_are_read_for_what_is_new(
    filled: tuple[str, Years], query: Select[Any], table: str, index: str
) -> None:
    engine = make_engine(filled[0])
    try:
        found = plan(engine, query)
    finally:
        engine.dispose()
    assert f"Seq Scan on {table}" not in found
    assert "WindowAgg" not in found  # it would read all rows, by an index too
    assert index in found
