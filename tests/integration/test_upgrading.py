"""The files of PostgreSQL 17 become files of ours: with real programs, real rows, real kills."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import builders, filled_rows
from tests.integration.test_dumps import store_on
from tests.integration.test_migrations import NEWEST
from tests.later_version import versions
from tests.older_files import (
    SETTINGS,
    Answers,
    answers,
    filled,
    home,
    major,
    names,
    open_folder,
    programs,
    running,
    said_by_ours,
)
from tests.unit.api.fakes import Api
from tests.unit.cli.conftest import run
from tuner.store.db import EmbeddedPostgres, binaries, dumps, server

__all__ = ["filled", "home", "programs"]

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
    ("tuner.store.db.dumps", "dump", "during"),
    ("tuner.store.db.upgrading", "create", "after"),
    ("tuner.store.db.dumps", "fill", "during"),
    ("tuner.store.db.dumps", "require_equal", "after"),
    ("Path", "rename", "postgres.upgraded"),
    ("Path", "rename", "postgres.17"),
    ("Path", "rename", "postgres"),
)


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


def test_older_tables_are_migrated_after_the_files(
    home: Path, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions(tmp_path, monkeypatch)("20270101_later")
    assert run("db", "upgrade", "--old-bin", str(programs)) == 0
    assert [file.stem for file in (home / "dumps").iterdir()] == [NEWEST]
    with EmbeddedPostgres(home, settings=SETTINGS) as postgres:
        dumps.check(postgres.url)


def test_a_cluster_without_tables_is_upgraded_too(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_folder() as folder:
        server.create(programs, folder / "postgres", binaries.server_account())
        monkeypatch.setenv("TUNER_DATA_DIR", str(folder))
        assert run("db", "upgrade", "--old-bin", str(programs)) == 0
        assert major(folder / "postgres") == 18


@pytest.mark.full
@pytest.mark.timeout(900)  # seconds; eight upgrades one after the other
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
