"""The kernel: its gradient, and what it learns of options that add up."""

import itertools
from statistics import fmean

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor

from tests.builders import space, spec
from tests.unit.sampler.planted import begun, tried
from tuner.study.sampler import surrogate
from tuner.study.sampler.features import Array, Cube
from tuner.study.sampler.surrogate import Groups, PartlyAdditive
from tuner.targets.search_space import derive

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


WORTH = {
    "auto-procname": 0.08,
    "single-interpreter": 0.05,
    "so-keepalive": 0.03,
    "tcp-nodelay": -0.04,
    "thunder-lock": 0.0,
    "vacuum": 0.06,
}
"""Log ratios that options add, as large as the noise of a trial."""


@pytest.mark.full
def test_the_model_of_a_search_learns_more_of_them_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = fmean(error(seed) for seed in range(20))
    monkeypatch.setattr(surrogate, "APART", 0.01)
    assert apart < 0.9 * fmean(error(seed) for seed in range(20))


def error(seed: int) -> float:
    """Root mean square over all 64 files, after 16 noisy trials."""
    domain = derive(spec(search_space=space(**{name: {"type": "bool"} for name in WORTH})))
    draw, cube = np.random.default_rng(seed), Cube.of(domain)
    files = [
        dict(zip(WORTH, flags, strict=True)) for flags in itertools.product((False, True), repeat=6)
    ]
    truths = np.array([sum(WORTH[name] for name in WORTH if file[name]) for file in files])
    chosen = draw.choice(len(files), 16, replace=False)
    past = begun(domain)
    for number, index in enumerate(chosen, start=1):
        score = float(truths[index] + 0.05 * draw.standard_normal())
        past.append(tried(number, files[index], score, sd=0.05))
    model = surrogate.fit(cube, past)
    believed = model.warp.outward(model.at(cube.points(files))[0])
    return float(np.sqrt(np.mean((believed - truths) ** 2)))
