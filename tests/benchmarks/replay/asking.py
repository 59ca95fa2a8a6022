"""How long one `ask` takes once a search has 100 trials behind it."""

import time
from collections.abc import Sequence

import numpy as np

from tests.benchmarks.replay.landscape import Truth
from tests.benchmarks.replay.noise import START_SD
from tests.benchmarks.replay.samplers import AnyOptimiser, AnySampler
from tuner.nouns.model import BASELINE, TrialNumber
from tuner.study.advice import Observation

TRIALS = 100
ASKS = 11
SCORE_SD = 0.03  # log ratio


def times_ms(truth: Truth, sampler: AnySampler) -> list[float]:
    """Milliseconds of each of `ASKS` proposals after `TRIALS` trials drawn from the space."""
    optimiser, observations = AnyOptimiser(), _past(truth)
    found = []
    for seed in range(ASKS):
        began = time.perf_counter()
        optimiser.propose(truth.domain, observations, sampler=sampler, seed=seed)
        found.append(1000 * (time.perf_counter() - began))
    return found


def _past(truth: Truth) -> Sequence[Observation]:
    rng = np.random.default_rng(1)
    order = rng.permutation(len(truth.configurations)).tolist()
    chosen = [truth.domain.baseline, *(truth.configurations[place] for place in order)]
    observations = []
    for number, params in enumerate(chosen[: TRIALS + 1]):
        gain = truth.gain(params)
        noise = float(rng.normal(0.0, SCORE_SD)) if number != BASELINE else 0.0
        observations.append(
            Observation(
                number=TrialNumber(number),
                params=params,
                score=None if gain is None else gain + noise,
                feasible=gain is not None,
                sd=SCORE_SD if number != BASELINE else START_SD,
            )
        )
    return observations
