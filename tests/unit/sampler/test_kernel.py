"""The kernel: its gradient, and what it learns of options that add up."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor

from tuner.sampler.features import Array
from tuner.sampler.kernel import Groups, PartlyAdditive

GROUPS: Groups = ((0, 1, 4), (2,), (3,))
LENGTHS = (0.5, 0.7, 0.9, 1.1, 0.3)


def kernel(apart: float = 0.6, together: float = 0.4, groups: Groups = GROUPS) -> PartlyAdditive:
    lengths = LENGTHS[: sum(len(group) for group in groups)]
    return PartlyAdditive(groups, apart, together, lengths, (0.01, 20.0), (0.05, 20.0))


def some_points(count: int = 9) -> Array:
    return np.random.default_rng(1).random((count, len(LENGTHS)))


def test_the_gradient_is_that_of_finite_differences() -> None:
    points, step = some_points(), 1e-6
    here, gradient = kernel()(points, eval_gradient=True)
    theta = kernel().theta
    assert gradient.shape == (9, 9, 2 + len(LENGTHS)) == (9, 9, len(theta))
    for index in range(len(theta)):
        moved = theta.copy()
        moved[index] += step
        slope = (kernel().clone_with_theta(moved)(points) - here) / step
        assert gradient[:, :, index] == pytest.approx(slope, abs=1e-5)


def test_it_is_a_covariance_with_the_variance_that_it_says() -> None:
    points = some_points()
    found = kernel()(points)
    assert np.diag(found) == pytest.approx(kernel().diag(points))
    assert np.linalg.eigvalsh(found).min() > -1e-9
    assert kernel()(points, points) == pytest.approx(found)
    assert kernel()(points[:2], points) == pytest.approx(found[:2])


@pytest.mark.parametrize(("apart", "is_learnt"), [(0.99, True), (0.01, False)])
def test_options_that_add_up_are_learnt_from_trials_that_differ_in_all_else(
    apart: float, is_learnt: bool
) -> None:
    """Each of two options was seen alone: what both do is the sum only where they add up."""
    seen = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    model = kernel(apart, 1 - apart, ((0,), (1,)))
    process = GaussianProcessRegressor(model, alpha=1e-4, optimizer=None)
    process.fit(seen, np.array([0.0, 0.5, 0.3]))
    both = float(process.predict(np.array([[1.0, 1.0]]))[0])
    assert (both > 0.7) is is_learnt
