"""How an answer came about, phase by phase: the nouns of looks, race, ablation and search."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from tuner.model.measuring import TrialNumber
from tuner.model.noun import about
from tuner.model.spaces import Scalar


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at the confirmation while it ran. All but `blocks` and `z` are log ratios.

    `z` is the test statistic as a standard normal deviate; it ends the confirmation at `bound`.
    """

    blocks: int
    z: float
    bound: float
    estimate: float
    low: float  # of the 95 % interval, as if this were the only look
    high: float


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where one candidate stands in a race: its gain over the baseline as a log ratio.

    `gain` and its 95 % interval are of all race blocks so far, signed so that more is better. One
    whose starts differ much is unstable, and has a `penalty` of one standard deviation. `belief` is
    what it is ranked by: its gain given search and race together, less the penalty.
    """

    number: TrialNumber
    gain: float
    low: float
    high: float
    blocks: int
    is_unstable: bool = False
    penalty: float = 0.0
    belief: float | None = None  # None without a model of the search


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of a race: all standings, the best first. The first `survivors` go on."""

    standings: tuple[Standing, ...]
    survivors: int


@dataclass(frozen=True, kw_only=True)
class Factor:
    """What some parameters contribute to the winner, measured apart from all others.

    `effect` is the log ratio of the winner's values to the user's, signed so that more is better,
    over all combinations of the other factors. `p` is one-sided.
    """

    parameters: tuple[str, ...]
    effect: float
    low: float  # of the 95 % interval
    high: float
    p: float
    is_kept: bool


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """Which of the winner's parameters earn their place: `runs` of a factorial design."""

    factors: tuple[Factor, ...]
    runs: int
    sd: float  # of one run, as a log ratio


@dataclass(frozen=True, kw_only=True)
class Importance:
    """The share of a parameter in the variance that the search saw."""

    parameter: Annotated[str, about("its name in the search space")]
    share: Annotated[float, about("0..1")]
    low: Annotated[float, about("lower end of its 90 % interval")]
    high: Annotated[float, about("upper end of its 90 % interval")]


@dataclass(frozen=True, kw_only=True)
class SlicePoint:
    """The expected gain at one value of a parameter, all others as in the candidate's params.

    A log ratio to the baseline, signed so that more is better, with its 90 % band.
    """

    value: Scalar
    gain: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What the search expects along one parameter."""

    parameter: str
    points: tuple[SlicePoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoPoint:
    """One trial of the Pareto front: its gains by metric, signed so that more is better."""

    number: TrialNumber
    gains: Mapping[str, float]
    is_chosen: bool


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of an answer, phase by phase; what was skipped, and what was not tried.

    `optimistic_gain` is the best score of the search as it stands there: no evidence, for the
    luckiest of many is above its own truth.
    """

    rounds: tuple[Round, ...] = ()
    ablation: Ablation | None = None
    importances: tuple[Importance, ...] = ()
    slices: tuple[Slice, ...] = ()
    front: tuple[ParetoPoint, ...] = ()
    optimistic_gain: float | None = None
    ended_because: str = ""  # of the search
    chosen_because: str = ""  # of several objectives
    skipped: tuple[str, ...] = ()  # sentences: phases that the budget left out, and what that means
    not_tried: tuple[str, ...] = ()  # sentences: values that were never measured, and why


NO_EVIDENCE = Evidence()
"""Of an answer that was stored before there was any."""
