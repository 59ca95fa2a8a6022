"""How the memory of an app grows with the requests that it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from tuner.nouns.model import SERIES_STEP_S

REQUESTS = 10_000
FEWEST_STEPS = 6
UNSURE_MB = 0.3  # of one reading: the kernel counts 32 pages of a CPU at once; one digit is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """MB for each 10 000 requests, give or take `unsure_mb_per_10k`.

    `requests_left` is how many more fit into the memory limit; None if memory may not grow at all.
    """

    mb_per_10k: float
    unsure_mb_per_10k: float
    requests_left: int | None


def growth_of(memory_mb: Sequence[float], rps: float, limit_mb: float) -> Growth | None:
    """The growth in one run at `rps`, of its memory in each step; None for too short a run.

    The median of the slopes between all pairs of steps of the second half: one step of the cache or
    of the garbage collector does not move it. All workers share the requests, so the figure is
    that of one worker that answers them all.
    """
    later = memory_mb[len(memory_mb) // 2 :]
    if len(later) < FEWEST_STEPS or rps <= 0:
        return None
    slopes = [
        (later[last] - later[first]) / ((last - first) * SERIES_STEP_S)
        for first, last in combinations(range(len(later)), 2)
    ]
    grown, unsure = median(slopes) / rps, UNSURE_MB / (len(later) * SERIES_STEP_S) / rps
    left = round((limit_mb - later[-1]) / grown) if grown > unsure else None
    return Growth(
        mb_per_10k=REQUESTS * grown, unsure_mb_per_10k=REQUESTS * unsure, requests_left=left
    )
