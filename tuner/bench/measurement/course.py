"""How a run of load went over time, and when it was normal again after something went wrong."""

from dataclasses import dataclass
from datetime import datetime
from statistics import mean, median

from tuner.nouns.model import SERIES_STEP_S

SLOWER_BY = 3.0  # than before: no longer normal
SLOW_FROM_MS = 100.0  # below, latency is normal in any case
FEWER_THAN = 0.5  # of the answers of a step before: no longer normal
COUNTS_FROM = 4.0  # answers of a step: fewer come and go by chance
NORMAL_FOR = 3  # steps: one alone may be luck


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseStep:
    """The answers to the requests that were due in a quarter of a second."""

    answered: int
    p95_ms: float | None  # None without an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseFigures:
    """What the probe counts in one run of load. `steps` begin with the load.

    `late` counts the answers after the limit, and among them `unsent`: requests that a connection
    did not send because it waited.
    """

    late: int
    unsent: int
    longest_gap_s: float  # without an answer
    steps: tuple[CourseStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course(CourseFigures):
    """One run of load over time, its failures included."""

    started_at: datetime
    sent: int
    failed: int

    @property
    def due(self) -> int:
        """All requests of the run, also those that waited in vain for their turn."""
        return self.sent + self.unsent

    def back_to_normal_s(self, since_s: float, until_s: float) -> float | None:
        """Seconds from `since_s`, when a scene began, until all is normal again.

        0 if nothing was amiss until `until_s`, when it ended. At most the rest of the run. None if
        nothing was answered before. Both are seconds of the run.
        """
        first, last = max(1, int(since_s / SERIES_STEP_S)), int(until_s / SERIES_STEP_S)
        before = [step for step in self.steps[:first] if step.p95_ms is not None]
        if not before:
            return None
        usual = mean(step.answered for step in self.steps[:first])
        most_ms = max(SLOW_FROM_MS, SLOWER_BY * median(step.p95_ms or 0.0 for step in before))
        good = [_is_normal(step, usual, most_ms) for step in self.steps]
        bad = next((n for n in range(first, min(last + 1, len(good))) if not good[n]), None)
        if bad is None:
            return 0.0
        starts = range(bad + 1, len(good) - NORMAL_FOR + 1)
        back = next((n for n in starts if all(good[n : n + NORMAL_FOR])), len(good))
        return max(0.0, back * SERIES_STEP_S - since_s)


def _is_normal(step: CourseStep, usual: float, most_ms: float) -> bool:
    """`usual` is the number of answers of a step before."""
    fewest = FEWER_THAN * usual if usual >= COUNTS_FROM else 0.0
    return step.answered >= fewest and (step.p95_ms or 0.0) <= most_ms
