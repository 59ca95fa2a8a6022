"""Windows to scores and broken bounds."""

import math

import pytest

from tests.builders import block, pair, spec, window
from tuner import objective
from tuner.model import (
    Doubt,
    Failure,
    FailureCode,
    Metric,
    Objective,
    RelativeBound,
    Slo,
    TrialState,
)


def test_the_score_is_the_log_ratio_to_the_baseline_of_the_same_block() -> None:
    outcome = objective.outcome_of([block(pair(100, 120))], spec())
    assert outcome.score == pytest.approx(math.log(1.2))
    assert outcome.state is TrialState.COMPLETE
    assert outcome.is_feasible


def test_a_minimised_metric_scores_with_its_sign_turned() -> None:
    chosen = spec(objective=Objective(minimize=Metric.MEMORY_MB))
    windows = [window(0, memory_mb=100.0), window(1, memory_mb=50.0)]
    assert objective.outcome_of([block(windows)], chosen).score == pytest.approx(math.log(2))


def test_void_windows_do_not_count() -> None:
    ghost = window(1, 999, doubts=(Doubt.PORTS_EXHAUSTED,))
    ratio = objective.log_ratio(block([*pair(100, 120), ghost]), Metric.THROUGHPUT_RPS)
    assert ratio == pytest.approx(math.log(1.2))


def test_a_trial_with_nothing_but_void_windows_says_nothing() -> None:
    outcome = objective.outcome_of(
        [block(pair(100, 120, doubts=(Doubt.COUNTER_MISMATCH,)))], spec()
    )
    assert outcome.state is TrialState.FAILED
    assert outcome.score is None


def test_errors_beyond_the_baselines_own_break_a_bound_however_fast() -> None:
    outcome = objective.outcome_of([block(pair(100, 900, errors=9))], spec())
    assert outcome.state is TrialState.INFEASIBLE
    assert outcome.constraints["error_rate"] > 0
    assert outcome.score is not None
    assert outcome.score > 0


def test_a_process_that_dies_breaks_a_bound() -> None:
    outcome = objective.outcome_of([block(pair(100, 120, respawns=2))], spec())
    assert outcome.constraints["respawns"] == 2
    assert not outcome.is_feasible


def test_a_candidate_that_answers_nothing_is_infeasible_not_slow() -> None:
    windows = [window(0, 100), window(1, 0, requests=0, errors=50, latency_p50_ms=None)]
    outcome = objective.outcome_of([block(windows)], spec())
    assert outcome.state is TrialState.INFEASIBLE
    assert outcome.score is None


@pytest.mark.parametrize(
    ("bound", "kept"),
    [
        (19.0, False),
        (21.0, True),
        (RelativeBound(relative_to_baseline=0.9), False),
        (RelativeBound(relative_to_baseline=1.1), True),
    ],
)
def test_latency_bounds_are_absolute_or_relative(bound: float | RelativeBound, kept: bool) -> None:
    chosen = spec(slo=Slo(latency_p95_ms=bound))
    excess = objective.excesses(block(pair(100, 100)), chosen)["latency_p95_ms"]
    assert (excess <= 0) is kept


def test_a_bound_without_a_value_to_show_is_not_kept() -> None:
    chosen = spec(slo=Slo(latency_p99_ms=500.0))
    found = objective.excesses(block(pair(100, 100, latency_p99_ms=None)), chosen)
    assert found["latency_p99_ms"] == objective.NOTHING_TO_SHOW


def test_a_failed_block_is_held_against_the_side_at_fault_only() -> None:
    own = Failure(code=FailureCode.OUT_OF_MEMORY, message="killed", side=1)
    hosts = Failure(code=FailureCode.NOT_READY, message="baseline", side=0)
    assert objective.outcome_of([block(failure=own)], spec()).state is TrialState.INFEASIBLE
    assert objective.outcome_of([block(failure=hosts)], spec()).state is TrialState.FAILED
