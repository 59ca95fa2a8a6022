"""What the study asks of an optimiser: who is asked for a proposal, and who judges.

The model's modules are imported where they are used: scikit-learn takes a second and a half to
load, and a worker that only compares files never needs it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from tuner.nouns.model import Importance, Params, SamplerName, Slice, TrialNumber
from tuner.study.advice import Belief, Observation, Proposal
from tuner.study.sampler.asking import draw, repeatables
from tuner.study.sampler.candidate_pool import CandidatePool
from tuner.targets.search_space import Domain

ASKS = 60
"""Draws of each sampler before the space counts as used up."""

TPE_STARTUP_TRIALS = 5
"""Told trials before TPE's model is used: baseline and heuristics already spread over the space."""


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
        # On a plateau a model insists on its few favourite points. Chance has no favourites.
        by_chance = Source(RandomSampler(seed))
        match sampler:
            case SamplerName.TPE:
                return proposed(domain, observations, [Source(_tpe(seed)), by_chance])
            case SamplerName.GP:
                found = _by_model(domain, observations, seed)
                return found or proposed(domain, observations, [by_chance])
            case _:
                assert_never(sampler)

    def believe(
        self, domain: Domain, observations: Sequence[Observation]
    ) -> Mapping[TrialNumber, Belief]:
        """See `tuner.study.advice.Optimiser`."""
        from tuner.study.sampler import judging

        return judging.believe(domain, observations)

    def explain(
        self, domain: Domain, observations: Sequence[Observation], at: Params
    ) -> tuple[tuple[Importance, ...], tuple[Slice, ...]]:
        """See `tuner.study.advice.Optimiser`."""
        from tuner.study.sampler import judging

        return judging.explain(domain, observations, at)


@dataclass(frozen=True, slots=True)
class Source:
    """A sampler, and how often to ask it."""

    sampler: BaseSampler
    asks: int = ASKS


def proposed(
    domain: Domain, observations: Sequence[Observation], sources: Iterable[Source]
) -> Proposal | None:
    """The first valid draw of these sources; else another block of the best repeatable trial."""
    for source in sources:
        params = draw(domain, observations, source.sampler, asks=source.asks)
        if params is not None:
            return Proposal(params=params)
    again = repeatables(domain, observations).values()
    best = max(again, key=lambda trial: trial.score or 0.0, default=None)
    return Proposal(params=best.params) if best else None


def _by_model(domain: Domain, observations: Sequence[Observation], seed: int) -> Proposal | None:
    from tuner.study.sampler.gp import best_candidate

    found = best_candidate(CandidatePool.of(domain), observations, seed)
    return found if found is not None and not domain.broken(found.params) else None


def _tpe(seed: int) -> BaseSampler:
    """The Tree-structured Parzen estimator. All options are set, so that defaults cannot drift."""
    return TPESampler(
        seed=seed,
        n_startup_trials=TPE_STARTUP_TRIALS,
        n_ei_candidates=24,
        multivariate=True,
        constant_liar=True,
    )
