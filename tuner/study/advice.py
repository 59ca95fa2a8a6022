"""What the study asks of an optimiser: what to try next, and what to believe of what was tried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tuner.model import Importance, Params, SamplerName, Slice, TrialNumber
from tuner.search_space import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What an optimiser is told of an earlier trial; `score` is None while it runs or has broken.

    `sd` is the standard deviation of the noise in `score`, both being log ratios. One that failed
    by the host's fault is not `told`: it only says which params are taken. `may_repeat` says
    whether another block of it may be asked for.
    """

    number: TrialNumber
    params: Params
    score: float | None
    feasible: bool
    told: bool = True
    sd: float | None = None
    may_repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What to measure next: new params, or those of a trial of which another block is wanted.

    `gain` is the expected improvement over the best trial so far, as a log ratio; None where the
    sampler does not know.
    """

    params: Params
    gain: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is believed of a trial's true score, given all trials: mean and standard deviation."""

    mean: float
    sd: float


class Optimiser(Protocol):
    """Proposes, and judges what was seen."""

    def propose(
        self,
        domain: Domain,
        observations: Sequence[Observation],
        *,
        sampler: SamplerName,
        seed: int,
    ) -> Proposal | None:
        """What to measure next, or None where there seems to be nothing left.

        Deterministic in its arguments. The params are valid, and no earlier trial has them, unless
        that one `may_repeat`.
        """

    def believe(
        self, domain: Domain, observations: Sequence[Observation]
    ) -> Mapping[TrialNumber, Belief]:
        """What to believe of every feasible trial that has a score."""

    def explain(
        self, domain: Domain, observations: Sequence[Observation], at: Params
    ) -> tuple[tuple[Importance, ...], tuple[Slice, ...]]:
        """Which parameters matter, the largest share first, and the slices through `at`."""
