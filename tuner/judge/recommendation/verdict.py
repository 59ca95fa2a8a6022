"""From fresh blocks to a verdict: the gain, the bounds, and the margins of p95 and errors."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from statistics import median

from tuner.judge import analysis, objective
from tuner.nouns import wording
from tuner.nouns.model import (
    Bound,
    Comparison,
    Effect,
    Job,
    JobSpec,
    Measurement,
    MeasurementState,
    Metric,
    MissedBound,
    Phase,
    RelativeBound,
    Slo,
    Verdict,
    Window,
)

# ---- Bounds: which of them a file misses, by how much, and whose they are
#
# Verdict and gate share these judgements. The verdict reads windows, the gate reads a report.

P95_MARGIN = 0.05
"""Largest increase of a recommended file's p95, shown at the 95 % level."""

ERRORS_MARGIN = objective.ERRORS_ALLOWED
"""Share of requests that may fail beyond the baseline's own, shown at the 95 % level."""

_Z_95 = 1.645  # one-sided
_UNITS = {"rps": " per second", "ms": " ms", "mb": " MB", "cpu": " per second and CPU"}
_OWN_LIMITS: Mapping[str, str] = {
    "respawns": "as many as the baseline",
    Metric.ERROR_RATE: f"{wording.limit(objective.ERRORS_ALLOWED)} above the baseline",
    Metric.LATENCY_P95_MS: f"at most {wording.limit(objective.P95_GUARD)} of the baseline",
    Metric.MEMORY_MB: f"at most {wording.limit(objective.MEMORY_GUARD)} of the memory limit",
    Metric.THROUGHPUT_RPS: f"at least {wording.limit(objective.THROUGHPUT_KEPT)} of the baseline",
}


class Outcome(StrEnum):
    """Whether a limit holds. Of several findings the last one in this order counts."""

    HOLDS = "holds"
    INCONCLUSIVE = "inconclusive"
    DOES_NOT_HOLD = "does_not_hold"


def within(margin: float, low: float, high: float) -> Outcome:
    """What an interval of a loss says about a margin."""
    if low > margin:
        return Outcome.DOES_NOT_HOLD
    return Outcome.INCONCLUSIVE if high > margin else Outcome.HOLDS


def p95_margin(low: float, high: float, margin: float) -> tuple[Outcome, MissedBound]:
    """Whether a p95 keeps its margin, from the interval of its increase; 0.05 is 5 % longer."""
    outcome = within(margin, low, high)
    is_shown = outcome is Outcome.DOES_NOT_HOLD
    change = f"is at least {wording.share(low)}" if is_shown else f"may be up to {_amount(high)}"
    limit = f"the tuner's own limit is {wording.limit(margin)}"
    return outcome, MissedBound(
        name=Metric.LATENCY_P95_MS,
        is_users=False,
        excess=math.log1p(low if is_shown else high) - math.log1p(margin),
        sentence=f"its p95 latency {change} longer than the baseline's; {limit}",
    )


def errors_margin(
    own: tuple[int, int], reference: tuple[int, int], margin: float
) -> tuple[Outcome, MissedBound]:
    """Whether error rates differ by less than a margin, at the one-sided 95 % level.

    `own` and `reference` count failed and sent requests.
    """
    rates = [(objective.failed_share(failed, sent), sent) for failed, sent in (own, reference)]
    difference = rates[0][0] - rates[1][0]
    half = _Z_95 * math.sqrt(sum(rate * (1 - rate) / max(1, sent) for rate, sent in rates))
    outcome = within(margin, difference - half, difference + half)
    fail = "fail" if outcome is Outcome.DOES_NOT_HOLD else "may fail"
    figures = f"{wording.share(rates[0][0], 2)} against {wording.share(rates[1][0], 2)}"
    limit = f"the tuner's own limit is {wording.limit(margin)} more"
    return outcome, MissedBound(
        name=Metric.ERROR_RATE,
        is_users=False,
        excess=difference + half - margin,
        sentence=f"more of its requests {fail} than of the baseline's: {figures}; {limit}",
    )


def missed(name: str, excess: float, slo: Slo, own: Collection[str]) -> MissedBound:
    """A bound as it is missed, with its owner. `excess` is in the unit of `objective.excesses`.

    `own` names the metrics of `slo` that the tuner bounds itself.
    """
    bound = slo.bounds().get(Metric(name)) if name in set(Metric) else None
    is_users = bound is not None and name not in own
    owner = "your" if is_users else "the tuner's own"
    limit = _limit(Metric(name), bound) if is_users and bound is not None else _OWN_LIMITS[name]
    label = wording.METRICS[Metric(name)] if name in set(Metric) else name
    return MissedBound(
        name=name,
        is_users=is_users,
        excess=excess,
        sentence=f"it misses {owner} bound on {label} ({limit}){_by(name, excess)}",
    )


def _amount(increase: float) -> str:
    return wording.share(increase) if math.isfinite(increase) else "any amount"


def _limit(metric: Metric, bound: Bound) -> str:
    side = "at least" if metric.sign > 0 else "at most"
    if isinstance(bound, RelativeBound):
        return f"{side} {wording.limit(bound.relative_to_baseline)} of the baseline"
    if metric is Metric.ERROR_RATE:
        return f"{side} {wording.limit(bound)}"
    return f"{side} {bound:g}{_UNITS[metric.value.rpartition('_')[2]]}"


def _by(name: str, excess: float) -> str:
    if excess >= objective.NOTHING_TO_SHOW / 2:
        return ": no value was measured"
    if name == "respawns":
        return f" by {excess:g}"
    if name == Metric.ERROR_RATE:
        return f" by {100 * excess:.2g} percentage points"
    sign = Metric(name).sign
    return f" by {wording.share(sign * -math.expm1(sign * -excess))}"


_WATCHED = (Metric.THROUGHPUT_RPS, Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.MEMORY_MB)


def is_decided(blocks: Sequence[Measurement], job: Job) -> bool:
    """Whether the confirmation may end with these blocks: a look crossed its bound, the candidate
    broke, somebody asked to finish, or no more blocks will come.

    A gain whose costs are not known yet does not end it: more requests narrow them down, in all the
    blocks of the budget.
    """
    spec = analysis.within_minutes(job.spec, job.calibration)
    if _break_of(blocks) is not None or len(blocks) >= spec.budget.confirm_blocks:
        return True
    planned = analysis.blocks_to_confirm(job.calibration, spec)
    if len(blocks) < analysis.looks_of(planned)[0]:
        return False
    seen = _confirmation(blocks, job)
    if job.finish_in is Phase.CONFIRM or not seen.ended:
        return seen.ended
    is_last = len(blocks) >= planned and not seen.crossed
    return is_last or compare_blocks(blocks, job).verdict is not Verdict.INCONCLUSIVE


def compare_blocks(blocks: Sequence[Measurement], job: Job) -> Comparison:
    """The verdict from blocks of (baseline, candidate), the bounds included.

    A candidate that broke in any fresh block, that misses a bound in most of them, or whose
    latency or errors got worse, is not recommended, even with a large gain.
    """
    spec, broke = job.spec, _break_of(blocks)
    if broke is not None:
        return _broken(len(blocks), f"it broke under load: {broke}")
    comparison = _by_gain(blocks, job)
    failed, sent = objective.errors_of(_of_arm(blocks, 1))
    comparison = replace(
        comparison,
        requests=sent - failed,
        errors=failed,
        side_effects=_side_effects(blocks, spec.objective.metric),
    )
    broken = tuple(
        missed(name, excess, spec.slo, spec.own_bounds)
        for name, excess in _excesses(blocks, spec).items()
        if excess > 0
    )
    if broken:
        return _breaks(comparison, broken)
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


def _by_gain(blocks: Sequence[Measurement], job: Job) -> Comparison:
    """The verdict by the objective's metric alone."""
    main = job.spec.objective
    ratios = _ratios(blocks, main.metric)
    return analysis.compare(
        ratios,
        metric=main.metric,
        sign=main.sign,
        min_effect=job.spec.min_effect,
        confirmation=_confirmation(blocks, job) if ratios else None,
    )


def blocks_planned(job: Job) -> int:
    """Blocks of the confirmation that its looks are planned for."""
    spec = analysis.within_minutes(job.spec, job.calibration)
    return analysis.blocks_to_confirm(job.calibration, spec)


def _confirmation(blocks: Sequence[Measurement], job: Job) -> analysis.Confirmation:
    """The looks made so far, the last one at all of these blocks, or at all that are planned."""
    main, planned = job.spec.objective, blocks_planned(job)
    last = min(len(blocks), planned)
    made = sorted({look for look in analysis.looks_of(planned) if look < last} | {last})
    gains = [[main.sign * ratio for ratio in _ratios(blocks[:look], main.metric)] for look in made]
    enough = math.log1p(job.spec.min_effect)
    stopped = job.finish_in is Phase.CONFIRM
    return analysis.confirm(gains, planned, enough=enough, is_stopped=stopped)


def _excesses(blocks: Sequence[Measurement], spec: JobSpec) -> Mapping[str, float]:
    """The median excess of each bound over the blocks, by name; above 0 the bound is missed."""
    found = [objective.excesses(b, spec) for b in blocks if objective.of_arm(b.counted, 1)]
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
        yield p95_margin(low, high, P95_MARGIN)
    errors = [objective.errors_of(_of_arm(blocks, arm)) for arm in (1, 0)]
    yield errors_margin(errors[0], errors[1], ERRORS_MARGIN)


def _p95_ratios(blocks: Sequence[Measurement], spec: JobSpec) -> list[float]:
    """Log ratios of p95; empty where the job itself bounds p95."""
    if Metric.LATENCY_P95_MS in spec.metrics:
        return []
    return _ratios(blocks, Metric.LATENCY_P95_MS)


def _of_arm(blocks: Sequence[Measurement], arm: int) -> list[Window]:
    return [window for block in blocks for window in objective.of_arm(block.counted, arm)]


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
