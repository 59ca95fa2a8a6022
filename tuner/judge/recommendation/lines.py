"""The options that a file changes, each with its own effect where it is known."""

import math
from collections.abc import Iterator, Mapping, Sequence

from tuner.judge import analysis
from tuner.nouns.model import Ablation, ChangedLine, Effect, Objective, Params
from tuner.nouns.wording import effect_with_interval
from tuner.targets.search_space import Domain


def changed_lines(
    domain: Domain, params: Params, ablation: Ablation | None, objective: Objective
) -> tuple[ChangedLine, ...]:
    """The options of `params`, in the order of the space."""
    return tuple(
        ChangedLine(
            option=option,
            value=value,
            baseline_value=domain.own(option),
            effect=_effect(name, ablation, objective),
            note=domain.space.parameters[name].note,
        )
        for name in (dimension.name for dimension in domain.dimensions)
        for option, value in domain.changes({**domain.baseline, name: params[name]}).items()
    )


def notes_on(lines: Sequence[ChangedLine], whole: Effect | None) -> Mapping[str, str]:
    """The comment above each line: its old value, the effect of the change, and what else it does.

    `whole` is the effect of all lines together, which is that of a single line too.
    """
    alone = whole if len(lines) == 1 else None
    return {line.option: "; ".join(_comment(line, lines, alone)) for line in lines}


def _comment(
    line: ChangedLine, lines: Sequence[ChangedLine], alone: Effect | None
) -> Iterator[str]:
    yield _was(line)
    yield _brought(line, lines, alone)
    if line.note and line.value is not None:
        yield line.note


def _was(line: ChangedLine) -> str:
    if line.baseline_value is None:
        return f"{line.option} was not set"
    return f"{line.option} was {line.baseline_value}"


def _brought(line: ChangedLine, lines: Sequence[ChangedLine], alone: Effect | None) -> str:
    if line.effect is not None:
        shared = [other.option for other in lines if other.effect == line.effect]
        others = " and ".join(option for option in shared if option != line.option)
        together = f" together with {others}" if others else ""
        return f"{effect_with_interval(line.effect)}, ablated{together}"
    if alone is not None:
        return f"{effect_with_interval(alone)}, confirmed"
    return "confirmed together with the others"


def _effect(name: str, ablation: Ablation | None, objective: Objective) -> Effect | None:
    """The parameter's effect in the ablation; None where it was not measured apart."""
    factors = ablation.factors if ablation is not None else ()
    own = next((factor for factor in factors if name in factor.parameters), None)
    if own is None or math.isinf(own.high - own.low):
        return None
    gain = analysis.Estimate(own.effect, own.low, own.high)
    return analysis.as_effect(gain, objective.metric, objective.sign)
