"""Answers held to the truth, and what many of them add up to."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from tests.benchmarks.replay.driver import Played
from tests.benchmarks.replay.figures import summary
from tests.benchmarks.replay.landscape import Truth
from tests.benchmarks.replay.scoring import Result, best_of, score
from tests.benchmarks.replay.tests.recorded import SPEC, landscape, params
from tests.builders import block, job
from tuner.nouns.model import (
    BASELINE,
    ChangedLine,
    Comparison,
    Diagnosis,
    Effect,
    Failure,
    FailureCode,
    JobState,
    Metric,
    Origin,
    Params,
    Phase,
    Recommendation,
    Trial,
    TrialNumber,
    TrialState,
    Verdict,
)
from tuner.nouns.model import Bottleneck as Named

TRUTH = Truth.of(landscape()).with_null_options()
NULLS = {"auto-procname": False, "single-interpreter": False}
USERS = {**params(), **NULLS}
WINNER = {**params(8, logging="errors-only"), "auto-procname": True, "single-interpreter": True}
MINIMAL = {**params(8, logging="errors-only"), **NULLS, "auto-procname": True}


def recommendation(verdict: Verdict, shipped: Params, effect: Effect | None) -> Recommendation:
    comparison = Comparison(
        verdict=verdict, effect=effect, p_better=None, mde=None, blocks=8, reason="planted"
    )
    return Recommendation(
        comparison=comparison,
        candidate=TrialNumber(2),
        params=shipped,
        lines=(ChangedLine(option="processes", value="8", baseline_value="2"),),
        reverted=(),
        diagnosis=Diagnosis(bottleneck=Named.UNKNOWN, sentence="", evidence={}),
        reason="planted",
        uwsgi_ini="",
        overlay_ini="",
    )


def answered(
    verdict: Verdict,
    estimate: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    *,
    winner: int = 1,
    ablated: Sequence[Params] = (),
) -> Result:
    """The score of a job whose trial `winner` was cut down to `MINIMAL`, then confirmed.

    `ablated` are the params of the ablation's runs.
    """
    effect = None
    if estimate is not None:
        effect = Effect(metric=Metric.THROUGHPUT_RPS, estimate=estimate, ci_low=low, ci_high=high)
    shipped = MINIMAL if verdict is Verdict.BETTER else USERS
    trials = tuple(
        Trial(
            number=TrialNumber(number),
            params=values,
            origin=Origin.SAMPLER,
            state=TrialState.COMPLETE,
        )
        for number, values in enumerate((USERS, WINNER, MINIMAL, *ablated))
    )
    played = Played(
        job=job(
            spec=SPEC,
            state=JobState.SUCCEEDED,
            recommendation=recommendation(verdict, shipped, effect),
        ),
        trials=trials,
        measurements=tuple(
            block(phase=Phase.ABLATE, arms=(BASELINE, 3 + run)) for run in range(len(ablated))
        ),
        finalists={Phase.ABLATE: TrialNumber(winner), Phase.CONFIRM: TrialNumber(2)},
        seconds={"search": 60.0},
    )
    return score(played, TRUTH)


def test_a_better_file_is_shipped_and_its_regret_is_what_it_lacks() -> None:
    result = answered(Verdict.BETTER, math.expm1(0.47))
    assert result.shipped == pytest.approx(0.46)
    assert result.regret == pytest.approx(0.0)
    assert result.bias == pytest.approx(0.01)
    assert result.is_claim
    assert not result.is_worse


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.BETTER])
def test_any_other_verdict_ships_the_users_own_file(verdict: Verdict) -> None:
    result = answered(verdict, math.expm1(0.47))
    assert result.shipped == 0.0
    assert result.regret == pytest.approx(TRUTH.best_gain)
    assert result.selection_error == pytest.approx(TRUTH.best_gain)
    assert result.exploration_error == pytest.approx(0.0)
    assert not result.is_claim


@pytest.mark.parametrize(
    ("low", "high", "is_covered"), [(0.40, 0.50, True), (0.47, 0.50, False), (0.40, 0.45, False)]
)
def test_coverage_is_about_the_true_gain_of_what_was_compared(
    low: float, high: float, is_covered: bool
) -> None:
    result = answered(Verdict.BETTER, math.expm1(0.45), math.expm1(low), math.expm1(high))
    assert result.is_covered is is_covered


def test_without_an_interval_nothing_is_covered_or_missed() -> None:
    assert answered(Verdict.INCONCLUSIVE).is_covered is None
    assert answered(Verdict.INCONCLUSIVE).bias is None


def test_lines_of_the_winner_count_by_what_they_truly_do() -> None:
    result = answered(Verdict.BETTER, 0.5)
    assert (result.nulls_seen, result.nulls_kept) == (2, 1)
    assert (result.reals_seen, result.reals_kept) == (2, 2)


def test_lines_that_the_winner_lacked_count_where_the_ablation_told_them() -> None:
    assert answered(Verdict.BETTER, 0.5, winner=2).nulls_seen == 1
    runs = [{**USERS, "single-interpreter": True}, {**WINNER, "single-interpreter": False}]
    result = answered(Verdict.BETTER, 0.5, winner=2, ablated=runs)
    assert (result.nulls_seen, result.nulls_kept) == (2, 1)
    assert (result.reals_seen, result.reals_kept) == (2, 2)


def test_lines_of_a_file_that_is_not_recommended_do_not_count() -> None:
    result = answered(Verdict.NO_DIFFERENCE, 0.5)
    assert (result.nulls_seen, result.reals_seen) == (0, 0)


def test_a_failed_job_ships_the_users_own_file_and_says_why() -> None:
    failure = Failure(code=FailureCode.INFRASTRUCTURE, message="two equal arms differ")
    baseline = Trial(
        number=BASELINE, params=USERS, origin=Origin.BASELINE, state=TrialState.RUNNING
    )
    played = Played(
        job=job(spec=SPEC, state=JobState.FAILED, failure=failure),
        trials=(baseline,),
        measurements=(),
        finalists={},
        seconds={},
    )
    result = score(played, TRUTH)
    assert result.failure == "two equal arms differ"
    assert (result.shipped, result.is_claim) == (0.0, False)


def test_the_best_visited_is_at_least_the_users_own() -> None:
    assert best_of([{**USERS, "processes": 1}], TRUTH) == 0.0
    assert best_of([WINNER, USERS], TRUTH) == pytest.approx(0.46)


def result(**changes: Any) -> Result:
    return Result(**{"verdict": "better", "shipped": 0.1, "best": 0.1, "visited": 0.1, **changes})


def test_a_summary_counts_every_job() -> None:
    results = [
        *[result() for _ in range(6)],
        *[result(shipped=0.05, visited=0.08) for _ in range(2)],
        result(verdict="no_difference", shipped=0.0),
        result(shipped=-0.02),
    ]
    seen = summary(results)
    assert (seen.jobs, seen.failed) == (10, 0)
    assert seen.regret.value == pytest.approx(0.0)
    assert seen.near.value == 0.6
    assert seen.claims.value == 0.9
    assert seen.worse.value == 0.1
    assert seen.exploration == pytest.approx(2 * 0.02 / 10)
    assert seen.selection == pytest.approx((2 * 0.03 + 0.1 + 0.12) / 10)


def test_bias_is_that_of_claims_and_coverage_that_of_all_intervals() -> None:
    known = {"reported": 0.12, "low": 0.05, "high": 0.15, "compared": 0.1}
    silent = {"verdict": "inconclusive", "reported": 0.5, "compared": 0.1}
    seen = summary([result(**known), result(**known, **{"verdict": "worse"}), result(**silent)])
    assert seen.bias is not None
    assert seen.bias.value == pytest.approx(0.02)
    assert seen.bias.n == 1
    assert seen.coverage is not None
    assert (seen.coverage.value, seen.coverage.n) == (1.0, 2)


def test_shares_of_lines_are_over_all_jobs_together() -> None:
    seen = summary([result(nulls_seen=3, nulls_kept=1), result(nulls_seen=1), result()])
    assert seen.nulls_kept is not None
    assert (seen.nulls_kept.value, seen.nulls_kept.n) == (0.25, 4)
    assert seen.reals_kept is None
