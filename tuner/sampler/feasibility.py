"""Where a configuration is likely to run and keep its bounds, learnt from those that did not."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from tuner.sampler.features import Array, Cube
from tuner.study.advice import Observation

LENGTH = 0.2
"""How far along a number one crash says something, per root of columns: too few crash to fit it.

By simulation on landscapes with a cliff: longer ones crash more often and find less.
"""

INDICATOR = 1.0
"""The same for flags and choices: it is rarely they that decide whether a file starts."""

HOPE = 0.5
"""What is believed where nothing was tried, on the scale of the labels -1 and 1."""

LABEL_VARIANCE = 0.1
"""A start may fail by bad luck."""

STEEPNESS = 2.0
"""Deviates per unit of label: one that ran is at 98 %, one that broke at 2 %."""


def has_ended(trial: Observation) -> bool:
    """Whether something came of it: a score, or that it broke."""
    return trial.told and (trial.score is not None or not trial.feasible)


@dataclass(frozen=True, slots=True)
class Feasibility:
    """P(feasible) over the cube; `process` is None where nothing has broken so far."""

    process: GaussianProcessRegressor | None

    @classmethod
    def of(cls, cube: Cube, observations: Sequence[Observation]) -> "Feasibility":
        """What the ended trials say; those that still run say nothing."""
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
        probabilities: Array = ndtr(steep)
        return probabilities
