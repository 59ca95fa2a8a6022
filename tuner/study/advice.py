"""What the study asks of an optimiser: a proposal, beliefs, and explanations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tuner.nouns.model import Importance, Params, SamplerName, Slice, TrialNumber
from tuner.targets.search_space import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What an optimiser knows of an earlier trial; `score` is None while it runs or if it broke.

    `sd` is the standard deviation of the noise in `score`. Both are log ratios. `told` is false for
    a trial that failed because of the host: the optimiser only learns that its params are taken.
    `may_repeat` allows another block of it.
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
    """What to measure next: new params, or those of a known trial for another block.

    `gain` is the expected improvement over the best trial so far, as a log ratio; None if the
    sampler does not know.
    """

    params: Params
    gain: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """The distribution of a trial's true score, given all trials."""

    mean: float
    sd: float


class Optimiser(Protocol):
    """Proposes trials, and judges those that were measured."""

    def propose(
        self,
        domain: Domain,
        observations: Sequence[Observation],
        *,
        sampler: SamplerName,
        seed: int,
    ) -> Proposal | None:
        """What to measure next, or None if nothing seems to be left.

        Deterministic in its arguments. The params are valid. They are new, or those of a trial that
        `may_repeat`.
        """

    def believe(
        self, domain: Domain, observations: Sequence[Observation]
    ) -> Mapping[TrialNumber, Belief]:
        """The belief about every feasible trial with a score."""

    def explain(
        self, domain: Domain, observations: Sequence[Observation], at: Params
    ) -> tuple[tuple[Importance, ...], tuple[Slice, ...]]:
        """Which parameters matter, the largest share first, and the slices through `at`."""
