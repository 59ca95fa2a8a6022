"""Which options a file sets otherwise than the user's, each with its own effect where known."""

import math
from collections.abc import Mapping, Sequence

from tuner.model import Ablation, ChangedLine, Effect, Factor, Objective, Params
from tuner.search_space import Domain
from tuner.wording import percent

_LARGEST_LOG = 50.0  # beyond it a ratio is no figure, and soon not storable


def changed_lines(
    domain: Domain, params: Params, ablation: Ablation | None, objective: Objective
) -> tuple[ChangedLine, ...]:
    """The options of `params`, in the order of the space."""
    return tuple(
        ChangedLine(
            option=option,
            value=value,
            baseline_value=domain.ini.get(option),
            effect=_effect(name, ablation, objective),
        )
        for name in (dimension.name for dimension in domain.dimensions)
        for option, value in domain.changes({**domain.baseline, name: params[name]}).items()
    )


def notes_on(lines: Sequence[ChangedLine], whole: Effect | None) -> Mapping[str, str]:
    """What is to be said above each line: what stood there, and what the change brought.

    `whole` is the effect of all of them together, and so of a line that is the only one.
    """
    alone = whole if len(lines) == 1 else None
    return {line.option: f"{_was(line)}; {_brought(line, lines, alone)}" for line in lines}


def percent_of(effect: Effect) -> str:
    """An effect with its metric and interval."""
    low, high = percent(effect.ci_low), percent(effect.ci_high)
    return f"{effect.metric} {percent(effect.estimate)} (95 % CI {low} .. {high})"


def _was(line: ChangedLine) -> str:
    if line.baseline_value is None:
        return f"{line.option} was not set"
    return f"{line.option} was {line.baseline_value}"


def _brought(line: ChangedLine, lines: Sequence[ChangedLine], alone: Effect | None) -> str:
    if line.effect is not None:
        shared = [other.option for other in lines if other.effect == line.effect]
        others = " and ".join(option for option in shared if option != line.option)
        return f"{percent_of(line.effect)}, ablated{' together with ' * bool(others)}{others}"
    if alone is not None:
        return f"{percent_of(alone)}, confirmed"
    return "proven together with the others"


def _effect(name: str, ablation: Ablation | None, objective: Objective) -> Effect | None:
    """What the ablation says of the parameter; None where nothing was measured apart."""
    factors = ablation.factors if ablation is not None else ()
    own = next((factor for factor in factors if name in factor.parameters), None)
    if own is None or math.isinf(own.high - own.low):
        return None
    return _as_change(own, objective)


def _as_change(factor: Factor, objective: Objective) -> Effect:
    """A gain is an increase where more is better, a decrease where less is."""
    ends = sorted(objective.sign * end for end in (factor.low, factor.high))
    return Effect(
        metric=objective.metric,
        estimate=math.expm1(objective.sign * factor.effect),
        ci_low=math.expm1(ends[0]),
        ci_high=math.expm1(min(ends[1], _LARGEST_LOG)),
    )
