"""The same figures from both versions of cgroups."""

import subprocess
from pathlib import Path

import pytest

from tuner.bench.engine import counters
from tuner.bench.measurement import Usage, cgroups

EXPECTED = Usage(
    cpu_s=1.5,
    periods=40,
    throttled_periods=10,
    memory_mb=8.0,
    system_cpu_s=0.5,
    memory_peak_mb=12.0,
    oom_kills=3,
)
V1 = {
    "cpuacct/docker/abc/cpuacct.usage": "1500000000\n",
    "cpuacct/docker/abc/cpuacct.stat": "user 100\nsystem 50\n",
    "cpu/docker/abc/cpu.stat": "nr_periods 40\nnr_throttled 10\nthrottled_time 123\n",
    "memory/docker/abc/memory.usage_in_bytes": "10485760\n",
    "memory/docker/abc/memory.stat": "inactive_file 1\ntotal_inactive_file 2097152\n",
    "memory/docker/abc/memory.max_usage_in_bytes": "12582912\n",
    "memory/docker/abc/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
}
V2 = {
    "docker/abc/cpu.stat": (
        "usage_usec 1500000\nsystem_usec 500000\nnr_periods 40\nnr_throttled 10\n"
    ),
    "docker/abc/memory.current": "10485760\n",
    "docker/abc/memory.stat": "anon 5\ninactive_file 2097152\n",
    "docker/abc/memory.events": "low 0\noom 3\noom_kill 3\n",
    "docker/abc/memory.peak": "12582912\n",
}


@pytest.mark.parametrize("texts", [V1, V2])
def test_usage(texts: dict[str, str]) -> None:
    assert cgroups.usage_of(texts) == EXPECTED


def written(root: Path, texts: dict[str, str], place: str = "docker/abc") -> None:
    for path, text in texts.items():
        file = root / path.replace("docker/abc", place)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.mark.parametrize(("version", "texts"), [(1, V1), (2, V2)])
@pytest.mark.parametrize("place", ["docker/{id}", "system.slice/docker-{id}.scope"])
def test_the_files_are_where_the_engine_puts_them(
    version: int, texts: dict[str, str], place: str, tmp_path: Path
) -> None:
    written(tmp_path, texts, place.format(id="abc"))
    found = counters.seen_from_here(tmp_path, version, "abc")
    assert found == counters.Cgroups(version, place, tmp_path)
    assert found.files("xyz")[0].startswith(("cpuacct/", "")[version - 1] + place.format(id="xyz"))
    assert all(place.format(id="xyz") in folder for folder in found.mounts(["xyz"]).values())
    assert counters.seen_from_here(tmp_path, version, "xyz") is None


def test_the_generator_gets_the_targets_folder_and_no_other() -> None:
    output = "find: gone\n/tuner-cgroup/memory/outer/docker/abc\n"
    found = counters.seen_by_find(output, 1, "abc")
    assert found is not None
    assert found.mounts(["xyz"]) == {
        f"/tuner-cgroup-xyz/{kind}": f"/sys/fs/cgroup/{kind}/outer/docker/xyz"
        for kind in ("cpu", "cpuacct", "memory")
    }
    assert found.files("xyz")[0] == "cpuacct/./cpuacct.usage"
    unified = counters.seen_by_find("/tuner-cgroup/system.slice/docker-abc.scope\n", 2, "abc")
    assert unified is not None
    place = "/sys/fs/cgroup/system.slice/docker-xyz.scope"
    assert unified.mounts(["xyz"]) == {"/tuner-cgroup-xyz": place}
    assert counters.seen_by_find("", 2, "abc") is None


def test_without_a_quota_nothing_is_throttled() -> None:
    usage = cgroups.usage_of({**V2, "docker/abc/cpu.stat": "usage_usec 5\nsystem_usec 1\n"})
    assert (usage.periods, usage.throttled_periods) == (0, 0)


def test_local_and_shown_files_read_alike(tmp_path: Path) -> None:
    written(tmp_path, V1)
    shown = "".join(f"==> {path}\n{text}" for path, text in V1.items())
    assert counters.read_local(tmp_path, list(V1)) == V1
    assert counters.split_shown(shown) == V1


def test_an_older_kernel_keeps_no_peak(tmp_path: Path) -> None:
    written(tmp_path, V2)
    (tmp_path / "docker/abc/memory.peak").unlink()
    read = counters.read_local(tmp_path, list(V2))
    argv = ["sh", "-c", counters.SHOW_SCRIPT, "sh", *(str(tmp_path / path) for path in V2)]
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert counters.split_shown(shown) == {
        f"{tmp_path}/{path}": text for path, text in read.items()
    }
    assert cgroups.usage_of(read).memory_peak_mb is None
