"""A box of memory that this process shares with its children: a cgroup (v1). It needs root."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MEMORY = Path("/sys/fs/cgroup/memory")  # of cgroup v1
BOX_MB = 700
EATS_WITHIN_S = 30.0
EATER = """
import time
kept = []
while True:
    kept.append(b"x" * (8 << 20))
    time.sleep(0.02)
"""


def may_be_made() -> bool:
    """Whether this machine has cgroups of version 1."""
    return (MEMORY / "memory.limit_in_bytes").exists()


@contextmanager
def entered() -> Iterator[Path]:
    """This process, and the children that it starts, in a box of their own."""
    box = MEMORY / f"tuner-scene-{os.getpid()}"
    box.mkdir()
    try:
        (box / "memory.limit_in_bytes").write_text(str(BOX_MB << 20))
        (box / "cgroup.procs").write_text(str(os.getpid()))
        yield box
    finally:
        (MEMORY / "cgroup.procs").write_text(str(os.getpid()))


def remove_empty() -> None:
    """Remove the boxes of processes that have ended."""
    for box in MEMORY.glob("tuner-scene-*"):
        with suppress(OSError):  # its last process is still ending
            box.rmdir()


def eat_until_one_is_killed(box: Path) -> None:
    """A hungry process, until the kernel has killed another one in the box."""
    before = oom_kills(box)
    eater = subprocess.Popen([sys.executable, "-c", EATER])
    try:
        deadline = time.monotonic() + EATS_WITHIN_S
        while oom_kills(box) == before:
            assert time.monotonic() < deadline, "the memory is not used up"
            time.sleep(0.02)
    finally:
        eater.kill()
        eater.wait()


def oom_kills(box: Path) -> int:
    """How many processes the kernel has killed in it."""
    return int((box / "memory.oom_control").read_text().split()[-1])
