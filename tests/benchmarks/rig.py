"""What the benchmarks do alike: how they begin and stop, and how they print figures."""

import argparse
import os
import platform
import signal
import time
from collections.abc import Sequence
from statistics import median, quantiles


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser whose `--help` is the module's docstring as it was written."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def begin() -> None:
    """Print what the figures below were seen on.

    From here on SIGTERM stops the benchmark as Ctrl-C does: it leaves no service behind.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job ignores SIGINT
        signal.signal(number, signal.default_int_handler)
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Linux {platform.release()}")
    print(f"{time.strftime('%F %T')}, load average {os.getloadavg()[0]:.2f}\n", flush=True)


def middle_half(values: Sequence[float], digits: int = 2) -> str:
    """The median with the quartiles around it."""
    if len(values) < 2:
        return f"{values[0]:.{digits}f} (n 1)" if values else "none"
    low, _, high = quantiles(values, n=4, method="inclusive")
    return (
        f"{median(values):.{digits}f} (middle half {low:.{digits}f} .. {high:.{digits}f},"
        f" n {len(values)})"
    )


def row(what: str, value: str) -> None:
    """One line of a table."""
    print(f"{what:<44} {value}", flush=True)
