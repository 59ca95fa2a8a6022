"""The database as a file, and back: by PostgreSQL's own programs, on real databases."""

import fcntl
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from tests import builders, finished_jobs
from tests.later_version import versions
from tests.postgres import as_superuser, fresh_database
from tests.unit.api.fakes import Api
from tests.unit.cli.conftest import run
from tuner.nouns.errors import Conflict, InvalidInput, Unavailable
from tuner.store.db import Store, dumps, make_engine
from tuner.store.queue import Queue

PATHS = (
    "/v1/jobs",
    "/v1/jobs/1",
    "/v1/jobs/1/windows",
    "/v1/jobs/1/trials",
    "/v1/jobs/2/recommendation",
    "/v1/jobs/2/uwsgi.ini",
    "/v1/jobs/2/report?format=json",
    "/v1/apps/checkout/recommendation",
)


@contextmanager
def store_on(url: str) -> Iterator[Store]:
    engine = make_engine(url)
    yield Store(engine, Queue())
    engine.dispose()


@pytest.fixture
def filled(database_url: str) -> str:
    """A database with a job that searches, and one that has its answer."""
    with store_on(database_url) as store:
        made = store.create_job(builders.spec(), idempotency_key="a key", request_sha256="")
        finished_jobs.measured(store, made[0].job.id, blocks=3)
        finished_jobs.stored(store, finished_jobs.recommendation(), pool="other")
    return database_url


def answers(url: str) -> dict[str, bytes]:
    with store_on(url) as store:
        found = {path: Api(store).get(path) for path in PATHS}
    assert {path: answer.status_code for path, answer in found.items()} == dict.fromkeys(PATHS, 200)
    return {path: answer.content for path, answer in found.items()}


def has_statistics(url: str) -> bool:
    with psycopg.connect(url) as connection:
        query = "SELECT EXISTS (SELECT FROM pg_stats WHERE tablename = 'jobs')"
        return connection.execute(query).fetchone() == (True,)


def revision(url: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    assert row is not None
    return str(row[0])


def test_what_is_restored_gives_the_same_answers_to_the_byte(filled: str, tmp_path: Path) -> None:
    file = tmp_path / "tuner.dump"
    dumps.dump(filled, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["tuner.dump"]
    for template in ("template0", "migrated"):  # without tables, and with empty ones
        with fresh_database(template) as url:
            dumps.restore(url, file)
            assert has_statistics(url)  # at once: without them large tables are read as a whole
            assert answers(url) == answers(filled)
            dumps.check(url)
            with store_on(url) as store:  # numbers and events go on
                made = store.create_job(builders.spec(), idempotency_key=None, request_sha256="")
                assert made[0].job.id > 2
                assert not store.create_job(
                    builders.spec(), idempotency_key="a key", request_sha256=""
                )[1]


def test_a_database_with_jobs_is_not_overwritten(filled: str, tmp_path: Path) -> None:
    file = tmp_path / "tuner.dump"
    dumps.dump(filled, file)
    before = answers(filled)
    with pytest.raises(Conflict, match="has jobs already; restore into a new one"):
        dumps.restore(filled, file)
    assert answers(filled) == before


def test_nothing_is_restored_beside_a_service(filled: str, tmp_path: Path) -> None:
    file = tmp_path / "tuner.dump"
    dumps.dump(filled, file)
    with (
        fresh_database() as url,
        psycopg.connect(url),
        pytest.raises(Conflict, match="1 other connection"),
    ):
        dumps.restore(url, file)


def test_what_is_no_dump_changes_nothing(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.dump"
    with pytest.raises(InvalidInput, match="there is no such file"):
        dumps.restore(database_url, file)
    file.write_text("SELECT 1;\n")
    with pytest.raises(InvalidInput, match="is no dump"):
        dumps.restore(database_url, file)
    dumps.check(database_url)


def test_a_dump_that_breaks_off_leaves_a_database_that_can_be_filled(
    filled: str, tmp_path: Path
) -> None:
    whole, half = tmp_path / "whole.dump", tmp_path / "half.dump"
    dumps.dump(filled, whole)
    half.write_bytes(whole.read_bytes()[:-50])
    with fresh_database() as url:
        with pytest.raises(Unavailable, match="pg_restore"):
            dumps.restore(url, half)
        dumps.restore(url, whole)
        assert answers(url) == answers(filled)


def test_a_dump_of_an_older_version_is_brought_up_to_date(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tuner.dump"
    dumps.dump(filled, file)
    versions(tmp_path, monkeypatch)("20270101_later")
    with fresh_database() as url:
        dumps.restore(url, file)
        assert revision(url) == "20270101_later"
        dumps.check(url)
        assert len(answers(url)) == len(PATHS)


def test_before_a_migration_there_is_a_dump_and_only_the_newest_are_kept(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, add = tmp_path / "dumps", versions(tmp_path, monkeypatch)
    dumps.upgrade(filled, dump_into=folder)
    assert not folder.exists()  # nothing to migrate
    for later in ("20270101_a", "20270102_b", "20270103_c", "20270104_d"):
        add(later)
        dumps.upgrade(filled, dump_into=folder)
    kept = {"20270101_a", "20270102_b", "20270103_c"}
    assert {file.stem for file in folder.iterdir()} == kept


def test_where_no_dump_can_be_written_nothing_is_migrated(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = revision(filled)
    versions(tmp_path, monkeypatch)("20270101_later")
    (tmp_path / "dumps").write_text("in the way")
    monkeypatch.setenv("TUNER_DATABASE_URL", filled)
    monkeypatch.setenv("TUNER_DUMP_DIR", str(tmp_path / "dumps"))
    assert run("db", "upgrade") == 2
    assert "cannot be created" in capsys.readouterr().err
    assert revision(filled) == before
    monkeypatch.setenv("TUNER_DUMP_DIR", str(tmp_path / "other"))
    assert run("db", "upgrade") == 0
    assert [file.name for file in (tmp_path / "other").iterdir()] == [f"{before}.dump"]
    assert dumps.outdated(filled) is None


def test_the_commands_dump_and_restore(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tuner.dump"
    monkeypatch.setenv("TUNER_DATABASE_URL", filled)
    assert run("db", "dump", str(file)) == 0
    assert run("db", "restore", str(file)) == 4
    assert run("db", "dump", str(tmp_path / "nowhere" / "x.dump")) == 2
    with fresh_database() as url:
        monkeypatch.setenv("TUNER_DATABASE_URL", url)
        assert run("db", "restore", str(file)) == 0
        assert answers(url) == answers(filled)
    assert "is restored" in capsys.readouterr().out


RUNS_A_PROGRAM = """
CREATE FUNCTION public.run() RETURNS int LANGUAGE plpgsql AS $body$
BEGIN EXECUTE $$COPY (SELECT 1) TO PROGRAM 'cat > %(file)s'$$; RETURN 1; END $body$;
CREATE MATERIALIZED VIEW public.plant AS SELECT public.run() AS value;
"""


def test_a_foreign_dump_runs_no_program(filled: str, tmp_path: Path) -> None:
    """It holds code, which runs as the role that restores it: never as the superuser."""
    file = tmp_path / "foreign.dump"
    with tempfile.TemporaryDirectory() as name:
        folder, sign = Path(name), Path(name, "program-ran")
        folder.chmod(0o777)  # the server may be another user
        with psycopg.connect(as_superuser(filled), autocommit=True) as connection:
            connection.execute((RUNS_A_PROGRAM % {"file": sign}).encode())
        assert sign.exists()
        sign.unlink()
        dumps.dump(as_superuser(filled), file)
        with fresh_database("template0") as url:
            with pytest.raises(Unavailable, match="permission denied"):
                dumps.restore(url, file)
            assert not sign.exists()
            with pytest.raises(Conflict, match="--trusted"):
                dumps.restore(as_superuser(url), file)
            assert not sign.exists()
            dumps.restore(as_superuser(url), file, is_trusted=True)
            assert sign.exists()


def test_what_a_killed_dump_has_left_is_removed_by_the_next_one(
    filled: str, tmp_path: Path
) -> None:
    """It holds secrets. One that is still written stays."""
    left, written = tmp_path / ".dump-left", tmp_path / ".dump-written"
    left.write_text("half a dump")
    with written.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        dumps.dump(filled, tmp_path / "tuner.dump")
    assert {file.name for file in tmp_path.iterdir()} == {written.name, "tuner.dump"}


def test_without_room_for_a_dump_nothing_is_migrated(
    filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = revision(filled)
    versions(tmp_path, monkeypatch)("20270101_later")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    with pytest.raises(Unavailable, match="1 MB are left on the disk of"):
        dumps.upgrade(filled, dump_into=tmp_path / "dumps")
    assert revision(filled) == before
