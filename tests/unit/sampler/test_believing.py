"""Beliefs: luck is seen through, noise is weighed, the truth is covered."""

import numpy as np
import pytest

from tests.benchmarks.replay.samplers import SpaceFilling
from tests.unit.sampler.planted import OPTIMISER, Search, begun, hill, slots_domain, tried
from tuner.study import Observation
from tuner.targets.search_space import Domain


@pytest.fixture
def domain() -> Domain:
    return slots_domain()


def test_a_lucky_noisy_score_is_not_believed_over_a_solid_one(domain: Domain) -> None:
    observations = [
        *begun(domain),
        tried(1, {"processes": 4, "threads": 1}, 0.20, sd=0.01),
        tried(2, {"processes": 6, "threads": 1}, 0.22, sd=0.01),
        tried(3, {"processes": 8, "threads": 1}, 0.30, sd=0.20),
        tried(4, {"processes": 10, "threads": 1}, 0.18, sd=0.01),
        tried(5, {"processes": 16, "threads": 1}, 0.05, sd=0.01),
    ]
    beliefs = OPTIMISER.believe(domain, observations)
    lucky, solid = beliefs[observations[3].number], beliefs[observations[2].number]
    assert lucky.mean < 0.26
    assert lucky.sd > solid.sd


def test_two_scores_are_drawn_towards_the_baseline_by_their_noise(domain: Domain) -> None:
    quiet = tried(1, {"processes": 4, "threads": 1}, 0.2, sd=0.02)
    loud = tried(1, {"processes": 4, "threads": 1}, 0.2, sd=0.2)
    (_, by_quiet), (_, by_loud) = (
        OPTIMISER.believe(domain, [*begun(domain), one]).values() for one in (quiet, loud)
    )
    assert 0.19 < by_quiet.mean < 0.2
    assert by_loud.mean == pytest.approx(0.1)
    assert by_quiet.sd < 0.02 < by_loud.sd < 0.2


def test_only_feasible_trials_with_a_score_are_believed_in(domain: Domain) -> None:
    observations = [
        *begun(domain),
        tried(1, {"processes": 4, "threads": 1}, 0.2),
        tried(2, {"processes": 5, "threads": 1}, 0.9, feasible=False),
        tried(3, {"processes": 6, "threads": 1}, None),
        tried(4, {"processes": 7, "threads": 1}, None, feasible=True),
        tried(5, {"processes": 8, "threads": 1}, None, feasible=True, told=False),
    ]
    assert [int(number) for number in OPTIMISER.believe(domain, observations)] == [0, 1]


def test_the_baseline_is_believed_to_be_itself(domain: Domain) -> None:
    observations = Search(domain, hill, SpaceFilling.RANDOM, seed=1).run(15)
    belief = OPTIMISER.believe(domain, observations)[observations[0].number]
    assert belief.mean == pytest.approx(0.0, abs=0.01)
    assert belief.sd <= 0.01


@pytest.mark.full
def test_beliefs_are_nearer_to_the_truth_than_scores_and_cover_it(domain: Domain) -> None:
    errors: list[tuple[float, float, bool]] = []
    for seed in range(6):
        observations = Search(domain, hill, SpaceFilling.RANDOM, seed).run(25)
        beliefs = OPTIMISER.believe(domain, observations)
        errors += [_error(trial, beliefs[trial.number].mean, beliefs[trial.number].sd)
                   for trial in observations[1:]]  # fmt: skip
    of_beliefs, of_scores, covered = (np.array(column) for column in zip(*errors, strict=True))
    assert np.mean(of_beliefs**2) < 0.6 * np.mean(of_scores**2)
    assert 0.82 <= covered.mean() <= 0.97


def _error(trial: Observation, mean: float, sd: float) -> tuple[float, float, bool]:
    """The error of the belief, that of the score, and whether the 90 % band has the truth."""
    truth = hill(trial.params)
    assert trial.score is not None
    return mean - truth, trial.score - truth, abs(mean - truth) <= 1.645 * sd


@pytest.mark.full
def test_where_nothing_matters_the_luckiest_is_hardly_believed(domain: Domain) -> None:
    for seed in range(4):
        observations = Search(domain, lambda params: 0.0, SpaceFilling.RANDOM, seed).run(25)
        luckiest = max(trial.score or 0.0 for trial in observations)
        believed = max(belief.mean for belief in OPTIMISER.believe(domain, observations).values())
        assert believed < 0.4 * luckiest
