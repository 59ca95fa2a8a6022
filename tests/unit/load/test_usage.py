"""CPU and memory of containers, step by step, from their cgroups."""

import time
from pathlib import Path

import pytest

from tuner.bench.load.probe import usage
from tuner.bench.load.probe.rows import SERIES_STEP_S
from tuner.bench.load.probe.usage import Sample, series_of
from tuner.nouns.model import SERIES_STEP_S as STEP_OF_THE_MODEL

V1 = {
    "cpuacct/cpuacct.usage": "1500000000\n",
    "memory/memory.usage_in_bytes": "10485760\n",
    "memory/memory.stat": "inactive_file 1\ntotal_inactive_file 2097152\n",
}
V2 = {
    "cpu.stat": "usage_usec 1500000\nuser_usec 1\n",
    "memory.current": "10485760\n",
    "memory.stat": "anon 5\ninactive_file 2097152\n",
}


def written(folder: Path, texts: dict[str, str]) -> str:
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return str(folder)


def steady(cores: float, every_s: float, count: int) -> list[Sample]:
    """Samples of a container that keeps so many CPUs busy and takes 8 MB more each second."""
    times = [every_s * number for number in range(count)]
    return [Sample(100 + at, cores * at, 8 * at) for at in times]


@pytest.mark.parametrize("texts", [V1, V2])
def test_both_versions_of_cgroups_read_alike(texts: dict[str, str], tmp_path: Path) -> None:
    found = usage.read(written(tmp_path, texts))
    assert (found.cpu_s, found.memory_mb) == (1.5, 8.0)


def test_page_cache_that_is_counted_later_makes_no_negative_memory(tmp_path: Path) -> None:
    cached = {**V2, "memory.stat": "inactive_file 20971520\n"}
    assert usage.read(written(tmp_path, cached)).memory_mb == 0


def test_the_steps_of_a_window_are_those_of_the_model() -> None:
    assert SERIES_STEP_S == STEP_OF_THE_MODEL


@pytest.mark.parametrize("every_s", [0.25, 0.27, 0.6])
def test_a_late_sample_changes_no_rate(every_s: float) -> None:
    found = series_of(steady(0.5, every_s, 10), 100.1, 6)
    assert found["cores"] == [0.5] * 6
    assert found["memory_mb"] == [1.8, 3.8, 5.8, 7.8, 9.8, 11.8], "in the middle of each step"


def test_a_burst_of_work_is_in_its_own_step() -> None:
    quiet = steady(0.0, 0.25, 8)
    busy = [each._replace(cpu_s=0.25 * (n > 3) + 0.25 * (n > 4)) for n, each in enumerate(quiet)]
    assert series_of(busy, 100.0, 7)["cores"] == [0, 0, 0, 1, 1, 0, 0]


def test_a_container_that_ended_has_fewer_steps() -> None:
    assert len(series_of(steady(1.0, 0.25, 4), 100.0, 8)["cores"]) == 3
    assert series_of(steady(1.0, 0.25, 4), 200.0, 8) == {"cores": [], "memory_mb": []}


def test_a_watch_samples_at_both_ends_and_leaves_out_what_is_gone(tmp_path: Path) -> None:
    folders = {"app": written(tmp_path, V2), "db": str(tmp_path / "gone")}
    with usage.Watch(folders) as watch:
        began_s = time.monotonic()
        time.sleep(0.6 * SERIES_STEP_S)
        written(tmp_path, {"cpu.stat": "usage_usec 1600000\n"})
        time.sleep(0.6 * SERIES_STEP_S)
    found = watch.series(began_s, 1)
    assert list(found) == ["app"]
    assert found["app"]["cores"] == [pytest.approx(0.4, abs=0.1)]
    assert found["app"]["memory_mb"] == [8.0]
