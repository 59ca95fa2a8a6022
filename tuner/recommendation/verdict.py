"""Fresh blocks to a verdict: the gain, the bounds, and what must not get worse for it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median, stdev

from tuner import analysis, objective
from tuner.model import (
    Comparison,
    Effect,
    JobSpec,
    Measurement,
    MeasurementState,
    Metric,
    Verdict,
    Window,
)

P95_MARGIN = 0.05
"""A recommended file's p95 is at most so much longer, shown at the 95 % level."""

ERRORS_MARGIN = objective.ERRORS_ALLOWED
"""Share of requests that may fail beyond the baseline's own, shown at the 95 % level."""

_Z_95 = 1.645  # one-sided
_WATCHED = (Metric.THROUGHPUT_RPS, Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.MEMORY_MB)


def is_decided(blocks: Sequence[Measurement], spec: JobSpec) -> bool:
    """Whether the confirmation may end with these blocks: a look crossed its bound, the candidate
    broke, or there are no more blocks to come."""
    return (
        _break_of(blocks) is not None
        or len(blocks) >= spec.budget.confirm_blocks
        or (len(blocks) in looks_of(spec) and _confirmation(blocks, spec).ended)
    )


def looks_of(spec: JobSpec) -> tuple[int, ...]:
    """After how many blocks the confirmation is looked at."""
    return analysis.looks_of(spec.budget.confirm_blocks)


def compare_blocks(blocks: Sequence[Measurement], spec: JobSpec) -> Comparison:
    """The verdict from blocks of (baseline, candidate), the bounds included.

    A candidate that broke in any fresh block, that misses a bound in most of them, or whose
    latency or errors got worse, is not recommended, whatever its speed.
    """
    broke = _break_of(blocks)
    if broke is not None:
        return _broken(len(blocks), f"it broke under load: {broke}")
    comparison = _by_gain(blocks, spec)
    ours = [window for block in blocks for window in objective.usable(block.windows, 1)]
    comparison = replace(
        comparison,
        requests=sum(window.requests for window in ours),
        errors=sum(window.errors for window in ours),
        side_effects=_side_effects(blocks, spec.objective.metric),
    )
    missed = _missed_bounds(blocks, spec)
    if missed and comparison.verdict is not Verdict.WORSE:
        names = ", ".join(sorted(missed))
        reason = f"it does not keep its bounds: {names}"
        return replace(comparison, verdict=Verdict.WORSE, reason=reason, broken=missed)
    comparison = replace(comparison, broken=missed)
    return _not_at_the_cost(comparison, blocks, spec)


def _break_of(blocks: Sequence[Measurement]) -> str | None:
    for block in blocks:
        if block.state is MeasurementState.FAILED and block.failure and block.failure.arm == 1:
            return block.failure.message
    return None


def _broken(blocks: int, reason: str) -> Comparison:
    return Comparison(
        verdict=Verdict.WORSE, effect=None, p_better=0.0, mde=None, blocks=blocks, reason=reason
    )


def _by_gain(blocks: Sequence[Measurement], spec: JobSpec) -> Comparison:
    """The verdict by the objective's metric alone."""
    main = spec.objective
    ratios = _ratios(blocks, main.metric)
    if len(ratios) < analysis.FEWEST_BLOCKS:
        return analysis.too_few(len(ratios))
    found = _confirmation(blocks, spec)
    return analysis.concluded(
        found, ratios, metric=main.metric, sign=main.sign, min_effect=spec.min_effect
    )


def _confirmation(blocks: Sequence[Measurement], spec: JobSpec) -> analysis.Confirmation:
    """The looks made so far, the last one at all of these blocks."""
    main = spec.objective
    made = sorted({look for look in looks_of(spec) if look < len(blocks)} | {len(blocks)})
    gains = [[main.sign * ratio for ratio in _ratios(blocks[:look], main.metric)] for look in made]
    enough = math.log1p(spec.min_effect)
    return analysis.confirm(gains, max(spec.budget.confirm_blocks, len(blocks)), enough=enough)


def _missed_bounds(blocks: Sequence[Measurement], spec: JobSpec) -> dict[str, float]:
    """The bounds whose median excess over the blocks is above 0."""
    per_block = [objective.excesses(b, spec) for b in blocks if objective.usable(b.windows, 1)]
    if not per_block:
        return {}
    names = {name for found in per_block for name in found}
    middle = {name: median(found.get(name, 0.0) for found in per_block) for name in names}
    return {name: excess for name, excess in middle.items() if excess > 0}


def _not_at_the_cost(
    comparison: Comparison, blocks: Sequence[Measurement], spec: JobSpec
) -> Comparison:
    """A gain stands only where latency and errors are shown not to be worse for it."""
    if comparison.verdict is not Verdict.BETTER:
        return comparison
    p95 = _p95_ratios(blocks, spec)
    if len(p95) >= analysis.FEWEST_BLOCKS:
        half = analysis.student_quantile(len(p95) - 1, 0.90) * stdev(p95) / math.sqrt(len(p95))
        low, high = math.expm1(fmean(p95) - half), math.expm1(fmean(p95) + half)
        if low > P95_MARGIN:
            reason = f"it is faster, but its p95 is at least {100 * low:.0f} % longer"
            return replace(comparison, verdict=Verdict.WORSE, reason=reason)
        if high > P95_MARGIN:
            reason = f"it is faster, but its p95 may be up to {100 * high:.0f} % longer"
            return replace(comparison, verdict=Verdict.INCONCLUSIVE, reason=reason)
    if not _errors_are_no_worse(blocks):
        reason = "it is faster, but more of its requests may fail than of the baseline's"
        return replace(comparison, verdict=Verdict.INCONCLUSIVE, reason=reason)
    return comparison


def _p95_ratios(blocks: Sequence[Measurement], spec: JobSpec) -> list[float]:
    """Log ratios of p95; empty where the job itself says what p95 may be."""
    if Metric.LATENCY_P95_MS in spec.metrics:
        return []
    return _ratios(blocks, Metric.LATENCY_P95_MS)


def _errors_are_no_worse(blocks: Sequence[Measurement]) -> bool:
    """Whether the difference of the error rates is below the margin at the one-sided 95 % level."""
    rates, variance = [], 0.0
    for arm in (0, 1):
        windows: list[Window] = [w for b in blocks for w in objective.usable(b.windows, arm)]
        rate = objective.error_rate(windows)
        sent = sum(window.requests + window.errors for window in windows)
        rates.append(rate)
        variance += rate * (1 - rate) / max(1, sent)
    return rates[1] - rates[0] + _Z_95 * math.sqrt(variance) <= ERRORS_MARGIN


def _ratios(blocks: Sequence[Measurement], metric: Metric) -> list[float]:
    ratios = (objective.log_ratio(block, metric) for block in blocks)
    return [ratio for ratio in ratios if ratio is not None]


def _side_effects(blocks: Sequence[Measurement], main: Metric) -> tuple[Effect, ...]:
    """What changed besides the objective, for the reader; every watched metric that has values."""
    effects = []
    for metric in _WATCHED:
        ratios = _ratios(blocks, metric)
        if metric is not main and len(ratios) >= analysis.FEWEST_BLOCKS:
            effects.append(analysis.effect_of(ratios, metric))
    return tuple(effects)
