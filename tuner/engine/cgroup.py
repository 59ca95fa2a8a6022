"""The target's cgroup, v1 or v2: CPU time, throttling, memory.

`docker stats` has the same figures, but takes one sample a second: the second reading within a
second takes 1.0 s. Reading the files takes 0.1 ms.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tuner.measurement import Usage
from tuner.model import BYTES_PER_MB

V1_FILES = (
    "cpuacct/{dir}/cpuacct.usage",
    "cpu/{dir}/cpu.stat",
    "cpuacct/{dir}/cpuacct.stat",
    "memory/{dir}/memory.usage_in_bytes",
    "memory/{dir}/memory.stat",
    "memory/{dir}/memory.max_usage_in_bytes",
    "memory/{dir}/memory.oom_control",
)
_PEAK = "memory.peak"  # since Linux 5.19
V2_FILES = tuple(
    f"{{dir}}/{name}"
    for name in ("cpu.stat", "memory.current", "memory.stat", "memory.events", _PEAK)
)
_MARK = "==> "
_TICKS_PER_S = 100  # the kernel's USER_HZ

SHOW_SCRIPT = (
    f'for f in "$@"; do [ "${{f##*/}}" != {_PEAK} ] || [ -e "$f" ] || continue;'
    f' echo "{_MARK}$f"; cat "$f" || exit 1; done'
)
"""For `sh -c`, with the files as arguments; `split_shown` reads its output."""


def candidates(version: int, container: str) -> list[tuple[str, ...]]:
    """The files of a container's cgroup: with the cgroupfs driver, and with systemd."""
    places = (f"docker/{container}", f"system.slice/docker-{container}.scope")
    return [files_at(version, place) for place in places]


def find_command(root: str, version: int, container: str) -> list[str]:
    """Finds the cgroup on other hosts, such as an engine that itself runs in a container."""
    start = root if version == 2 else f"{root}/memory"
    return ["find", start, "-maxdepth", "8", "-type", "d", "-name", f"*{container}*"]


def files_at(version: int, place: str) -> tuple[str, ...]:
    """The files of the cgroup at `place`, relative to the root."""
    return tuple(file.format(dir=place) for file in (V2_FILES if version == 2 else V1_FILES))


def read_local(root: Path, files: Sequence[str]) -> dict[str, str]:
    """The files' texts by path. Raises `OSError` if this process cannot see them."""
    there = [file for file in files if not file.endswith(_PEAK) or (root / file).exists()]
    return {file: (root / file).read_text() for file in there}


def split_shown(shown: str, root: str) -> dict[str, str]:
    """The output of `SHOW_SCRIPT` as texts by path relative to `root`."""
    parts = [part.partition("\n") for part in shown.split(_MARK)[1:]]
    return {path.strip().removeprefix(f"{root}/"): text for path, _, text in parts}


def usage_of(texts: Mapping[str, str]) -> Usage:
    """The usage in the files' texts. Raises `KeyError` or `ValueError` for an unknown format."""
    named = {Path(path).name: text for path, text in texts.items()}
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
        memory_peak_mb=int(named[_PEAK]) / BYTES_PER_MB if _PEAK in named else None,
        oom_kills=_table(named["memory.events"])["oom_kill"],
    )


def _table(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in text.splitlines())}
