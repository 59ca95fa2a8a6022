"""Searches on landscapes whose truth is known, with noise from a seed."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.benchmarks.replay.samplers import AnyOptimiser, AnySampler
from tests.builders import space, spec
from tuner.nouns.model import Constraint, Params, TrialNumber
from tuner.study import Observation
from tuner.targets.search_space import Domain, derive

Truth = Callable[[Params], float | None]
"""The true gain of params over those of the baseline, as a log ratio; None where they crash."""

OPTIMISER = AnyOptimiser()


def slots_domain() -> Domain:
    """Processes, threads and a rule about their product; the baseline has two slots."""
    searched = space(
        processes={"type": "int", "low": 1, "high": 32, "log": True},
        threads={"type": "choice", "values": [1, 2, 4, 8]},
    )
    rule = Constraint(rule="processes * threads <= 64", reason="x")
    return derive(spec(search_space=searched.model_copy(update={"constraints": (rule,)})))


def hill(params: Params) -> float:
    """The best is at nine processes with two threads, by a factor of 1.8 over the baseline."""
    processes, threads = (math.log2(int(params[name])) for name in ("processes", "threads"))
    height = -0.1 * (processes - math.log2(9)) ** 2 - 0.1 * (threads - 1) ** 2
    return height + 0.1 * (1 - math.log2(9)) ** 2 + 0.1


def tried(number: int, params: Params, score: float | None, **changes: object) -> Observation:
    """A trial that has ended; without a score it crashed."""
    values: dict[str, object] = {
        "number": TrialNumber(number),
        "params": params,
        "score": score,
        "feasible": score is not None,
        "sd": 0.05,
    }
    return Observation(**{**values, **changes})  # type: ignore[arg-type]


def begun(domain: Domain) -> list[Observation]:
    """Nothing but the baseline."""
    return [tried(0, domain.baseline, 0.0, sd=0.002)]


@dataclass(slots=True)
class Search:
    """A job's search: one proposal after the other, measured with noise."""

    domain: Domain
    truth: Truth
    sampler: AnySampler
    seed: int
    noise: float = 0.08
    observations: list[Observation] = field(default_factory=list)

    def run(self, trials: int) -> list[Observation]:
        """So many proposals, none of which may be repeated."""
        rng = np.random.default_rng(self.seed)
        self.observations = self.observations or begun(self.domain)
        for _ in range(trials):
            number = len(self.observations)
            proposal = OPTIMISER.propose(
                self.domain, self.observations, sampler=self.sampler, seed=1000 * self.seed + number
            )
            assert proposal is not None
            truth = self.truth(proposal.params)
            score = None if truth is None else truth + self.noise * rng.standard_normal()
            self.observations.append(tried(number, proposal.params, score, sd=self.noise))
        return self.observations

    @property
    def believed_best(self) -> Params:
        """The params with the highest belief."""
        beliefs = OPTIMISER.believe(self.domain, self.observations)
        best = max(beliefs, key=lambda number: beliefs[number].mean)
        return next(trial.params for trial in self.observations if trial.number == best)
