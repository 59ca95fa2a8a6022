"""Expected improvement under the noise-aware model, among what probably runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from tuner.nouns.model import Params
from tuner.study.advice import Observation, Proposal
from tuner.study.sampler.features import Array, CandidatePool, Cube
from tuner.study.sampler.surrogate import Surrogate, fit, one_thread, scored

# ---- The probability that a configuration runs and keeps its bounds, learnt from those that broke

LENGTH = 0.2
"""Length scale of a number, per root of columns. Too few trials crash to fit it.

In simulations on landscapes with a cliff, longer scales crashed more often and found less.
"""

INDICATOR = 1.0
"""The same for flags and choices: they rarely decide whether a file starts."""

HOPE = 0.5
"""The prior mean, on the scale of the labels -1 and 1."""

LABEL_VARIANCE = 0.1
"""A start may fail by bad luck."""

STEEPNESS = 2.0
"""Deviates per unit of label: one that ran is at 98 %, one that broke at 2 %."""


def has_ended(trial: Observation) -> bool:
    """Whether the trial has a score or broke."""
    return trial.told and (trial.score is not None or not trial.feasible)


@dataclass(frozen=True, slots=True)
class Feasibility:
    """P(feasible) over the cube; `process` is None until a trial breaks."""

    process: GaussianProcessRegressor | None

    @classmethod
    def of(cls, cube: Cube, observations: Sequence[Observation]) -> "Feasibility":
        """Fitted to the trials that have ended."""
        ended = [trial for trial in observations if has_ended(trial)]
        if all(trial.feasible for trial in ended):
            return cls(None)
        points = cube.points([trial.params for trial in ended])
        labels = np.array([1.0 if trial.feasible else -1.0 for trial in ended])
        lengths = np.where(cube.numeric, LENGTH, INDICATOR) * np.sqrt(points.shape[1])
        kernel = Matern(lengths, nu=2.5)
        process = GaussianProcessRegressor(kernel, alpha=LABEL_VARIANCE, optimizer=None)
        return cls(process.fit(points, labels - HOPE))

    def at(self, points: Array) -> Array:
        """P(feasible) at each point."""
        if self.process is None:
            return np.ones(len(points))
        mean, sd = self.process.predict(points, return_std=True)
        steep = STEEPNESS * (mean + HOPE) / np.sqrt(1 + (STEEPNESS * sd) ** 2)
        return np.asarray(ndtr(steep))


# ---- Expected improvement under the noise-aware model
#
# Optuna's own Gaussian process compares with the best observation, which is partly luck, and does
# not know the noise of each trial. This one compares with the best *belief*. It reads our rows:
# only they know the noise of a trial and whether it may be repeated.

STARTUP_TRIALS = 5
"""Ended trials before the model is used: with fewer, it jumps from corner to corner."""

LEAST_CHANCE = 0.5
"""Least P(feasible) of a candidate: one that will probably break is not worth a block."""

CENTRES = 3
"""Trials whose neighbours become candidates too, if the pool is a sample."""


def best_candidate(
    pool: CandidatePool, observations: Sequence[Observation], seed: int
) -> Proposal | None:
    """New params, or those of a trial that may be repeated; new ones if both promise the same.

    None while little is known, before the first score of a feasible trial, and if nothing is left.
    """
    incumbents = [trial for trial in scored(observations) if trial.feasible]
    ended = sum(has_ended(trial) for trial in observations)
    if not incumbents or ended < STARTUP_TRIALS:
        return None
    with one_thread():
        model = fit(pool.cube, observations)
        beliefs, _ = model.at(pool.cube.points([trial.params for trial in incumbents]))
        running = [trial.params for trial in observations if trial.told and not has_ended(trial)]
        if running:
            model = model.expecting(pool.cube.points(running))
        search = _Search(pool, model, Feasibility.of(pool.cube, observations), float(beliefs.max()))
        order = np.argsort(-beliefs, kind="stable")[:CENTRES]
        fresh = search.fresh(observations, [incumbents[index].params for index in order], seed)
        again = search.again(incumbents, beliefs)
        return _better(fresh, again)


def _better(*candidates: Proposal | None) -> Proposal | None:
    """The candidate with the larger expected gain; the first one if both gain the same."""
    found = [candidate for candidate in candidates if candidate is not None]
    return max(found, key=lambda candidate: candidate.gain or 0.0, default=None)


def improvement(ahead: Array, sd: Array) -> Array:
    """The expected excess over 0 of a normal variable with mean `ahead`; `sd` is above 0."""
    deviates = ahead / sd
    density = np.exp(-0.5 * deviates**2) / np.sqrt(2 * np.pi)
    return np.asarray(sd * (deviates * ndtr(deviates) + density))


@dataclass(frozen=True, slots=True)
class _Search:
    """Judges candidates; `threshold` is the best belief, in the model's units."""

    pool: CandidatePool
    model: Surrogate
    feasibility: Feasibility
    threshold: float

    def fresh(
        self, observations: Sequence[Observation], centres: Sequence[Params], seed: int
    ) -> Proposal | None:
        """The best new params; the seed decides between equals."""
        taken = {self.pool.domain.key(trial.params) for trial in observations}
        is_open = np.array([key not in taken for key in self.pool.points], dtype=bool)
        params = list(self.pool.points.values())
        shuffled = np.random.default_rng(seed).permutation(np.flatnonzero(is_open))
        best = self._best([params[i] for i in shuffled], self.pool.coordinates[shuffled])
        if self.pool.is_whole:
            return best
        around = self.pool.around([*centres, *([best.params] if best else [])])
        beside = [params for key, params in around.items() if key not in taken]
        nearby = self._best(beside, self.pool.cube.points(beside))
        return _better(best, nearby)

    def again(self, incumbents: Sequence[Observation], beliefs: Array) -> Proposal | None:
        """The best trial to measure once more.

        One more block is worth what it can change in the comparison with the best other trial:
        nothing if their beliefs are far apart, or if the block adds little.
        """
        repeatable = [index for index, trial in enumerate(incumbents) if trial.may_repeat]
        if not repeatable or len(incumbents) == 1:
            return None
        points = self.pool.cube.points([incumbents[index].params for index in repeatable])
        rivals = np.array([np.delete(beliefs, i).max() for i in repeatable])
        apart = np.abs(beliefs[repeatable] - rivals)
        gains = improvement(-apart, self._learnt(self.model.at(points)[1]))
        best = int(np.argmax(gains))
        return self._candidate(incumbents[repeatable[best]].params, gains[best])

    def _best(self, params: Sequence[Params], points: Array) -> Proposal | None:
        if not params:
            return None
        means, sds = self.model.at(points)
        chances = self.feasibility.at(points)
        chances[chances < LEAST_CHANCE] = 0.0
        gains = improvement(means - self.threshold, self._learnt(sds)) * chances
        best = int(np.argmax(gains))
        return self._candidate(params[best], gains[best])

    def _learnt(self, sds: Array) -> Array:
        """How far one block of the usual noise moves the belief: a standard deviation."""
        learnt: Array = sds**2 / np.sqrt(sds**2 + self.model.noise)
        return np.maximum(learnt, 1e-9)

    def _candidate(self, params: Params, gain: float) -> Proposal:
        return Proposal(params=params, gain=float(gain) * self.model.warp.unit)
