"""One measurement on a benchmark host: start all arms, warm up, alternate windows, always stop.

The arms of a block run at the same time and get load in turn. The order is shuffled for each
cycle, so a drift of the host affects all arms alike.
"""

from tuner.bench.measurement.bench import Bench
from tuner.bench.measurement.course import Course, CourseStep
from tuner.bench.measurement.driving import counters_agree, refusal_in, window_of
from tuner.bench.measurement.host import (
    Answer,
    ArmSpec,
    BuildInfo,
    Checked,
    Disturbance,
    Disturbed,
    HostReading,
    Launcher,
    LoadGenerator,
    LoadReading,
    Placement,
    ProcessReading,
    QueueReading,
    RunningTarget,
    Speeds,
    Usage,
    target_failed,
)
from tuner.bench.measurement.preparing import (
    MEMORY_PROBE_MORE,
    Preparation,
    arm_of,
    completed,
    left_out,
    strict_copy,
)
from tuner.bench.measurement.scenes import run_scenes
from tuner.bench.measurement.windows import Circumstances, service_figures
