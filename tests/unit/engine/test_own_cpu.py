"""The engine's processes among all others."""

from pathlib import Path

import pytest

from tuner.bench.engine.counters import used_s


def process(proc: Path, pid: int, name: str, utime: int, stime: int) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    between = " ".join(["1"] * 10)
    (folder / "stat").write_text(f"{pid} ({name}) S {between} {utime} {stime} 0 0 20 0\n")


def test_only_the_engines_own_processes_count(tmp_path: Path) -> None:
    process(tmp_path, 10, "dockerd", 300, 100)
    process(tmp_path, 11, "containerd-shim", 20, 30)
    process(tmp_path, 12, "uwsgi) (x", 9000, 9000)
    (tmp_path / "13").mkdir()  # it ended while we looked
    (tmp_path / "self").mkdir()
    assert used_s(tmp_path) == pytest.approx(4.5)


def test_an_engine_out_of_sight_is_none(tmp_path: Path) -> None:
    process(tmp_path, 12, "python3", 1, 1)
    assert used_s(tmp_path) is None
