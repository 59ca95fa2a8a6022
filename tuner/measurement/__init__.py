"""One measurement on a benchmark host: start every side, warm up, alternate windows, always stop.

The sides of a block run at the same time but are loaded one after the other, in an order shuffled
anew for every cycle, so that a drift of the host meets all of them alike.
"""

from tuner.measurement.bench import MEMORY_PROBE_MORE, Bench
from tuner.measurement.host import (
    BuildInfo,
    HostReading,
    Launcher,
    LoadGenerator,
    LoadReading,
    ProcessReading,
    QueueReading,
    RunningTarget,
    SideSpec,
    Usage,
    target_failed,
)
from tuner.measurement.judging import Circumstances, counters_agree, window_of
from tuner.measurement.recording import recorded

__all__ = [
    "MEMORY_PROBE_MORE",
    "Bench",
    "BuildInfo",
    "Circumstances",
    "HostReading",
    "Launcher",
    "LoadGenerator",
    "LoadReading",
    "ProcessReading",
    "QueueReading",
    "RunningTarget",
    "SideSpec",
    "Usage",
    "counters_agree",
    "recorded",
    "target_failed",
    "window_of",
]
