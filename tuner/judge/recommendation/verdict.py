"""From fresh blocks to a verdict: the gain, the bounds, and the margins of p95 and errors."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from tuner.judge import analysis, objective
from tuner.judge.recommendation import bounds
from tuner.judge.recommendation.bounds import ERRORS_MARGIN, P95_MARGIN, Outcome
from tuner.nouns.model import (
    Comparison,
    Effect,
    JobSpec,
    Measurement,
    MeasurementState,
    Metric,
    MissedBound,
    Verdict,
    Window,
)

_WATCHED = (Metric.THROUGHPUT_RPS, Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.MEMORY_MB)


def is_decided(blocks: Sequence[Measurement], spec: JobSpec) -> bool:
    """Whether the confirmation may end with these blocks: a look crossed its bound, the candidate
    broke, or no more blocks will come."""
    planned = spec.budget.confirm_blocks
    return (
        _break_of(blocks) is not None
        or len(blocks) >= planned
        or (len(blocks) in analysis.looks_of(planned) and _confirmation(blocks, spec).ended)
    )


def compare_blocks(blocks: Sequence[Measurement], spec: JobSpec) -> Comparison:
    """The verdict from blocks of (baseline, candidate), the bounds included.

    A candidate that broke in any fresh block, that misses a bound in most of them, or whose
    latency or errors got worse, is not recommended, even with a large gain.
    """
    broke = _break_of(blocks)
    if broke is not None:
        return _broken(len(blocks), f"it broke under load: {broke}")
    comparison = _by_gain(blocks, spec)
    failed, sent = objective.errors_of(_usable(blocks, 1))
    comparison = replace(
        comparison,
        requests=sent - failed,
        errors=failed,
        side_effects=_side_effects(blocks, spec.objective.metric),
    )
    missed = tuple(
        bounds.missed(name, excess, spec.slo, spec.own_bounds)
        for name, excess in _excesses(blocks, spec).items()
        if excess > 0
    )
    if missed:
        return _breaks(comparison, missed)
    if comparison.verdict is Verdict.BETTER:
        return _not_at_the_cost(comparison, blocks, spec)
    return comparison


def _breaks(comparison: Comparison, missed: tuple[MissedBound, ...]) -> Comparison:
    """The comparison of a candidate that misses bounds. One that is worse anyway stays `worse`."""
    reasons = [bound.sentence for bound in missed]
    if comparison.verdict is Verdict.WORSE:
        reason = "; ".join([comparison.reason, *reasons])
        return replace(comparison, reason=reason, missed=missed)
    reason = "; ".join(reasons)
    return replace(comparison, verdict=Verdict.BREAKS_BOUND, reason=reason, missed=missed)


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
    return analysis.compare(
        ratios,
        metric=main.metric,
        sign=main.sign,
        min_effect=spec.min_effect,
        confirmation=_confirmation(blocks, spec) if ratios else None,
    )


def _confirmation(blocks: Sequence[Measurement], spec: JobSpec) -> analysis.Confirmation:
    """The looks made so far, the last one at all of these blocks."""
    main, planned = spec.objective, spec.budget.confirm_blocks
    earlier = {look for look in analysis.looks_of(planned) if look < len(blocks)}
    made = sorted(earlier | {len(blocks)})
    gains = [[main.sign * ratio for ratio in _ratios(blocks[:look], main.metric)] for look in made]
    enough = math.log1p(spec.min_effect)
    return analysis.confirm(gains, max(planned, len(blocks)), enough=enough)


def _excesses(blocks: Sequence[Measurement], spec: JobSpec) -> Mapping[str, float]:
    """The median excess of each bound over the blocks, by name; above 0 the bound is missed."""
    found = [objective.excesses(b, spec) for b in blocks if objective.usable(b.windows, 1)]
    names = sorted({name for excesses in found for name in excesses})
    return {name: median(excesses.get(name, 0.0) for excesses in found) for name in names}


def _not_at_the_cost(
    comparison: Comparison, blocks: Sequence[Measurement], spec: JobSpec
) -> Comparison:
    """A gain stands only if latency and errors are shown not to be worse for it."""
    for holds, broken in _costs(blocks, spec):
        if holds is Outcome.DOES_NOT_HOLD:
            return _breaks(comparison, (broken,))
        if holds is Outcome.INCONCLUSIVE:
            reason = f"there is a gain, but {broken.sentence}"
            return replace(comparison, verdict=Verdict.INCONCLUSIVE, reason=reason)
    return comparison


def _costs(blocks: Sequence[Measurement], spec: JobSpec) -> Iterator[tuple[Outcome, MissedBound]]:
    """How far p95 and error rate are from the margins of a recommended file."""
    p95 = _p95_ratios(blocks, spec)
    if len(p95) >= analysis.FEWEST_BLOCKS:
        low, high = (math.expm1(end) for end in analysis.t_interval(p95, 0.90))
        yield bounds.p95_margin(low, high, P95_MARGIN)
    errors = [objective.errors_of(_usable(blocks, arm)) for arm in (1, 0)]
    yield bounds.errors_margin(errors[0], errors[1], ERRORS_MARGIN)


def _p95_ratios(blocks: Sequence[Measurement], spec: JobSpec) -> list[float]:
    """Log ratios of p95; empty where the job itself bounds p95."""
    if Metric.LATENCY_P95_MS in spec.metrics:
        return []
    return _ratios(blocks, Metric.LATENCY_P95_MS)


def _usable(blocks: Sequence[Measurement], arm: int) -> list[Window]:
    return [window for block in blocks for window in objective.usable(block.windows, arm)]


def _ratios(blocks: Sequence[Measurement], metric: Metric) -> list[float]:
    ratios = (objective.log_ratio(block, metric) for block in blocks)
    return [ratio for ratio in ratios if ratio is not None]


def _side_effects(blocks: Sequence[Measurement], main: Metric) -> tuple[Effect, ...]:
    """The effects on the other watched metrics that have values."""
    effects = []
    for metric in _WATCHED:
        ratios = _ratios(blocks, metric)
        if metric is not main and len(ratios) >= analysis.FEWEST_BLOCKS:
            effects.append(analysis.effect_of(ratios, metric))
    return tuple(effects)
