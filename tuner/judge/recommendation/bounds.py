"""Bounds: which of them a file misses, by how much, and whose they are.

Verdict and gate share these judgements. The verdict reads windows, the gate reads a report.
"""

import math
from collections.abc import Collection, Mapping
from enum import StrEnum

from tuner.judge import objective
from tuner.nouns import wording
from tuner.nouns.model import Bound, Metric, MissedBound, RelativeBound, Slo

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
