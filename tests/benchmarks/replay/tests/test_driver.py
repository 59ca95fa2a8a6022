"""Whole jobs on a replayed host, with the real study."""

import pytest

from tests.benchmarks.replay.driver import Played, play
from tests.benchmarks.replay.landscape import Truth
from tests.benchmarks.replay.scoring import score
from tests.benchmarks.replay.tests.recorded import landscape, world
from tuner.nouns.model import PRESETS, JobState, Params, Phase, TrialState, Verdict
from tuner.service import bootstrap

BUDGET = PRESETS["quick"].model_copy(update={"trials": 10})
RECORD = landscape()
TRUTH = Truth.of(RECORD)
DECIDE = bootstrap.decide()


def played(truth: Truth = TRUTH, *, seed: int = 1) -> Played:
    spec = truth.spec.model_copy(update={"budget": BUDGET, "seed": seed})
    return play(spec, world(truth, RECORD, seed=seed), DECIDE)


def test_a_planted_gain_is_found_confirmed_and_scored() -> None:
    job = played()
    result = score(job, TRUTH)
    assert (job.job.state, job.job.phase) == (JobState.SUCCEEDED, Phase.DONE)
    assert result.verdict == Verdict.BETTER
    assert result.shipped > 0.3
    assert result.regret == pytest.approx(TRUTH.best_gain - result.shipped)
    assert result.is_covered
    assert result.compared == result.shipped


def test_where_nothing_matters_hardly_any_job_claims_a_gain() -> None:
    null = TRUTH.null()
    results = [score(played(null, seed=seed), null) for seed in range(8)]
    assert sum(result.is_claim for result in results) <= 1
    assert all(result.shipped == 0.0 for result in results)


def test_one_seed_gives_the_same_job_again() -> None:
    first, again = played(seed=3), played(seed=3)
    assert first.trials == again.trials
    assert first.measurements == again.measurements
    assert first.job == again.job
    assert first.trials != played(seed=4).trials


def too_many(asked: Params) -> bool:
    return int(asked["processes"]) >= 4


def test_what_crashes_is_told_as_infeasible_and_never_shipped() -> None:
    truth = Truth.of(landscape(fails=too_many))
    spec = truth.spec.model_copy(update={"budget": BUDGET})
    job = play(spec, world(truth, RECORD), DECIDE)
    assert job.job.state is JobState.SUCCEEDED
    fallen = [trial for trial in job.trials if too_many(trial.params)]
    assert fallen
    assert all(trial.state is TrialState.INFEASIBLE for trial in fallen)
    assert job.job.recommendation is not None
    assert not too_many(job.job.recommendation.params)
    assert score(job, truth).crashes >= len(fallen)


def test_the_seconds_of_all_phases_add_up_to_those_of_the_host() -> None:
    host = world(TRUTH, RECORD)
    job = play(TRUTH.spec.model_copy(update={"budget": BUDGET}), host, DECIDE)
    assert job.measured_s == pytest.approx(host.now_s)
    assert {"prepare", "calibrate", "search", "confirm"} <= job.seconds.keys()
    assert job.blocks["calibrate"] == BUDGET.calibrate_blocks


def test_a_job_for_which_nobody_has_work_is_stuck() -> None:
    with pytest.raises(RuntimeError, match="no host has anything to do"):
        play(TRUTH.spec, world(TRUTH, RECORD), lambda history: None)
