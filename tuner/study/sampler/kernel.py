"""The covariance of two configurations, for scikit-learn's Gaussian processes.

Options mostly add up: what turning a log off is worth hardly depends on `listen`. A kernel of all
coordinates at once does not know that, and learns of one option only from configurations that are
alike in all others. A sum of kernels, one for each group of coordinates (Duvenaud, Nickisch and
Rasmussen, 2011: additive Gaussian processes), learns of every option from every trial. Where noise
is as large as what options are worth, that is much of the difference. The rest is left to a kernel
of all coordinates, so that what only some options together do can be learnt too.
"""

import math
from collections.abc import Sequence

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel, Matern, StationaryKernelMixin

from tuner.study.sampler.features import Array

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
