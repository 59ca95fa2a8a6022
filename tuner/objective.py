"""Windows to scores: how a candidate did against the baseline of the same block.

Scores are log ratios: noise of a benchmark is multiplicative, so ratios become differences and
a drift of the host, which both sides meet alike, cancels. Bounds are kept apart from the score:
a broken one is never traded for the objective.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from tuner.model import (
    JobSpec,
    Measurement,
    MeasurementState,
    Metric,
    Outcome,
    RelativeBound,
    TrialState,
    Window,
)

ERRORS_ALLOWED = 0.001
"""Share of requests that may fail beyond the baseline's own where no SLO says otherwise."""

NOTHING_TO_SHOW = 100.0
"""The excess of a bound on a metric that has no value: beyond any real log ratio, and storable."""


def usable(windows: Iterable[Window], side: int) -> list[Window]:
    """The windows of one side that say something about its configuration."""
    return [window for window in windows if window.side == side and not window.is_void]


def log_level(windows: Sequence[Window], metric: Metric) -> float | None:
    """Mean log of a metric over windows; None where one of them has no positive value."""
    values = [window.value(metric) for window in windows]
    logs = [math.log(value) for value in values if value is not None and value > 0]
    return fmean(logs) if logs and len(logs) == len(values) else None


def log_ratio(block: Measurement, metric: Metric, *, of: int = 1, to: int = 0) -> float | None:
    """log(side `of` / side `to`) of a metric within one block; None where either has no value."""
    windows = block.windows
    numerator = log_level(usable(windows, of), metric)
    denominator = log_level(usable(windows, to), metric)
    return None if numerator is None or denominator is None else numerator - denominator


def error_rate(windows: Sequence[Window]) -> float:
    """Failed share of everything sent in these windows; 1 where nothing was sent."""
    failed = sum(window.errors for window in windows)
    sent = failed + sum(window.requests for window in windows)
    return failed / sent if sent else 1.0


def excesses(block: Measurement, spec: JobSpec) -> dict[str, float]:
    """By how much side 1 misses each bound, side 0 being the baseline; above 0 is broken.

    Error rates differ by a share of requests, respawns by a count, everything else by a log ratio.
    """
    windows = block.windows
    theirs, ours = usable(windows, 0), usable(windows, 1)
    found = {"respawns": float(_respawns(ours) - _respawns(theirs))}
    bounds = spec.slo.bounds()
    allowed = bounds.pop(Metric.ERROR_RATE, None)
    match allowed:
        case None:
            limit = error_rate(theirs) + ERRORS_ALLOWED
        case RelativeBound(relative_to_baseline=factor):
            limit = error_rate(theirs) * factor
        case _:
            limit = allowed
    found[Metric.ERROR_RATE.value] = error_rate(ours) - limit
    for metric, bound in bounds.items():
        level = log_level(ours, metric)
        reference = log_level(theirs, metric) if isinstance(bound, RelativeBound) else 0.0
        factor = bound.relative_to_baseline if isinstance(bound, RelativeBound) else bound
        if level is None or reference is None or factor <= 0:
            found[metric.value] = NOTHING_TO_SHOW
        else:
            found[metric.value] = level - reference - math.log(factor)
    return found


def _respawns(windows: Sequence[Window]) -> int:
    return sum(window.respawns for window in windows)


def outcome_of(blocks: Sequence[Measurement], spec: JobSpec) -> Outcome:
    """What a trial's blocks, each (baseline, candidate), amount to.

    A candidate that broke is infeasible; one whose blocks say nothing (all windows void, or the
    host's fault) is failed and tells the sampler nothing.
    """
    for block in blocks:
        if block.state is MeasurementState.FAILED and block.failure:
            own_fault = block.failure.side == 1
            state = TrialState.INFEASIBLE if own_fault else TrialState.FAILED
            return Outcome(state=state, score=None, constraints={}, failure=block.failure)
    doubts = tuple(sorted({d for block in blocks for w in block.windows for d in w.doubts}))
    if not any(usable(block.windows, 1) for block in blocks):
        return Outcome(state=TrialState.FAILED, score=None, constraints={}, doubts=doubts)
    per_block = [excesses(block, spec) for block in blocks]
    constraints = {name: max(found[name] for found in per_block) for name in per_block[0]}
    ratios = [log_ratio(block, spec.objective.metric) for block in blocks]
    known = [ratio for ratio in ratios if ratio is not None]
    if not known:
        return Outcome(
            state=TrialState.INFEASIBLE, score=None, constraints=constraints, doubts=doubts
        )
    score = spec.objective.sign * fmean(known)
    broken = any(excess > 0 for excess in constraints.values())
    state = TrialState.INFEASIBLE if broken else TrialState.COMPLETE
    return Outcome(state=state, score=score, constraints=constraints, doubts=doubts)
