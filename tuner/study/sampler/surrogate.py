"""A Gaussian process over the scores that knows how noisy each of them is."""

import math
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel, Matern, StationaryKernelMixin
from threadpoolctl import ThreadpoolController

from tuner.nouns.model import BASELINE
from tuner.study.advice import Observation
from tuner.study.sampler.features import Array, Cube

# ---- The covariance of two configurations, for scikit-learn's Gaussian processes
#
# Options mostly add up: what turning a log off is worth hardly depends on `listen`. A kernel of
# all coordinates at once does not know that, and learns of one option only from configurations
# that are alike in all others. A sum of kernels, one for each group of coordinates (Duvenaud,
# Nickisch and Rasmussen, 2011: additive Gaussian processes), learns of every option from every
# trial. Where noise is as large as what options are worth, that is much of the difference. The
# rest is left to a kernel of all coordinates, so that what only some options together do can be
# learnt too.

NU = 2.5
"""Smoothness: functions have two derivatives."""

Groups = tuple[tuple[int, ...], ...]
"""Columns that belong together; every column is in one group."""


class PartlyAdditive(StationaryKernelMixin, Kernel):  # type: ignore[misc]  # untyped library
    """`apart` * (mean of a Matern kernel for each group) + `together` * (one of all columns).

    Both variances and the length scales are hyper-parameters, within bounds. A group's kernel has
    the length scales of that of all columns, made smaller as distances are: they grow with the root
    of the number of columns.
    """

    def __init__(
        self,
        groups: Groups,
        apart: float,
        together: float,
        lengths: Sequence[float],
        signal_bounds: tuple[float, float],
        length_bounds: tuple[float, float],
    ) -> None:
        self.groups = groups
        self.apart = apart
        self.together = together
        self.lengths = lengths
        self.signal_bounds = signal_bounds
        self.length_bounds = length_bounds

    # scikit-learn finds these by their names, and sorts by them: apart, lengths, together

    @property
    def hyperparameter_apart(self) -> Hyperparameter:
        """The variance of what groups do each by itself."""
        return Hyperparameter("apart", "numeric", self.signal_bounds)

    @property
    def hyperparameter_lengths(self) -> Hyperparameter:
        """One length scale a column."""
        return Hyperparameter("lengths", "numeric", self.length_bounds, len(self._scales))

    @property
    def hyperparameter_together(self) -> Hyperparameter:
        """The variance of everything else."""
        return Hyperparameter("together", "numeric", self.signal_bounds)

    @property
    def _scales(self) -> Array:
        """The length scales; of a single one scikit-learn makes a number."""
        return np.atleast_1d(np.asarray(self.lengths, dtype=np.float64))

    def diag(self, X: Array) -> Array:
        """The variance at each point: the same everywhere."""
        return np.full(len(X), self.apart + self.together)

    def __call__(
        self,
        X: Array,
        Y: Array | None = None,
        eval_gradient: bool = False,
    ) -> Array | tuple[Array, Array]:
        """The covariance of X and Y; with its gradient by the logs of all hyper-parameters.

        Shapes (len(X), len(Y)), and (len(X), len(X), 2 + columns).
        """
        if eval_gradient:
            return self._with_gradient(X)
        found: Array = self.together * Matern(self._scales, nu=NU)(X, Y)
        share = self.apart / len(self.groups)
        for group in self.groups:
            columns = list(group)
            found += share * self._alone(columns)(
                X[:, columns], None if Y is None else Y[:, columns]
            )
        return found

    def _with_gradient(self, points: Array) -> tuple[Array, Array]:
        whole, of_lengths = Matern(self._scales, nu=NU)(points, eval_gradient=True)
        gradient = np.zeros((len(points), len(points), 2 + len(self._scales)))
        gradient[:, :, 1:-1] = self.together * of_lengths
        gradient[:, :, -1] = self.together * whole
        share = self.apart / len(self.groups)
        for group in self.groups:
            columns = list(group)
            part, of_part = self._alone(columns)(points[:, columns], eval_gradient=True)
            gradient[:, :, 0] += share * part
            gradient[:, :, [1 + column for column in columns]] += share * of_part
        return gradient[:, :, 0] + gradient[:, :, -1], gradient

    def _alone(self, columns: Sequence[int]) -> Matern:
        """The kernel of one group."""
        shorter = math.sqrt(len(columns) / len(self._scales))
        return Matern(shorter * self._scales[columns], nu=NU)


# ---- A Gaussian process over the scores that knows how noisy each of them is
#
# Matern 5/2 with a length scale per coordinate, by itself and together (`kernel`); their values
# maximise the marginal likelihood times a weak prior, without which four trials in six dimensions
# would be believed to be a straight line.

ASSUMED_SD = 0.05
"""Noise of a score without `sd`: that of one block on a quiet host."""

LEAST_SD = 0.005
"""Least noise of a score. The baseline's score is 0 by definition and gets it too."""

KNEE = 0.5
"""Log ratio below the best from which on a score counts less and less: see `Warp`."""

LENGTHS = (0.05, 20.0)
"""Bounds of a length scale in a cube of side 1: from a narrow peak to no effect at all."""

SIGNALS = (0.01, 20.0)
"""Bounds of a signal's variance, the scores being standardised."""

APART = 0.75
"""Share of the signal's variance that parameters are expected to have each by itself.

Replayed on `cpu-bound` at 8 % noise, what is shipped loses (medians of 200 seeds): on seeds 1-200
3.1 % without this part, 3.0 % with a share of 0.5, 2.5 % with 0.75, 2.6 % with 0.8; on 201-400
3.1 % without it, 2.4 % with 0.65, 0.8 and 0.95. Which of them from 0.65 on does not matter there.
"""

FEW = 20
"""With fewer scores, a second start of the hyper-parameter search pays."""

STARTS = (1.0, 0.3)
"""Where that search starts: multiples of the prior's median length scale."""

MEDIAN_LENGTH = 0.5
"""The prior's median length scale per root of columns: distances grow with the columns."""

PRIOR_SPREAD = 1.0
"""Standard deviation of the logs of length scales and signal: most lie within a factor of 7.

Length and spread are those with the least regret in simulation: after 15 trials on six landscapes
2.9 %, with twice the length 4.2 %, with twice the spread 3.4 %, without `Warp` 3.6 %. All four are
of the model before it had a part in which parameters add up.
"""

_BLAS = ThreadpoolController()


@dataclass(frozen=True, slots=True)
class Warp:
    """Log ratios to the units of the model and back.

    One scale must serve a landscape whose best is 2 % above its neighbour and fifty times above the
    worst. So a square root draws scores far below the best together, and the rest is standardised.
    """

    top: float
    centre: float
    unit: float

    @classmethod
    def of(cls, scores: Array, sds: Array, top: float) -> "Warp":
        """The warp for these scores; `top` is the best of them that may be recommended."""
        drawn = _drawn_together(scores - top)
        # Scores that differ by less than their noise are not to be blown up to unit variance.
        unit = max(float(drawn.std()), float(np.median(sds)) / 2, LEAST_SD)
        return cls(top, float(drawn.mean()), unit)

    def inward(self, scores: Array) -> Array:
        """Scores in the units of the model."""
        return np.asarray((_drawn_together(scores - self.top) - self.centre) / self.unit)

    def outward(self, values: Array) -> Array:
        """Values of the model as scores."""
        drawn = values * self.unit + self.centre
        excess = np.maximum(-drawn - KNEE, 0.0)
        scores: Array = np.where(excess > 0, -KNEE - excess - excess**2 / (2 * KNEE), drawn)
        return scores + self.top

    def slope(self, scores: Array) -> Array:
        """The derivative of `inward` at these scores."""
        excess = np.maximum(self.top - scores - KNEE, 0.0)
        return np.asarray(1 / np.sqrt(1 + 2 * excess / KNEE) / self.unit)


def _drawn_together(below: Array) -> Array:
    """Distances from the top, negative below it: kept down to the knee, then square-rooted."""
    excess = np.maximum(-below - KNEE, 0.0)
    root = KNEE * (np.sqrt(1 + 2 * excess / KNEE) - 1)
    return np.asarray(np.where(excess > 0, -KNEE - root, below))


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A fitted model: `process` works on the cube and in the units of `warp`."""

    cube: Cube
    warp: Warp
    process: GaussianProcessRegressor
    noise: float  # variance of a usual score, in the units of the model

    def at(self, points: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the true value at points, in the units of the model."""
        mean, sd = self.process.predict(points, return_std=True)
        return mean, sd

    def draws(self, points: Array, count: int, seed: int) -> Array:
        """Functions that the data allow, at points: shape (count, len(points))."""
        mean, covariance = self.process.predict(points, return_cov=True)
        values, vectors = np.linalg.eigh(covariance)
        normal = np.random.default_rng(seed).standard_normal((count, len(points)))
        return np.asarray(mean + (normal * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)

    def expecting(self, points: Array) -> "Surrogate":
        """The model as if each point had been measured with its mean as the result.

        The next proposal then differs from what is being measured.
        """
        known = self.process
        coordinates = np.vstack([known.X_train_, points])
        targets = np.concatenate([known.y_train_, known.predict(points)])
        noise = np.concatenate([known.alpha, np.full(len(points), self.noise)])
        process = _conditioned(known.kernel_, coordinates, targets, noise)
        return Surrogate(self.cube, self.warp, process, self.noise)


def one_thread() -> AbstractContextManager[object]:
    """Linear algebra on one thread: the matrices are small, and sums keep their order."""
    limited: AbstractContextManager[object] = _BLAS.limit(limits=1)
    return limited


def scored(observations: Sequence[Observation]) -> list[Observation]:
    """The trials with a score. Their bounds may be broken, their run may not."""
    return [trial for trial in observations if trial.told and trial.score is not None]


def spread(trials: Sequence[Observation]) -> Array:
    """The standard deviation of each trial's score."""
    return np.array([_sd(trial) for trial in trials], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Scored:
    """Trials that can be looked up: two with the same key have the same model."""

    key: Hashable
    trials: Sequence[Observation] = field(compare=False)


def fit(cube: Cube, observations: Sequence[Observation]) -> Surrogate:
    """The model of these trials, of which at least one has a score.

    The last few models are kept: a study asks again for those of finished rounds of the race.
    """
    trials = scored(observations)
    key = tuple((t.number, t.score, t.feasible, t.sd, *t.params.items()) for t in trials)
    return _fitted(cube, _Scored(key, trials))


@lru_cache(maxsize=8)
def _fitted(cube: Cube, known: _Scored) -> Surrogate:
    trials = known.trials
    scores = np.array([trial.score for trial in trials], dtype=np.float64)
    sds = spread(trials)
    best = [trial.score for trial in trials if trial.feasible and trial.score is not None]
    warp = Warp.of(scores, sds, max(best, default=float(scores.max())))
    noises = (sds * warp.slope(scores)) ** 2
    points = cube.points([trial.params for trial in trials])
    others = [n for n, t in zip(noises, trials, strict=True) if t.number != BASELINE]
    usual = float(np.median(others)) if others else (ASSUMED_SD / warp.unit) ** 2
    process = _likeliest(points, warp.inward(scores), noises, cube.groups)
    return Surrogate(cube, warp, process, usual)


def _sd(trial: Observation) -> float:
    if trial.number == BASELINE:
        return LEAST_SD
    return max(ASSUMED_SD if trial.sd is None else trial.sd, LEAST_SD)


def _likeliest(
    points: Array, targets: Array, noises: Array, groups: Groups
) -> GaussianProcessRegressor:
    """The process under the most probable hyper-parameters."""
    columns = points.shape[1]
    lengths = [MEDIAN_LENGTH * math.sqrt(columns)] * columns
    kernel = PartlyAdditive(groups, APART, 1 - APART, lengths, SIGNALS, LENGTHS)
    process = _conditioned(kernel, points, targets, noises)
    centre = kernel.theta

    def loss(theta: Array) -> tuple[float, Array]:
        likelihood, gradient = process.log_marginal_likelihood(
            theta, eval_gradient=True, clone_kernel=False
        )
        away = (theta - centre) / PRIOR_SPREAD
        return 0.5 * away @ away - likelihood, away / PRIOR_SPREAD - gradient

    starts = STARTS if len(targets) < FEW else STARTS[:1]
    found = [
        minimize(
            loss,
            centre + np.log([1.0, *[start] * columns, 1.0]),
            jac=True,
            bounds=kernel.bounds,
            method="L-BFGS-B",
            options={"maxiter": 40, "ftol": 1e-4},
        )
        for start in starts
    ]
    best = min(found, key=lambda result: float(result.fun))
    return _conditioned(kernel.clone_with_theta(best.x), points, targets, noises)


def _conditioned(
    kernel: Kernel, points: Array, targets: Array, noises: Array
) -> GaussianProcessRegressor:
    """The process given the data, its hyper-parameters left as they are."""
    return GaussianProcessRegressor(kernel, alpha=noises, optimizer=None).fit(points, targets)
