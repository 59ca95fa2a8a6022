"""The neighbour of a noisy host: a process that keeps one CPU busy for a share of the time.

`python -I -S tests/hog.py CPU SHARE SECONDS` says "on" once it is there.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

PERIOD_S = 0.05


@contextmanager
def hog(cpu: int, share: float, *, longest_s: float) -> Iterator[None]:
    """Something else on `cpu` while the context lasts; it ends by itself after `longest_s`."""
    words = [sys.executable, "-I", "-S", __file__, str(cpu), str(share), str(longest_s)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.terminate()


def burn(cpu: int, share: float, seconds: float) -> None:
    """Use `share` of the CPU's time, by the process' own clock: waiting for it is not using it."""
    os.sched_setaffinity(0, {cpu})
    os.write(1, b"on\n")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        period_ends = time.monotonic() + PERIOD_S
        enough = time.process_time() + share * PERIOD_S
        while time.process_time() < enough and time.monotonic() < period_ends:
            pass
        time.sleep(max(0.0, period_ends - time.monotonic()))


if __name__ == "__main__":
    burn(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
