"""The probability that a configuration runs and keeps its bounds, learnt from those that broke."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from tuner.study.advice import Observation
from tuner.study.sampler.features import Array, Cube

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
