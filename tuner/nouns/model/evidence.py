"""The evidence of an answer, phase by phase: the nouns of looks, race, ablation and search.

A field with the mark `LOG` holds a log ratio to the baseline, signed so that more is better.
Answers have the relative gain there: 0.05 is 5 % better than the baseline, that is 5 % more of a
metric of which more is better, or 5 % less of a metric of which less is better. JSON has null for
what is unknown or unbounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from tuner.nouns.model.base import LOG, Gain, HighEnd, LowEnd, about
from tuner.nouns.model.measuring import TrialNumber
from tuner.nouns.model.objectives import Scalar


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at the confirmation while it ran."""

    blocks: Annotated[int, about("fresh blocks so far")]
    z: Annotated[Gain, about("test statistic as a standard normal deviate; null: unbounded")]
    bound: Annotated[HighEnd, about("the confirmation ends at a z beyond it, either way")]
    estimate: Annotated[Gain, LOG, about("gain so far")]
    low: Annotated[LowEnd, LOG, about("lower end of the 95 % interval of this look alone")]
    high: Annotated[HighEnd, LOG, about("upper end of that interval")]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where one candidate stands after a round of the race."""

    number: Annotated[TrialNumber, about("the trial's number")]
    gain: Annotated[Gain, LOG, about("over the baseline, in all blocks of the race so far")]
    low: Annotated[LowEnd, LOG, about("lower end of its 95 % interval")]
    high: Annotated[HighEnd, LOG, about("upper end of its 95 % interval")]
    blocks: Annotated[int, about("blocks behind it")]
    is_unstable: Annotated[bool, about("its starts differ much: it is ranked below its gain")] = (
        False
    )
    penalty: Annotated[float, about("what its rank loses if unstable: one sd, as a log ratio")] = (
        0.0
    )
    belief: Annotated[
        float | None,
        LOG,
        about("its rank is by this: gain given search and race, less the penalty; null: no model"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of a race: all standings, the best first. The first `survivors` go on."""

    standings: Annotated[tuple[Standing, ...], about("the best first")]
    survivors: Annotated[int, about("number of standings, from the top, that went on")]


@dataclass(frozen=True, kw_only=True)
class Factor:
    """What some parameters contribute to the winner, measured apart from all others.

    The effect is over all combinations of the other factors.
    """

    parameters: Annotated[tuple[str, ...], about("those that were switched together")]
    effect: Annotated[Gain, LOG, about("gain of the winner's values over the user's")]
    low: Annotated[LowEnd, LOG, about("lower end of its 95 % interval")]
    high: Annotated[HighEnd, LOG, about("upper end of its 95 % interval")]
    p: Annotated[float, about("one-sided, that there is no gain")]
    is_kept: Annotated[bool, about("whether it stays in the file")]


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """Which of the winner's parameters earn their place."""

    factors: Annotated[tuple[Factor, ...], about("the parameters that the winner changed")]
    runs: Annotated[int, about("of a factorial design")]
    sd: Annotated[float, about("standard deviation of one run, as a log ratio")]


@dataclass(frozen=True, kw_only=True)
class Importance:
    """The share of a parameter in the variance that the search saw."""

    parameter: Annotated[str, about("its name in the search space")]
    share: Annotated[float, about("0..1")]
    low: Annotated[float, about("lower end of its 90 % interval")]
    high: Annotated[float, about("upper end of its 90 % interval")]


@dataclass(frozen=True, kw_only=True)
class SlicePoint:
    """What the search expects at one value of a parameter: a belief, not a measurement."""

    value: Annotated[Scalar, about("of the parameter; all others as in the candidate")]
    gain: Annotated[Gain, LOG, about("expected gain")]
    low: Annotated[LowEnd, LOG, about("lower end of its 90 % band")]
    high: Annotated[HighEnd, LOG, about("upper end of its 90 % band")]


@dataclass(frozen=True, kw_only=True)
class Slice:
    """What the search expects along one parameter."""

    parameter: Annotated[str, about("its name in the search space")]
    points: Annotated[tuple[SlicePoint, ...], about("value by value")]


@dataclass(frozen=True, kw_only=True)
class ParetoPoint:
    """One trial of the Pareto front."""

    number: Annotated[TrialNumber, about("the trial's number")]
    gains: Annotated[Mapping[str, Gain], LOG, about("by metric")]
    is_chosen: Annotated[bool, about("whether it is the one that went on")]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of an answer. Empty: the phase was skipped, or the job is an old one.

    The optimistic gain is no evidence: the luckiest of many figures is above its own truth.
    """

    rounds: Annotated[tuple[Round, ...], about("of the race")] = ()
    ablation: Annotated[Ablation | None, about("line by line; null: not ablated")] = None
    importances: Annotated[tuple[Importance, ...], about("the largest share first")] = ()
    slices: Annotated[tuple[Slice, ...], about("parameter by parameter")] = ()
    front: Annotated[tuple[ParetoPoint, ...], about("of several objectives")] = ()
    optimistic_gain: Annotated[float | None, LOG, about("the best score of the search")] = None
    ended_because: Annotated[str, about("why the search ended; empty: not kept")] = ""
    chosen_because: Annotated[str, about("why this one of several objectives' front")] = ""
    skipped: Annotated[
        tuple[str, ...], about("phases that the budget left out, and what that means, in sentences")
    ] = ()
    not_tried: Annotated[
        tuple[str, ...], about("values that were not measured, and why, in sentences")
    ] = ()


NO_EVIDENCE = Evidence()
"""The evidence of an answer that was stored before there was any."""
