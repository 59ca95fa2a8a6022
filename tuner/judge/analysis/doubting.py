"""From doubts of single windows to doubts of a file: the frequent ones."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import covariance, fmean, median, stdev, variance

from scipy import special

from tuner.judge import objective
from tuner.nouns.model import Doubt, Measurement, Metric, TrialNumber, Window

OFTEN = 0.1
"""Least share of windows for a doubt about the file; a doubt that voids always counts."""

UNSTABLE_RANGE = 0.3
"""Range of the starts of one file over their mean, above which they are unstable."""

FEWEST_STARTS = 4
"""Fewest starts to judge a range."""

_OWN_SHARE = 0.4
"""Least share of a file in the variance of its ratios to the others; below, it is their scatter."""

_WIDER = 2.0  # standard deviations of the baseline, beyond which a candidate's are wider
_WIDER_LEVEL = 0.001  # ... by an F-test of that level
_WIDE_SD = 0.05  # ... and wide enough to matter


@dataclass(frozen=True, slots=True)
class _Start:
    """Logs of the throughput of one start, and of the other files' in the same block."""

    own: float
    others: float | None


def frequent(windows: Sequence[Window]) -> tuple[Doubt, ...]:
    """Doubts of at least a tenth of the windows, and every one that voids, in the table's order."""
    often = max(1, math.ceil(OFTEN * len(windows)))
    counts = {doubt: sum(doubt in window.doubts for window in windows) for doubt in Doubt}
    return tuple(doubt for doubt, count in counts.items() if count >= (1 if doubt.voids else often))


def unstable_arms(blocks: Sequence[Measurement]) -> set[TrialNumber]:
    """Trials whose starts differ so much that one deployment may be far from the next.

    A host that drifts moves all files of a block alike: where a block has several, a file must
    stand out both by itself and against the others.
    """
    starts = _starts(blocks)
    return {
        number for number, own in starts.items() if _is_wide(own) or _is_wider(own, starts, number)
    }


def _starts(blocks: Sequence[Measurement]) -> dict[TrialNumber, list[_Start]]:
    found: dict[TrialNumber, list[_Start]] = defaultdict(list)
    for block in blocks:
        windows = objective.at_equal_speed(block.windows)
        levels = [
            (number, level)
            for arm, number in enumerate(block.arms)
            if (level := _level(windows, arm)) is not None
        ]
        for number, level in levels:
            others = [other for who, other in levels if who != number]
            found[number].append(_Start(level, median(others) if others else None))
    return found


def _level(windows: Sequence[Window], arm: int) -> float | None:
    return objective.log_level(objective.usable(windows, arm), Metric.THROUGHPUT_RPS)


def _is_wide(starts: Sequence[_Start]) -> bool:
    compared = [(start.own, start.others) for start in starts if start.others is not None]
    if not compared:
        return _relative_range([start.own for start in starts]) > UNSTABLE_RANGE
    own = [ours for ours, _ in compared]
    ratios = [ours - theirs for ours, theirs in compared]
    wide = all(_relative_range(logs) > UNSTABLE_RANGE for logs in (own, ratios))
    return wide and _own_share(own, ratios) >= _OWN_SHARE


def _own_share(own: Sequence[float], ratios: Sequence[float]) -> float:
    """Which share of the variance of `ratios` comes from the file itself; 0.5 where both are equal.

    A host that drifts adds the same to both files, and so nothing to this covariance (Grubbs 1948,
    "On estimating precision of measuring instruments").
    """
    return covariance(own, ratios) / variance(ratios)


def _relative_range(logs: Sequence[float]) -> float:
    """Largest less smallest over the mean; 0 where they are too few to say."""
    if len(logs) < FEWEST_STARTS:
        return 0.0
    values = [math.exp(log - logs[0]) for log in logs]
    return (max(values) - min(values)) / fmean(values)


def _is_wider(
    starts: Sequence[_Start],
    everyone: dict[TrialNumber, list[_Start]],
    number: TrialNumber,
) -> bool:
    """Whether a candidate's starts scatter more than twice as much as the baseline's."""
    baseline = everyone.get(TrialNumber(0), [])
    if number == 0 or min(len(starts), len(baseline)) < FEWEST_STARTS:
        return False
    own, reference = stdev(s.own for s in starts), stdev(s.own for s in baseline)
    if own < _WIDE_SD or own <= _WIDER * reference:
        return False
    if reference == 0:
        return True
    p = special.fdtrc(len(starts) - 1, len(baseline) - 1, (own / reference) ** 2)
    return bool(p < _WIDER_LEVEL)
