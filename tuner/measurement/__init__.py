"""One measurement on a benchmark host: start every side, warm up, alternate windows, always stop.

The sides of a block run at the same time but are loaded one after the other, in an order shuffled
anew for every cycle, so that a drift of the host meets all of them alike.
"""

from tuner.measurement.bench import MEMORY_PROBE_MORE, Bench
from tuner.measurement.host import (
    BuildInfo,
    Checked,
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
from tuner.measurement.preflight import completed, strict_copy
from tuner.measurement.recording import recorded
from tuner.measurement.sides import left_out, side_of

__all__ = [
    "MEMORY_PROBE_MORE",
    "Bench",
    "BuildInfo",
    "Checked",
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
    "completed",
    "counters_agree",
    "left_out",
    "recorded",
    "side_of",
    "strict_copy",
    "target_failed",
    "window_of",
]
