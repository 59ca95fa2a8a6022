"""The files of a cgroup, v1 or v2, and the usage in their texts."""

from collections.abc import Mapping

from tuner.bench.measurement.host import Usage
from tuner.nouns.plain import BYTES_PER_MB

V1_FILES = (
    "cpuacct/{dir}/cpuacct.usage",
    "cpu/{dir}/cpu.stat",
    "cpuacct/{dir}/cpuacct.stat",
    "memory/{dir}/memory.usage_in_bytes",
    "memory/{dir}/memory.stat",
    "memory/{dir}/memory.max_usage_in_bytes",
    "memory/{dir}/memory.oom_control",
)
PEAK = "memory.peak"  # since Linux 5.19
V2_FILES = tuple(
    f"{{dir}}/{name}"
    for name in ("cpu.stat", "memory.current", "memory.stat", "memory.events", PEAK)
)
_TICKS_PER_S = 100  # the kernel's USER_HZ


def files_at(version: int, place: str) -> tuple[str, ...]:
    """The files of the cgroup at `place`, relative to the root."""
    return tuple(file.format(dir=place) for file in (V2_FILES if version == 2 else V1_FILES))


def files_of(places: Mapping[str, str]) -> tuple[str, ...]:
    """The files of one cgroup that has a place of its own for each controller of version 1.

    Version 2 has one place, under "".
    """
    if "" in places:
        return files_at(2, places[""] or ".")
    return tuple(f.format(dir=places.get(f.partition("/")[0]) or ".") for f in V1_FILES)


LIMIT_FILES = (
    *("cpu.max", "memory.max"),
    *("cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes"),
)


def quota_of(texts: Mapping[str, str]) -> float | None:
    """The CPUs that a cgroup may use, from its files by name; None without a quota."""
    v1 = (texts.get("cpu.cfs_quota_us", "-1"), texts.get("cpu.cfs_period_us", "100000"))
    quota, period = texts["cpu.max"].split() if "cpu.max" in texts else v1
    return None if quota == "max" or int(quota) <= 0 else int(quota) / int(period)


def memory_of(texts: Mapping[str, str]) -> int | None:
    """The bytes that a cgroup may hold; None without a limit. Version 1 says 2**63 instead."""
    limit = texts.get("memory.max", texts.get("memory.limit_in_bytes", "max")).strip()
    return None if limit == "max" else int(limit)


def usage_of(texts: Mapping[str, str]) -> Usage:
    """The usage in the files' texts. Raises `KeyError` or `ValueError` for an unknown format."""
    named = {path.rpartition("/")[2]: text for path, text in texts.items()}
    return _usage_v1(named) if "cpuacct.usage" in named else _usage_v2(named)


def _usage_v1(named: Mapping[str, str]) -> Usage:
    cpu, memory = _table(named["cpu.stat"]), _table(named["memory.stat"])
    held = int(named["memory.usage_in_bytes"]) - memory["total_inactive_file"]
    return Usage(
        cpu_s=int(named["cpuacct.usage"]) / 1e9,
        periods=cpu.get("nr_periods", 0),
        throttled_periods=cpu.get("nr_throttled", 0),
        memory_mb=max(0, held) / BYTES_PER_MB,
        # The kernel samples it in steps of 10 ms.
        system_cpu_s=_table(named["cpuacct.stat"])["system"] / _TICKS_PER_S,
        memory_peak_mb=int(named["memory.max_usage_in_bytes"]) / BYTES_PER_MB,
        oom_kills=_table(named["memory.oom_control"]).get("oom_kill", 0),  # since Linux 4.13
    )


def _usage_v2(named: Mapping[str, str]) -> Usage:
    cpu, memory = _table(named["cpu.stat"]), _table(named["memory.stat"])
    held = int(named["memory.current"]) - memory["inactive_file"]
    return Usage(
        cpu_s=cpu["usage_usec"] / 1e6,
        periods=cpu.get("nr_periods", 0),  # missing without a quota
        throttled_periods=cpu.get("nr_throttled", 0),
        memory_mb=max(0, held) / BYTES_PER_MB,
        system_cpu_s=cpu["system_usec"] / 1e6,
        memory_peak_mb=int(named[PEAK]) / BYTES_PER_MB if PEAK in named else None,
        oom_kills=_table(named["memory.events"])["oom_kill"],
    )


def _table(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in text.splitlines())}
