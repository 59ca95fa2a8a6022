"""The target's cgroup, v1 or v2: CPU time, throttling, memory.

`docker stats` has the same figures, but takes one sample a second: the second reading within a
second takes 1.0 s. Reading the files takes 0.1 ms.
"""

import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median

from tuner.bench.measurement.cgroups import PEAK, V1_FILES, files_at

HOST_ROOT = "/sys/fs/cgroup"
MOUNT = "/tuner-cgroup"  # read-only in our containers
_PATTERNS = ("docker/{id}", "system.slice/docker-{id}.scope")  # of both cgroup drivers

_MARK = "==> "

SHOW_SCRIPT = (
    f'for f in "$@"; do [ "${{f##*/}}" != {PEAK} ] || [ -e "$f" ] || continue;'
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


def read_local(root: Path, files: Sequence[str]) -> dict[str, str]:
    """The files' texts by path. Raises `OSError` if this process cannot see them."""
    there = [file for file in files if not file.endswith(PEAK) or (root / file).exists()]
    return {file: (root / file).read_text() for file in there}


def split_shown(shown: str) -> dict[str, str]:
    """The output of `SHOW_SCRIPT` as texts by path."""
    parts = [part.partition("\n") for part in shown.split(_MARK)[1:]]
    return {path.strip(): text for path, _, text in parts}


# ---- How fast a CPU counts while something else runs on it
#
# On a shared host a CPU is up to twice as slow at times, for milliseconds or for minutes, likely
# while another guest uses the other half of its physical core. No counter of the kernel shows it:
# `steal` stays below 1 %. So a thread of ours counts on that CPU itself, some 1 % of the time. Its
# own CPU time is the clock, so that waiting for the CPU does not count.

EVERY_S = 0.02
STEPS = 700  # some 50 us
_FEWEST = 5  # samples; fewer are no mean of a window


@dataclass(frozen=True, slots=True)
class Speeds:
    """Samples of one CPU: the time of each (seconds since the epoch), and steps per microsecond."""

    samples: list[tuple[float, float]] = field(default_factory=list)

    def mean(self, since: float, until: float) -> float | None:
        """The mean between two times; None for too few samples."""
        found = [speed for at, speed in self.samples if since <= at <= until]
        return fmean(found) if len(found) >= _FEWEST else None


@contextmanager
def sampled(cpu: int | None) -> Iterator[Speeds]:
    """Sample that CPU as long as the context runs; nothing for None, or one we may not run on."""
    speeds, ended = Speeds(), threading.Event()
    if cpu is None:
        yield speeds
        return
    thread = threading.Thread(target=_sample, args=(cpu, speeds, ended), name="cpu-speed")
    thread.start()
    try:
        yield speeds
    finally:
        ended.set()
        thread.join()


def _sample(cpu: int, speeds: Speeds, ended: threading.Event) -> None:
    try:
        os.sched_setaffinity(0, {cpu})  # 0: this thread alone
    except OSError:  # this process runs in a container with other CPUs
        return
    while not ended.wait(EVERY_S):
        _count(STEPS // 3)  # the caches are the target's at first
        # The median: an interrupt is charged to the thread that it hits.
        took_us = median(_count(STEPS) for _ in range(3))
        if took_us > 0:
            speeds.samples.append((time.time(), STEPS / took_us))


def _count(steps: int) -> float:
    """Microseconds of CPU time that so many steps take."""
    began, total = time.thread_time_ns(), 0
    for number in range(steps):
        total += number * number
    return (time.thread_time_ns() - began) / 1000


# ---- CPU time of the engine's own processes, if this process can see them
#
# They read every line that a target logs: at 10 000 requests/s that takes half a CPU. The target
# causes this time; a noisy neighbour does not.

PROC = Path("/proc")
_NAMES = ("dockerd", "containerd", "containerd-shim")  # comm is cut after 15 characters
_CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def used_s(proc: Path = PROC) -> float | None:
    """Seconds that they have used so far; None if this process sees none of them."""
    found = [_cpu_s(stat) for stat in _stats(proc) if _name(stat) in _NAMES]
    return sum(found) if found else None


def _stats(proc: Path) -> list[str]:
    texts = []
    for entry in os.scandir(proc):
        if entry.name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                texts.append((proc / entry.name / "stat").read_text())
    return texts


def _name(stat: str) -> str:
    return stat[stat.index("(") + 1 : stat.rindex(")")]


def _cpu_s(stat: str) -> float:
    """utime and stime are fields 14 and 15; the name in brackets is field 2."""
    fields = stat[stat.rindex(")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS_PER_S
