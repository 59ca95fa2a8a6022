"""Samplers without a model, which only benchmarks and tests use: a Sobol sequence, and chance."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, QMCSampler, RandomSampler
from optuna.study import Study

from tuner.nouns.model import SamplerName
from tuner.study import Observation, Proposal
from tuner.study.sampler import TrialOptimiser
from tuner.study.sampler.optimiser import ASKS, Source, proposed
from tuner.targets.search_space import Domain


class SpaceFilling(StrEnum):
    """A sampler without a model."""

    QMC = "qmc"  # a low-discrepancy sequence
    RANDOM = "random"


AnySampler = SamplerName | SpaceFilling


class AnyOptimiser(TrialOptimiser):
    """The product's optimiser with more samplers; `always` replaces the one of the job."""

    def __init__(self, always: AnySampler | None = None) -> None:
        self._always = always

    def propose(
        self,
        domain: Domain,
        observations: Sequence[Observation],
        *,
        sampler: AnySampler,
        seed: int,
    ) -> Proposal | None:
        """See `tuner.study.Optimiser`."""
        name = self._always or sampler
        if isinstance(name, SamplerName):
            return super().propose(domain, observations, sampler=name, seed=seed)
        return proposed(domain, observations, _sources(observations, name, seed))


def _sources(
    observations: Sequence[Observation], name: SpaceFilling, seed: int
) -> Iterator[Source]:
    if name is SpaceFilling.QMC:
        # Earlier trials went further along the sequence where a point was of no use.
        number = max((trial.number for trial in observations), default=-1) + 1
        yield Source(_sobol(seed, number), asks=ASKS + 2 * number)
    yield Source(RandomSampler(seed))


def _sobol(seed: int, number: int) -> BaseSampler:
    """The scrambled Sobol sequence from its point `number` on.

    The seeds of a job's trials count up with their numbers. What is left is the job's own seed: all
    its trials follow one sequence, and its points together fill the space evenly.
    """
    with warnings.catch_warnings():
        # Optuna calls it experimental since 3.0. Only the seed matters here.
        warnings.simplefilter("ignore", ExperimentalWarning)
        return _Sobol((seed - number) % 2**32, number)


class _Sobol(QMCSampler):
    """Goes on from the job's point: Optuna counts in the study, which lives for one proposal."""

    def __init__(self, seed: int, start: int) -> None:
        super().__init__(
            qmc_type="sobol", scramble=True, seed=seed, warn_independent_sampling=False
        )
        self._next = start

    def _find_sample_id(self, study: Study, search_space: Mapping[str, BaseDistribution]) -> int:
        self._next += 1
        return self._next - 1
