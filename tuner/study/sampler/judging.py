"""Beliefs about the trials, and what these say about the parameters."""

from collections.abc import Mapping, Sequence

import numpy as np

from tuner.nouns.model import Importance, Params, Slice, TrialNumber
from tuner.study.advice import Belief, Observation
from tuner.study.sampler import explaining
from tuner.study.sampler.candidate_pool import CandidatePool
from tuner.study.sampler.surrogate import fit, one_thread, scored, spread
from tuner.targets.search_space import Domain

TO_FIT = 3
"""Fewest scores for a model; with fewer, each score is believed by itself."""

TO_EXPLAIN = 4
"""Fewest scores for statements about parameters."""

PRIOR_SD = 0.2
"""Prior standard deviation of a score around the baseline: a log ratio."""


def believe(domain: Domain, observations: Sequence[Observation]) -> Mapping[TrialNumber, Belief]:
    """The belief about every feasible trial with a score, as log ratios to the baseline."""
    trials = [trial for trial in scored(observations) if trial.feasible]
    if not trials or len(scored(observations)) < TO_FIT:
        return {trial.number: _by_itself(trial) for trial in trials}
    with one_thread():
        pool = CandidatePool.of(domain)
        model = fit(pool.cube, observations)
        means, sds = model.at(pool.cube.points([trial.params for trial in trials]))
    scores = model.warp.outward(means)
    sds = sds / model.warp.slope(scores)
    return {
        trial.number: Belief(mean=float(mean), sd=float(sd))
        for trial, mean, sd in zip(trials, scores, sds, strict=True)
    }


def explain(
    domain: Domain, observations: Sequence[Observation], at: Params
) -> tuple[tuple[Importance, ...], tuple[Slice, ...]]:
    """Importances, the largest first, and slices through `at`; none if few trials have scores."""
    if len(scored(observations)) < TO_EXPLAIN:
        return (), ()
    with one_thread():
        pool = CandidatePool.of(domain)
        model = fit(pool.cube, observations)
        return explaining.importances(pool, model), explaining.slices(pool, model, at)


def _by_itself(trial: Observation) -> Belief:
    """The score drawn towards the baseline, the more so the noisier it is."""
    noise = float(spread([trial])[0]) ** 2
    share = PRIOR_SD**2 / (PRIOR_SD**2 + noise)
    return Belief(mean=share * (trial.score or 0.0), sd=float(np.sqrt(share * noise)))
