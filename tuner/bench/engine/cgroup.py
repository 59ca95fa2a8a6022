"""The target's cgroup, v1 or v2: CPU time, throttling, memory.

`docker stats` has the same figures, but takes one sample a second: the second reading within a
second takes 1.0 s. Reading the files takes 0.1 ms.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.bench.measurement import Usage
from tuner.nouns.model import BYTES_PER_MB

HOST_ROOT = "/sys/fs/cgroup"
MOUNT = "/tuner-cgroup"  # read-only in our containers
_PATTERNS = ("docker/{id}", "system.slice/docker-{id}.scope")  # of both cgroup drivers

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


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Where this host's engine puts the cgroup of a container.

    `pattern` is the place below the root, with `{id}` for the container. `root` is where this
    process sees the tree; None: it does not, and asks the generator's container.
    """

    version: int
    pattern: str
    root: Path | None

    def files(self, container: str) -> tuple[str, ...]:
        """The files of a container's cgroup, below the root or below the mount."""
        place = "." if self.root is None else self.pattern.format(id=container)
        return files_at(self.version, place)

    def mounts(self, containers: Iterable[str]) -> dict[str, str]:
        """The cgroups that the generator's container gets: by mount, the host's folder.

        The probe samples them while load is sent.
        """
        found = {}
        for container in containers:
            place, mount = self.pattern.format(id=container), mount_of(container)
            if self.version == 2:
                found[mount] = f"{HOST_ROOT}/{place}"
            else:
                kinds = sorted({file.partition("/")[0] for file in V1_FILES})
                found |= {f"{mount}/{kind}": f"{HOST_ROOT}/{kind}/{place}" for kind in kinds}
        return found


def mount_of(container: str) -> str:
    """Where the generator's container finds the cgroup of a container."""
    return f"{MOUNT}-{container[:12]}"


def seen_from_here(root: Path, version: int, container: str) -> Cgroups | None:
    """The cgroups below `root`, if they are this engine's."""
    for pattern in _PATTERNS:
        found = Cgroups(version, pattern, root)
        try:
            read_local(root, found.files(container))
        except OSError:
            continue
        return found
    return None


def find_command(version: int, container: str) -> list[str]:
    """Finds the cgroup in the host's whole tree, mounted at `MOUNT`."""
    return ["find", _start(version), "-maxdepth", "8", "-type", "d", "-name", f"*{container}*"]


def seen_by_find(output: str, version: int, container: str) -> Cgroups | None:
    """The cgroups in the output of `find_command`; None if it found nothing."""
    start = f"{_start(version)}/"
    places = [line.removeprefix(start) for line in output.splitlines() if line.startswith(start)]
    return Cgroups(version, places[0].replace(container, "{id}"), None) if places else None


def _start(version: int) -> str:
    return MOUNT if version == 2 else f"{MOUNT}/memory"


def files_at(version: int, place: str) -> tuple[str, ...]:
    """The files of the cgroup at `place`, relative to the root."""
    return tuple(file.format(dir=place) for file in (V2_FILES if version == 2 else V1_FILES))


def read_local(root: Path, files: Sequence[str]) -> dict[str, str]:
    """The files' texts by path. Raises `OSError` if this process cannot see them."""
    there = [file for file in files if not file.endswith(_PEAK) or (root / file).exists()]
    return {file: (root / file).read_text() for file in there}


def split_shown(shown: str) -> dict[str, str]:
    """The output of `SHOW_SCRIPT` as texts by path."""
    parts = [part.partition("\n") for part in shown.split(_MARK)[1:]]
    return {path.strip(): text for path, _, text in parts}


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
