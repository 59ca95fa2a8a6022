"""What the study asks of an optimiser: who is asked for a proposal, and who judges.

The model's modules are imported where they are used: scikit-learn takes a second and a half to
load, and a worker that only compares files never needs it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from optuna.samplers import BaseSampler

from tuner.model import Importance, Params, SamplerName, Slice, TrialNumber
from tuner.sampler.asking import distributions, draw, repeatables
from tuner.sampler.ground import Ground
from tuner.sampler.optuna_samplers import chance, sobol, tpe
from tuner.search_space import Domain
from tuner.study.advice import Belief, Observation, Proposal

ASKS = 60
"""Draws of each sampler before the space counts as used up."""

PATIENCE = 10
"""Draws of known params after which the sampler insists: another block of them is measured."""


class TrialOptimiser:
    """Proposes with any of the samplers; judges with the noise-aware model, whoever proposed."""

    def propose(
        self,
        domain: Domain,
        observations: Sequence[Observation],
        *,
        sampler: SamplerName,
        seed: int,
    ) -> Proposal | None:
        """See `tuner.study.advice.Optimiser`."""
        for source in _sources(domain, observations, sampler, seed):
            params = draw(
                domain, observations, source.sampler, asks=source.asks, patience=source.patience
            )
            if params is not None:
                return Proposal(params=params, gain=source.gain())
        again = repeatables(domain, observations).values()
        best = max(again, key=lambda trial: trial.score or 0.0, default=None)
        return Proposal(params=best.params) if best else None

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
class _Source:
    """Who is asked, how often, and after how many known draws one of them is taken as meant."""

    sampler: BaseSampler
    asks: int = ASKS
    patience: int = PATIENCE
    gain: Callable[[], float | None] = lambda: None  # what the last draw is expected to gain


def _sources(
    domain: Domain, observations: Sequence[Observation], name: SamplerName, seed: int
) -> Iterator[_Source]:
    """The sampler of that name, then chance."""
    match name:
        case SamplerName.TPE:
            yield _Source(tpe(seed))
        case SamplerName.GP:
            yield _gaussian_process(domain, observations, seed)
        case SamplerName.QMC:
            # The trials before have walked on through the sequence by what was of no use to them.
            number = max((trial.number for trial in observations), default=-1) + 1
            yield _Source(sobol(seed, TrialNumber(number)), asks=ASKS + 2 * number)
        case SamplerName.RANDOM:
            pass
        case _:
            assert_never(name)
    # On a plateau a model insists on the few points it likes best; chance has no favourites.
    yield _Source(chance(seed))


def _gaussian_process(domain: Domain, observations: Sequence[Observation], seed: int) -> _Source:
    from tuner.sampler.gp import GaussianProcessSampler

    own = GaussianProcessSampler(Ground.of(domain), observations, distributions(domain), seed)
    # Its first draw is its best, and known params are a wish for another block of them.
    return _Source(own, asks=1, patience=1, gain=lambda: own.gain)
