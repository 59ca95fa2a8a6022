"""Windows to scores and broken bounds."""

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import at_speed, block, pair, spec, window
from tuner.judge import objective
from tuner.nouns.model import (
    Aim,
    Burst,
    ClosedLoop,
    Doubt,
    Failure,
    FailureCode,
    Journey,
    Ladder,
    Limits,
    Metric,
    Objective,
    OpenLoop,
    RelativeBound,
    ServerFigures,
    Slo,
    TrialState,
    Window,
    Workload,
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


def test_a_failed_block_is_held_against_the_arm_at_fault_only() -> None:
    own = Failure(code=FailureCode.OUT_OF_MEMORY, message="killed", arm=1)
    hosts = Failure(code=FailureCode.NOT_READY, message="baseline", arm=0)
    assert objective.outcome_of([block(failure=own)], spec()).state is TrialState.INFEASIBLE
    assert objective.outcome_of([block(failure=hosts)], spec()).state is TrialState.FAILED


@pytest.mark.parametrize(
    ("bound", "kept"),
    [
        (79.0, True),
        (81.0, False),
        (RelativeBound(relative_to_baseline=0.79), True),
        (RelativeBound(relative_to_baseline=0.81), False),
        (0.0, True),
    ],
)
def test_throughput_has_to_stay_above_its_bound(bound: float | RelativeBound, kept: bool) -> None:
    chosen = spec(slo=Slo(throughput_rps=bound), objective=Objective(minimize=Metric.MEMORY_MB))
    excess = objective.excesses(block(pair(100, 80)), chosen)["throughput_rps"]
    assert (excess <= 0) is kept


def test_the_excess_over_a_lower_bound_is_what_is_missing() -> None:
    chosen = spec(slo=Slo(throughput_rps=RelativeBound(relative_to_baseline=0.95)))
    excess = objective.excesses(block(pair(100, 50)), chosen)["throughput_rps"]
    assert excess == pytest.approx(math.log(0.95 / 0.5))


def test_an_upper_bound_of_nothing_is_not_kept() -> None:
    chosen = spec(slo=Slo(latency_p50_ms=0.0))
    assert objective.excesses(block(pair(100, 100)), chosen)["latency_p50_ms"] > 0


def test_throughput_per_cpu_is_an_objective() -> None:
    chosen = spec(objective=Objective(maximize=Metric.RPS_PER_CPU))
    windows = [
        window(0, 100.0, server=ServerFigures(cores=1.0)),
        window(1, 90.0, server=ServerFigures(cores=0.6)),
    ]
    assert objective.outcome_of([block(windows)], chosen).score == pytest.approx(math.log(1.5))


def test_without_the_cpu_it_took_a_candidate_has_no_throughput_per_cpu() -> None:
    chosen = spec(objective=Objective(maximize=Metric.RPS_PER_CPU))
    outcome = objective.outcome_of([block(pair(100, 120))], chosen)
    assert (outcome.score, outcome.state) == (None, TrialState.INFEASIBLE)


def test_gains_are_told_for_every_metric_of_the_objective_with_their_sign() -> None:
    also = (Aim(minimize=Metric.MEMORY_MB), Aim(minimize=Metric.LATENCY_P99_MS))
    chosen = spec(objective=Objective(maximize=Metric.THROUGHPUT_RPS, also=also))
    windows = pair(100, 120, memory_mb=100.0, latency_p99_ms=None)
    outcome = objective.outcome_of([block(windows)], chosen)
    assert outcome.gains == {
        "throughput_rps": pytest.approx(math.log(1.2)),
        "memory_mb": pytest.approx(-math.log(2)),
    }
    assert outcome.score == outcome.gains["throughput_rps"]


def test_more_blocks_of_a_trial_make_one_outcome() -> None:
    outcome = objective.outcome_of([block(pair(100, 120)), block(pair(100, 150))], spec())
    assert outcome.blocks == 2
    assert outcome.score == pytest.approx((math.log(1.2) + math.log(1.5)) / 2)


def test_a_bound_that_is_broken_in_one_block_of_a_trial_is_broken() -> None:
    blocks = [block(pair(100, 120)), block(pair(100, 120, errors=9))]
    assert not objective.outcome_of(blocks, spec()).is_feasible


def test_a_candidate_that_breaks_in_its_second_block_is_infeasible() -> None:
    broken = Failure(code=FailureCode.DIED, message="died", arm=1)
    outcome = objective.outcome_of([block(pair(100, 120)), block(failure=broken)], spec())
    assert (outcome.state, outcome.failure) == (TrialState.INFEASIBLE, broken)
    assert (outcome.score, outcome.blocks) == (None, 2)


def test_a_block_that_says_nothing_takes_nothing_from_the_others() -> None:
    void = block(pair(100, 120, doubts=(Doubt.COUNTER_MISMATCH,)))
    hosts = block(failure=Failure(code=FailureCode.NOT_READY, message="baseline", arm=0))
    outcome = objective.outcome_of([void, block(pair(100, 120)), hosts], spec())
    assert outcome.state is TrialState.COMPLETE
    assert outcome.score == pytest.approx(math.log(1.2))
    assert outcome.blocks == 3, "they have been looked at"


CLIFF = pair(100, 200, latency_p95_ms=20.0 * 1.26)
NO_CLIFF = pair(100, 200, latency_p95_ms=20.0 * 1.24)


def test_a_candidate_with_a_much_longer_p95_is_infeasible_however_fast() -> None:
    outcome = objective.outcome_of([block(CLIFF)], spec())
    assert outcome.state is TrialState.INFEASIBLE
    assert outcome.constraints["latency_p95_ms"] == pytest.approx(math.log(1.26 / 1.25))
    assert objective.outcome_of([block(NO_CLIFF)], spec()).is_feasible


@pytest.mark.parametrize(("longer", "kept"), [(2.4, True), (2.6, False)])
def test_a_slow_candidate_may_be_as_much_longer_as_it_serves_less(
    longer: float, kept: bool
) -> None:
    windows = pair(100, 50, latency_p95_ms=20.0 * longer)
    assert objective.outcome_of([block(windows)], spec()).is_feasible is kept


def test_the_p95_is_guarded_by_its_mean_over_the_windows_of_a_block() -> None:
    long, short = (window(1, 200, latency_p95_ms=20.0 * factor) for factor in (1.4, 1.0))
    assert objective.outcome_of([block([window(0), long, window(0), short])], spec()).is_feasible


@pytest.mark.parametrize(
    "changes",
    [
        {"slo": Slo(latency_p95_ms=100.0)},
        {"objective": Objective(minimize=Metric.LATENCY_P95_MS)},
        {
            "objective": Objective(
                maximize=Metric.THROUGHPUT_RPS, also=(Aim(minimize=Metric.LATENCY_P95_MS),)
            )
        },
    ],
)
def test_who_has_a_word_on_the_p95_is_not_guarded(changes: dict[str, Any]) -> None:
    found = objective.excesses(block(CLIFF), spec(**changes))
    assert found.get("latency_p95_ms", -1.0) < 0


@pytest.mark.parametrize(
    ("workload", "guarded"),
    [
        (ClosedLoop(), True),
        (Ladder(kind="ladder", concurrencies=(1, 2)), True),
        (OpenLoop(kind="open_loop", rate_rps=50), True),
        (Burst(kind="burst", users=10), False),
        (Journey(kind="journey"), False),
    ],
)
def test_the_p95_is_guarded_where_requests_come_one_by_one(
    workload: Workload, guarded: bool
) -> None:
    found = objective.excesses(block(CLIFF), spec(workload=workload))
    assert ("latency_p95_ms" in found) is guarded


@pytest.mark.parametrize("arm", [0, 1])
def test_a_p95_that_one_arm_does_not_have_is_not_guarded(arm: int) -> None:
    windows = [window(n, latency_p95_ms=None if n == arm else 20.0 * (1 + n)) for n in (0, 1)]
    assert "latency_p95_ms" not in objective.excesses(block(windows), spec())


def test_a_candidate_may_not_use_the_memory_to_its_last_part() -> None:
    chosen = spec(limits=Limits(memory_mb=100))
    assert objective.excesses(block(pair(100, 120, memory_mb=89.0)), chosen)["memory_mb"] < 0
    assert objective.excesses(block(pair(100, 120, memory_mb=95.0)), chosen)["memory_mb"] > 0


def test_a_baseline_that_fills_its_memory_is_the_bound_itself() -> None:
    windows = [window(0, 100, memory_mb=97.0), window(1, 120, memory_mb=96.0)]
    assert objective.excesses(block(windows), spec(limits=Limits(memory_mb=100)))["memory_mb"] < 0


def test_a_bound_of_the_users_own_replaces_the_guard_on_memory() -> None:
    chosen = spec(limits=Limits(memory_mb=100), slo=Slo(memory_mb=99.0))
    assert objective.excesses(block(pair(100, 120, memory_mb=95.0)), chosen)["memory_mb"] < 0


def test_bounds_are_held_against_the_mean_of_a_trials_blocks() -> None:
    blocks = [block(pair(100, 120, latency_p95_ms=ms)) for ms in (26.0, 20.0, 20.0)]
    assert objective.outcome_of(blocks[:1], spec()).state is TrialState.INFEASIBLE
    assert objective.outcome_of(blocks, spec()).state is TrialState.COMPLETE


def test_a_block_that_was_cut_short_makes_a_pruned_trial_with_a_score() -> None:
    whole = block(pair(100, 80, latency_p95_ms=20.0))
    assert whole.result is not None
    cut = replace(whole, result=replace(whole.result, is_cut_short=True))
    found = objective.outcome_of([cut], spec())
    assert found.state is TrialState.PRUNED
    assert found.is_feasible


def throughput_ratio(*windows: Window) -> float | None:
    return objective.log_ratio(block(windows), Metric.THROUGHPUT_RPS)


def test_a_slow_cpu_is_no_fault_of_the_arm_that_met_it() -> None:
    met_it = at_speed(0, 150, 20), at_speed(0, 100, 13.3333), at_speed(1, 95, 13.3333)
    assert throughput_ratio(*met_it) == pytest.approx(math.log(0.95), abs=1e-4)


def test_equal_speed_keeps_the_level_of_the_block() -> None:
    windows = [at_speed(0, 100, 10), at_speed(1, 400, 40)]
    assert [w.throughput_rps for w in objective.at_equal_speed(windows)] == pytest.approx([200] * 2)
    assert [w.throughput_rps for w in windows] == [100, 400]


@pytest.mark.parametrize("other", [at_speed(1, 95, None), at_speed(1, 95, 13, target_cpu=0.89)])
def test_windows_without_a_speed_or_with_an_idle_cpu_are_compared_as_they_are(
    other: Window,
) -> None:
    assert throughput_ratio(at_speed(0, 100, 20), other) == pytest.approx(math.log(0.95))


def test_a_rung_with_an_idle_cpu_leaves_the_others_at_equal_speed() -> None:
    idle = [
        at_speed(arm, 10, speed, connections=1, target_cpu=0.1) for arm, speed in ((0, 20), (1, 10))
    ]
    full = [at_speed(arm, 10 * speed, speed, connections=8) for arm, speed in ((0, 20), (1, 10))]
    assert throughput_ratio(*idle, *full) == pytest.approx(0)


@pytest.mark.parametrize(
    "metric",
    [
        Metric.RPS_PER_CPU,
        Metric.LATENCY_P50_MS,
        Metric.MEMORY_MB,
    ],
)
def test_a_cpu_at_half_speed_changes_neither_throughput_per_cpu_nor_p50(metric: Metric) -> None:
    server = ServerFigures(cores=1.0)
    measured = block(
        [
            at_speed(0, 200, 20, server=server, latency_p50_ms=10.0),
            at_speed(1, 100, 10, server=server, latency_p50_ms=20.0),
        ]
    )
    assert objective.log_ratio(measured, metric) == pytest.approx(0)


def test_a_tail_is_of_the_slowest_moments_so_it_stays_as_it_was_counted() -> None:
    measured = block(
        [
            at_speed(0, 200, 20, latency_p95_ms=30.0),
            at_speed(1, 100, 10, latency_p95_ms=60.0),
        ]
    )
    assert objective.log_ratio(measured, Metric.LATENCY_P95_MS) == pytest.approx(math.log(2))
    # The guard takes off the loss that this block had, not the one at equal speed.
    guard = objective.excesses(measured, spec())[Metric.LATENCY_P95_MS.value]
    assert guard == pytest.approx(-math.log(objective.P95_GUARD))


def test_a_bound_in_ms_holds_for_what_users_waited_and_a_relative_one_at_equal_speed() -> None:
    measured = block(
        [
            at_speed(0, 200, 20, latency_p50_ms=30.0),
            at_speed(1, 100, 10, latency_p50_ms=60.0),
        ]
    )

    def excess(bound: float | RelativeBound) -> float:
        slo = Slo(latency_p50_ms=bound)
        return objective.excesses(measured, spec(slo=slo))[Metric.LATENCY_P50_MS.value]

    assert excess(50.0) == pytest.approx(math.log(60 / 50))
    assert excess(RelativeBound(relative_to_baseline=1.2)) == pytest.approx(-math.log(1.2))
