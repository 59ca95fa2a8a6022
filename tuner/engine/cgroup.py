"""The target's cgroup: CPU used, throttling, memory; cgroup v1 and v2.

`docker stats` has the same figures, but its collector wakes once a second: a second reading within
the same second waits for it (1.0 s, where reading the files takes 0.1 ms).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tuner.measurement import Usage

V1_FILES = (
    "cpuacct/{dir}/cpuacct.usage",
    "cpu/{dir}/cpu.stat",
    "memory/{dir}/memory.usage_in_bytes",
    "memory/{dir}/memory.stat",
)
V2_FILES = ("{dir}/cpu.stat", "{dir}/memory.current", "{dir}/memory.stat")
_MARK = "==> "
_BYTES_PER_MB = 1e6

SHOW_SCRIPT = f'for f in "$@"; do echo "{_MARK}$f"; cat "$f" || exit 1; done'
"""For `sh -c`, with the files as arguments; `split_shown` reads its output."""


def candidates(version: int, container: str) -> list[tuple[str, ...]]:
    """Where engines put a container's cgroup, below the root: the cgroupfs driver, then systemd."""
    files = V2_FILES if version == 2 else V1_FILES
    places = (f"docker/{container}", f"system.slice/docker-{container}.scope")
    return [tuple(file.format(dir=place) for file in files) for place in places]


def find_command(root: str, version: int, container: str) -> list[str]:
    """For a host that puts it elsewhere (an engine that runs in a container itself)."""
    start = root if version == 2 else f"{root}/memory"
    return ["find", start, "-maxdepth", "8", "-type", "d", "-name", f"*{container}*"]


def files_at(version: int, place: str) -> tuple[str, ...]:
    """The files of a cgroup whose place was found, relative to the root."""
    return tuple(file.format(dir=place) for file in (V2_FILES if version == 2 else V1_FILES))


def read_local(root: Path, files: Sequence[str]) -> dict[str, str]:
    """The files' texts by path. Raises `OSError` where this process cannot see them."""
    return {file: (root / file).read_text() for file in files}


def split_shown(shown: str, root: str) -> dict[str, str]:
    """The output of `SHOW_SCRIPT` as texts by path relative to `root`."""
    parts = [part.partition("\n") for part in shown.split(_MARK)[1:]]
    return {path.strip().removeprefix(f"{root}/"): text for path, _, text in parts}


def usage_of(texts: Mapping[str, str]) -> Usage:
    """Bring the files' texts together. Raises `KeyError` or `ValueError` where one is odd."""
    named = {Path(path).name: text for path, text in texts.items()}
    cpu = _table(named["cpu.stat"])
    memory = _table(named["memory.stat"])
    if "cpuacct.usage" in named:
        cpu_s = int(named["cpuacct.usage"]) / 1e9
        held = int(named["memory.usage_in_bytes"]) - memory["total_inactive_file"]
    else:
        cpu_s = cpu["usage_usec"] / 1e6
        held = int(named["memory.current"]) - memory["inactive_file"]
    return Usage(
        cpu_s=cpu_s,
        periods=cpu.get("nr_periods", 0),  # absent where no quota is set
        throttled_periods=cpu.get("nr_throttled", 0),
        memory_mb=max(0, held) / _BYTES_PER_MB,
    )


def _table(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in text.splitlines())}
