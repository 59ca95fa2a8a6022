"""What the study asks of an optimiser: who is asked for a proposal, and who judges.

The model's modules are imported where they are used: scikit-learn takes a second and a half to
load, and a worker that only compares files never needs it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from optuna.samplers import BaseSampler

from tuner.model import Importance, Params, SamplerName, Slice, TrialNumber
from tuner.sampler.asking import distributions, draw, repeatables
from tuner.sampler.candidate_pool import CandidatePool
from tuner.sampler.optuna_samplers import chance, tpe
from tuner.search_space import Domain
from tuner.study.advice import Belief, Observation, Proposal

ASKS = 60
"""Draws of each sampler before the space counts as used up."""

PATIENCE = 10
"""Draws of known params after which another block of them is measured."""


class TrialOptimiser:
    """Proposes with the job's sampler; judges with the noise-aware model, for every sampler."""

    def propose(
        self,
        domain: Domain,
        observations: Sequence[Observation],
        *,
        sampler: SamplerName,
        seed: int,
    ) -> Proposal | None:
        """See `tuner.study.advice.Optimiser`."""
        return proposed(domain, observations, _sources(domain, observations, sampler, seed))

    def believe(
        self, domain: Domain, observations: Sequence[Observation]
    ) -> Mapping[TrialNumber, Belief]:
        """See `tuner.study.advice.Optimiser`."""
        from tuner.sampler import judging

        return judging.believe(domain, observations)

    def explain(
        self, domain: Domain, observations: Sequence[Observation], at: Params
    ) -> tuple[tuple[Importance, ...], tuple[Slice, ...]]:
        """See `tuner.study.advice.Optimiser`."""
        from tuner.sampler import judging

        return judging.explain(domain, observations, at)


@dataclass(frozen=True, slots=True)
class Source:
    """A sampler, how often to ask it, and after how many known draws to take one of them."""

    sampler: BaseSampler
    asks: int = ASKS
    patience: int = PATIENCE
    gain: Callable[[], float | None] = lambda: None  # the expected gain of the last draw


def proposed(
    domain: Domain, observations: Sequence[Observation], sources: Iterable[Source]
) -> Proposal | None:
    """The first valid draw of these sources; else another block of the best repeatable trial."""
    for source in sources:
        params = draw(
            domain, observations, source.sampler, asks=source.asks, patience=source.patience
        )
        if params is not None:
            return Proposal(params=params, gain=source.gain())
    again = repeatables(domain, observations).values()
    best = max(again, key=lambda trial: trial.score or 0.0, default=None)
    return Proposal(params=best.params) if best else None


def _sources(
    domain: Domain, observations: Sequence[Observation], name: SamplerName, seed: int
) -> Iterator[Source]:
    """The sampler of that name, then chance."""
    match name:
        case SamplerName.TPE:
            yield Source(tpe(seed))
        case SamplerName.GP:
            yield _gaussian_process(domain, observations, seed)
        case _:
            assert_never(name)
    # On a plateau a model insists on its few favourite points. Chance has no favourites.
    yield Source(chance(seed))


def _gaussian_process(domain: Domain, observations: Sequence[Observation], seed: int) -> Source:
    from tuner.sampler.gp import GaussianProcessSampler

    own = GaussianProcessSampler(
        CandidatePool.of(domain), observations, distributions(domain), seed
    )
    # Its first draw is its best. If that is known, it wants another block of it.
    return Source(own, asks=1, patience=1, gain=lambda: own.gain)
