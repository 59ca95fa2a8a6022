"""From windows to scores: a candidate against the baseline of the same block.

Scores are log ratios: benchmark noise is multiplicative. A drift of the host hits both arms alike
and cancels. Bounds are kept apart from the score: a gain never pays for a broken bound.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean

from tuner.nouns.model import (
    BASELINE,
    Aim,
    Bound,
    ClosedLoop,
    Doubt,
    JobSpec,
    Ladder,
    Measurement,
    MeasurementState,
    Metric,
    OpenLoop,
    Outcome,
    Paths,
    RelativeBound,
    TrialNumber,
    TrialState,
    Window,
)

ERRORS_ALLOWED = 0.001
"""Share of requests that may fail beyond the baseline's, if the SLO does not bound errors."""

NOTHING_TO_SHOW = 100.0
"""The excess of a bound on a metric without a value: above any real log ratio, and storable."""


FULL_FROM = 0.9
"""Share of its CPU limit from which the speed of the CPU decides how much an arm serves."""


THROUGHPUT_KEPT = 0.95
"""When minimising memory or CPU, the least share of the baseline's throughput to keep."""

P95_GUARD = 1.25
"""Largest ratio of a candidate's p95 to the baseline's, if the job does not bound p95.

A file is not better if it serves more on average and lets one request in twenty wait. A loss of
throughput is subtracted: in a closed loop, half the throughput doubles p95 anyway, and the score
already says so. One block is noisy, so this bound is wide and only keeps the search away from
cliffs. The confirmation allows a few percent.
"""


MEMORY_GUARD = 0.9
"""Share of the memory limit that a candidate may use, if the job does not bound memory.

The rest is room for larger requests. If the baseline uses more, its own use is the bound.
"""


def of_arm(windows: Iterable[Window], arm: int) -> list[Window]:
    """The windows of one arm."""
    return [window for window in windows if window.arm == arm]


def log_level(windows: Sequence[Window], metric: Metric) -> float | None:
    """Mean log of a metric over windows; None where one of them has no positive value."""
    values = [window.value(metric) for window in windows]
    logs = [math.log(value) for value in values if value is not None and value > 0]
    return fmean(logs) if logs and len(logs) == len(values) else None


def at_equal_speed(windows: Iterable[Window]) -> list[Window]:
    """The counted windows of one block, their throughput and p50 at one CPU speed.

    On a shared host the CPU is slower in one window than in the next, through no fault of the arm.
    An arm that fills its CPU serves in proportion to that speed, and its p50 is as much longer. The
    windows of a rung are changed if all of them have a speed and a full CPU, whatever their arms:
    they then say what each arm would have done at the mean of their speeds.
    """
    by_rung: dict[int, list[Window]] = defaultdict(list)
    for window in windows:
        by_rung[window.connections].append(window)
    return [window for rung in by_rung.values() for window in _at_mean_speed(rung)]


def _at_mean_speed(windows: Sequence[Window]) -> Sequence[Window]:
    logs = [
        math.log(window.surroundings.cpu_speed)
        for window in windows
        if window.surroundings.cpu_speed and (window.target_cpu or 0.0) >= FULL_FROM
    ]
    if len(logs) < len(windows):
        return windows
    mean = fmean(logs)
    return [
        _at_speed(window, math.exp(mean - log)) for window, log in zip(windows, logs, strict=True)
    ]


def _at_speed(window: Window, factor: float) -> Window:
    """p95 and p99 stay: they follow the slowest moments of a window, not its mean speed."""
    p50 = window.latency_p50_ms
    return replace(
        window,
        throughput_rps=window.throughput_rps * factor,
        latency_p50_ms=None if p50 is None else p50 / factor,
    )


def log_ratio(block: Measurement, metric: Metric, *, of: int = 1, to: int = 0) -> float | None:
    """log(arm `of` / arm `to`) of a metric within one block; None where either has no value.

    Throughput and p50 are compared at one speed of the CPU (`at_equal_speed`).
    """
    windows = at_equal_speed(window for window in block.counted if window.arm in (of, to))
    return difference(of_arm(windows, of), of_arm(windows, to), metric)


def difference(ours: Sequence[Window], theirs: Sequence[Window], metric: Metric) -> float | None:
    """log(ours / theirs) of a metric; None where either has no value."""
    own, other = log_level(ours, metric), log_level(theirs, metric)
    return None if own is None or other is None else own - other


def ratios_to_baseline(
    blocks: Iterable[Measurement], number: TrialNumber, metric: Metric, to: TrialNumber = BASELINE
) -> list[float]:
    """log(trial `number` / trial `to`) of every block in which both have a usable value."""
    found = (
        log_ratio(block, metric, of=block.arms.index(number), to=block.arms.index(to))
        for block in blocks
        if {number, to} <= set(block.arms)
    )
    return [ratio for ratio in found if ratio is not None]


def errors_of(windows: Iterable[Window]) -> tuple[int, int]:
    """Failed requests, and all requests that were sent."""
    counts = [(window.errors, window.errors + window.requests) for window in windows]
    return sum(failed for failed, _ in counts), sum(sent for _, sent in counts)


def failed_share(failed: int, sent: int) -> float:
    """The error rate; 1 where nothing was sent."""
    return failed / sent if sent else 1.0


def error_rate(windows: Sequence[Window]) -> float:
    """Failed share of all requests that were sent in these windows; 1 where nothing was sent."""
    return failed_share(*errors_of(windows))


def excesses(block: Measurement, spec: JobSpec) -> dict[str, float]:
    """The excess of arm 1 over each bound, with arm 0 as the baseline; above 0 is broken.

    The excess is a share of requests for error rates, a count for respawns, else a log ratio.
    Throughput must stay above its bound, everything else below. `P95_GUARD` and `MEMORY_GUARD` are
    bounds only if neither the objective nor the SLO names their metric.
    """
    theirs, ours = of_arm(block.counted, 0), of_arm(block.counted, 1)
    found = {"respawns": float(_respawns(ours) - _respawns(theirs))}
    bounds = spec.slo.bounds()
    allowed = bounds.pop(Metric.ERROR_RATE, None)
    found[Metric.ERROR_RATE.value] = error_excess(allowed, error_rate(ours), error_rate(theirs))
    at_speed = at_equal_speed(block.counted)
    for metric, bound in bounds.items():
        windows = at_speed if isinstance(bound, RelativeBound) else block.counted
        own, baselines = (log_level(of_arm(windows, arm), metric) for arm in (1, 0))
        found[metric.value] = excess(metric, bound, own, baselines)
    p95 = log_ratio(block, Metric.LATENCY_P95_MS) if _guards_p95(spec) else None
    if p95 is not None:
        rate = difference(ours, theirs, Metric.THROUGHPUT_RPS) or 0.0  # as counted, like p95
        found[Metric.LATENCY_P95_MS.value] = p95 + min(0.0, rate) - math.log(P95_GUARD)
    if Metric.MEMORY_MB not in spec.metrics:
        found |= _memory_excess(theirs, ours, MEMORY_GUARD * spec.limits.memory_mb)
    return found


def error_excess(bound: Bound | None, rate: float, baselines: float) -> float:
    """How far an error rate is beyond its bound; None is the tuner's own bound."""
    match bound:
        case None:
            return rate - (baselines + ERRORS_ALLOWED)
        case RelativeBound(relative_to_baseline=factor):
            return rate - baselines * factor
        case _:
            return rate - bound


def excess(metric: Metric, bound: Bound, level: float | None, baselines: float | None) -> float:
    """How far the log level of a metric is beyond its bound: a log ratio, above 0 if missed."""
    relative = isinstance(bound, RelativeBound)
    reference = baselines if relative else 0.0
    factor = bound.relative_to_baseline if isinstance(bound, RelativeBound) else bound
    limit = math.log(factor) if factor > 0 else -NOTHING_TO_SHOW
    if level is None or reference is None:
        return NOTHING_TO_SHOW
    return -metric.sign * (level - reference - limit)


def is_thrifty(main: Aim) -> bool:
    """Whether the objective could be met by a file that serves nothing."""
    return main.metric in (Metric.MEMORY_MB, Metric.RPS_PER_CPU)


def _memory_excess(
    theirs: Sequence[Window], ours: Sequence[Window], room_mb: float
) -> dict[str, float]:
    """The log ratio to `room_mb`, or to a baseline that uses more itself."""
    own, reference = (log_level(windows, Metric.MEMORY_MB) for windows in (ours, theirs))
    if own is None or reference is None:
        return {}
    return {Metric.MEMORY_MB.value: own - max(reference, math.log(room_mb))}


def _guards_p95(spec: JobSpec) -> bool:
    """Not for bursts and journeys: there a user waits for more than one request."""
    steady = isinstance(spec.workload, ClosedLoop | Ladder | Paths | OpenLoop)
    return steady and Metric.LATENCY_P95_MS not in spec.metrics


def _respawns(windows: Sequence[Window]) -> int:
    return sum(window.respawns for window in windows)


def outcome_of(blocks: Sequence[Measurement], spec: JobSpec) -> Outcome:
    """The outcome of a trial by its blocks, each (baseline, candidate).

    A candidate that broke in any block is infeasible. Blocks without usable windows are left out: a
    trial with no others has failed, and the sampler learns nothing from it. All `blocks` count.
    """
    failures = [b.failure for b in blocks if b.state is MeasurementState.FAILED and b.failure]
    own_fault = next((failure for failure in failures if failure.arm == 1), None)
    heard = [block for block in blocks if of_arm(block.counted, 1)]
    if own_fault is not None or not heard:
        return Outcome(
            state=TrialState.FAILED if own_fault is None else TrialState.INFEASIBLE,
            blocks=len(blocks),
            doubts=_doubts(blocks),
            failure=own_fault or next(iter(failures), None),
        )
    constraints = _mean_excesses(heard, spec)
    gains = _gains(heard, spec)
    score = gains.get(spec.objective.metric.value)
    broken = score is None or any(excess > 0 for excess in constraints.values())
    cut_short = any(block.result.is_cut_short for block in heard if block.result is not None)
    sound = TrialState.PRUNED if cut_short else TrialState.COMPLETE
    return Outcome(
        state=TrialState.INFEASIBLE if broken else sound,
        score=score,
        constraints=constraints,
        blocks=len(blocks),
        gains=gains,
        doubts=_doubts(blocks),
    )


def _mean_excesses(blocks: Sequence[Measurement], spec: JobSpec) -> dict[str, float]:
    """The mean over all blocks: by the worst one, chance would rule out sound trials."""
    found = [excesses(block, spec) for block in blocks]
    names = dict.fromkeys(name for excess in found for name in excess)
    return {name: fmean(e[name] for e in found if name in e) for name in names}


def _gains(blocks: Sequence[Measurement], spec: JobSpec) -> dict[str, float]:
    """Mean log ratio of every metric of the objective that has values, more being better."""
    gains: dict[str, float] = {}
    for aim in spec.objective.aims:
        ratios = [log_ratio(block, aim.metric) for block in blocks]
        known = [ratio for ratio in ratios if ratio is not None]
        if known:
            gains[aim.metric.value] = aim.sign * fmean(known)
    return gains


def _doubts(blocks: Sequence[Measurement]) -> tuple[Doubt, ...]:
    return tuple(sorted({d for block in blocks for w in block.windows for d in w.doubts}))


def versus(block: Measurement, arm: int) -> Measurement:
    """A block of many arms as one of (baseline, that arm); the baseline is its arm 0."""
    windows = tuple(
        replace(window, arm=int(window.arm != 0))
        for window in block.windows
        if window.arm in (0, arm)
    )
    result = replace(block.result, windows=windows) if block.result is not None else None
    failure = replace(block.failure, arm=1) if block.failure is not None else None
    return replace(block, arms=(block.arms[0], block.arms[arm]), result=result, failure=failure)
