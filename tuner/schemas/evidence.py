"""The evidence of an answer, phase by phase. Every gain is relative, never a log ratio.

A gain of 0.05 is 5 % better than the baseline: 5 % more of a metric of which more is better, or
5 % less of one of which less is. null: not known, or without bound.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from tuner.model import Importance, Scalar
from tuner.schemas.base import Answer

UNIT = "relative"


class LookAnswer(Answer):
    """One look at the confirmation while it ran."""

    blocks: int = Field(description="fresh blocks so far")
    z: float | None = Field(description="test statistic as a normal deviate; null: without bound")
    bound: float = Field(description="beyond it, either way, the confirmation is over")
    estimate: float | None = Field(description="gain so far")
    low: float | None = Field(
        description="lower end of its 95 % interval, as if this were the only look"
    )
    high: float | None = Field(description="upper end of that interval")
    unit: str = Field(UNIT, description="of estimate, low and high; more is better")


class StandingAnswer(Answer):
    """Where one candidate stood after a round of the race."""

    number: int = Field(description="the trial's number")
    gain: float | None = Field(description="over the baseline, in all blocks of the race so far")
    low: float | None = Field(description="lower end of its 95 % interval")
    high: float | None = Field(description="upper end of its 95 % interval")
    blocks: int = Field(description="blocks behind it")
    is_unstable: bool = Field(
        description="its starts differ widely, so it is ranked below its gain"
    )


class RoundAnswer(Answer):
    """One round of the race."""

    standings: Sequence[StandingAnswer] = Field(description="the best first")
    survivors: int = Field(description="number of standings, from the top, that went on")


class FactorAnswer(Answer):
    """The share of some parameters in the winner's gain, measured separately."""

    parameters: Sequence[str] = Field(description="those that were switched together")
    effect: float | None = Field(description="gain of the winner's values over the user's")
    low: float | None = Field(description="lower end of its 95 % interval")
    high: float | None = Field(description="upper end of its 95 % interval")
    p: float = Field(description="one-sided, that there is no gain")
    is_kept: bool = Field(description="whether it stays in the file")


class AblationAnswer(Answer):
    """Which of the winner's parameters earn their place."""

    factors: Sequence[FactorAnswer] = Field(description="the parameters that the winner changed")
    runs: int = Field(description="of a factorial design")
    sd: float = Field(description="standard deviation of one run, as a log ratio")


class SlicePointAnswer(Answer):
    """What the search expects at one value."""

    value: Scalar = Field(description="of the parameter; all others as in the candidate")
    gain: float | None = Field(description="expected: a belief, not a measurement")
    low: float | None = Field(description="lower end of its 90 % band")
    high: float | None = Field(description="upper end of its 90 % band")


class SliceAnswer(Answer):
    """What the search expects along one parameter."""

    parameter: str = Field(description="its name in the search space")
    points: Sequence[SlicePointAnswer] = Field(description="value by value")


class ParetoPointAnswer(Answer):
    """A trial of the Pareto front."""

    number: int = Field(description="the trial's number")
    gains: Mapping[str, float | None] = Field(description="by metric")
    is_chosen: bool = Field(description="whether it is the one that went on")


class EvidenceAnswer(Answer):
    """The evidence of an answer. Empty list: the phase was skipped."""

    rounds: Sequence[RoundAnswer] = Field(description="of the race")
    ablation: AblationAnswer | None = Field(description="line by line; null: not ablated")
    importances: Sequence[Importance] = Field(description="the largest share first")
    slices: Sequence[SliceAnswer] = Field(description="parameter by parameter")
    front: Sequence[ParetoPointAnswer] = Field(description="of several objectives")
    optimistic_gain: float | None = Field(description="the best score of the search")
    optimistic_gain_note: str = Field(description="why that is no evidence")
    ended_because: str = Field(description="why the search ended; empty: not kept")
    chosen_because: str = Field(description="why this one of several objectives' front")
    skipped: Sequence[str] = Field(description="phases that the budget left out, in sentences")
    not_tried: Sequence[str] = Field(description="values that were not measured, and why")
    unit: str = Field(UNIT, description="of gains and effects: a share; more is better")
