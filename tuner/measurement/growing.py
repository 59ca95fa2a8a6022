"""How the memory of an app grows with the requests that it answers."""

from itertools import combinations
from statistics import median

from tuner.measurement.host import LoadReading
from tuner.model import APP, SERIES_STEP_S

REQUESTS = 10_000
FEWEST_STEPS = 6


def growth_mb_per_10k(reading: LoadReading) -> float | None:
    """MB for each 10 000 requests of the app; None for too short a run.

    The median of the slopes between all pairs of steps of the second half: one step of the cache or
    of the garbage collector does not move it. All workers share the requests, so the figure is
    that of one worker that answers them all.
    """
    used = reading.over_time.usage.get(APP)
    memory_mb = used.memory_mb if used is not None else ()
    later = memory_mb[len(memory_mb) // 2 :]
    if len(later) < FEWEST_STEPS or not reading.requests:
        return None
    slopes = [
        (later[last] - later[first]) / ((last - first) * SERIES_STEP_S)
        for first, last in combinations(range(len(later)), 2)
    ]
    return median(slopes) / (reading.requests / reading.duration_s) * REQUESTS
