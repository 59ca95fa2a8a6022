"""What is said when the embedded server's files cannot be made or read."""

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tuner.nouns.errors import Unavailable
from tuner.store.db import binaries, server


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that the server's user may pass."""
    made = Path(tempfile.mkdtemp(prefix="tuner-unit-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("initdb: error: could not write: No space left on device", "is full: "),
        ("initdb: error: could not look up user", "initdb failed in .*could not look up user"),
    ],
)
def test_a_failing_initdb_is_quoted(folder: Path, said: str, told: str) -> None:
    program(folder, "initdb", f"echo '{said}' >&2; exit 1")
    with pytest.raises(Unavailable, match=told):
        server.create(folder, folder / "postgres", binaries.server_account())
    assert not (folder / "postgres").exists()
    assert not (folder / "postgres.new").exists()


def test_a_system_postgresql_of_another_major_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(folder, "pg_config", f"echo {folder}")
    program(folder, "postgres", "echo 'postgres (PostgreSQL) 15.4 (Debian 15.4-2)'")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(Unavailable, match=r"PostgreSQL 18 is needed, and .* holds 15\.4"):
        binaries.find()


def test_a_system_postgresql_of_our_major_is_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(folder, "pg_config", f"echo {folder}")
    program(folder, "postgres", "echo 'postgres (PostgreSQL) 18.1'")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    assert binaries.find() == folder


def test_no_postgresql_at_all_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(Unavailable, match="set TUNER_DATABASE_URL"):
        binaries.find()


@pytest.mark.parametrize(("mode", "stops"), [(0o700, True), (0o710, True), (0o711, False)])
def test_the_first_closed_directory_is_found(folder: Path, mode: int, stops: bool) -> None:
    somebody = binaries.Account("somebody", uid=54_321, gid=54_321)
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(mode)
    assert somebody.stopped_at(closed / "deeper" / "data") == (closed if stops else None)


def test_our_own_directories_are_open_to_us(folder: Path) -> None:
    entry = pwd.getpwuid(os.geteuid())
    ourselves = binaries.Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    folder.chmod(0o700)
    assert ourselves.stopped_at(folder / "data") is None
