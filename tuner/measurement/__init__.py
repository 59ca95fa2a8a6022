"""One measurement on a benchmark host: start all arms, warm up, alternate windows, always stop.

The arms of a block run at the same time and get load in turn. The order is shuffled for each
cycle, so a drift of the host affects all arms alike.
"""

from tuner.measurement.arms import arm_of, left_out
from tuner.measurement.bench import Bench
from tuner.measurement.course import Course, CourseStep
from tuner.measurement.host import (
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
from tuner.measurement.judging import counters_agree, window_of
from tuner.measurement.preflight import completed, strict_copy
from tuner.measurement.preparing import MEMORY_PROBE_MORE, Preparation
from tuner.measurement.refusals import refusal_in
from tuner.measurement.scenes import run_scenes
from tuner.measurement.windows import Circumstances, service_figures
