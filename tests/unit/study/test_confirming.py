"""The confirmation: looks on the way, and what must not get worse for a gain."""

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import block, pair
from tests.fake_optimiser import Ladder
from tests.unit.study.scenes import CALIBRATION, rows, trial
from tuner.judge import analysis
from tuner.nouns.model import (
    Failure,
    FailureCode,
    Measure,
    Measurement,
    MeasurementState,
    Origin,
    Outcome,
    Phase,
    Recommendation,
    Settle,
    Step,
    Succeed,
    TrialState,
    Verdict,
)
from tuner.study import decide

FINALIST = trial(1, 0.2, processes=8, threads=2)


def confirmed(*blocks: Measurement) -> Step | None:
    return decide(rows(Phase.CONFIRM, (FINALIST,), blocks, finalist=1), optimiser=Ladder())


def gains(*rates: float, **changes: Any) -> tuple[Measurement, ...]:
    """One block per rate of the candidate, the baseline's being 100; `changes` are its windows'."""
    return tuple(
        block(pair(100, rate, **changes), phase=Phase.CONFIRM, sequence=n)
        for n, rate in enumerate(rates, 1)
    )


def answer(*blocks: Measurement) -> Recommendation:
    step = confirmed(*blocks)
    assert isinstance(step, Succeed)
    assert step.recommendation is not None
    return step.recommendation


STEADY = (119.0, 121.0, 120.0, 122.0, 118.0, 120.5, 119.5, 121.5)
NOISY = (96.0, 110.0, 99.0, 112.0, 97.0, 111.0, 98.0, 108.0)
FLAT = (100.1, 99.9, 100.2, 99.8, 100.0, 100.1, 99.9, 100.0)


def test_blocks_are_asked_for_look_by_look() -> None:
    first = confirmed()
    assert isinstance(first, Measure)
    assert len(first.plans) == 6
    more = confirmed(*gains(*NOISY))
    assert isinstance(more, Measure)
    assert len(more.plans) == 1


def test_a_clear_gain_ends_it_at_the_first_look() -> None:
    found = answer(*gains(*STEADY))
    assert found.verdict is Verdict.BETTER
    assert [look.blocks for look in found.comparison.looks] == [6]
    assert found.comparison.looks[0].z > found.comparison.looks[0].bound


def test_where_there_is_nothing_to_gain_it_ends_early_too() -> None:
    assert answer(*gains(*FLAT)).verdict is Verdict.NO_DIFFERENCE


def test_the_last_look_decides_whatever_it_says() -> None:
    found = answer(*gains(*NOISY, *NOISY))
    assert found.comparison.blocks == 16
    assert found.verdict in (Verdict.INCONCLUSIVE, Verdict.BETTER)


def test_a_candidate_that_breaks_ends_it_at_once() -> None:
    failure = Failure(code=FailureCode.OUT_OF_MEMORY, message="out of memory", arm=1)
    broken = block(phase=Phase.CONFIRM, sequence=3, failure=failure)
    found = answer(*gains(*STEADY[:2]), broken)
    assert found.verdict is Verdict.WORSE
    assert "out of memory" in found.reason


def test_it_waits_for_what_is_open() -> None:
    waiting = block(phase=Phase.CONFIRM, sequence=9, state=MeasurementState.QUEUED)
    assert confirmed(*gains(*STEADY), waiting) is None


def test_a_longer_p95_takes_the_gain_back() -> None:
    found = answer(*gains(*STEADY, latency_p95_ms=23.0))
    assert found.verdict is Verdict.BREAKS_BOUND
    assert "p95" in found.reason


UNSURE_P95 = (18.0, 24.0, 19.0, 23.5, 20.0, 22.0, 18.5, 24.5)


def with_p95(*times_ms: float) -> tuple[Measurement, ...]:
    rates = STEADY * (len(times_ms) // len(STEADY))
    return tuple(
        block(pair(100, rate, latency_p95_ms=ms), phase=Phase.CONFIRM, sequence=n)
        for n, (rate, ms) in enumerate(zip(rates, times_ms, strict=True), 1)
    )


def test_a_clear_gain_whose_costs_are_not_clear_goes_on() -> None:
    more = confirmed(*with_p95(*UNSURE_P95))
    assert isinstance(more, Measure)
    assert len(more.plans) == 1
    still = answer(*with_p95(*UNSURE_P95, *UNSURE_P95))
    assert still.verdict is Verdict.INCONCLUSIVE
    found = answer(*with_p95(*UNSURE_P95, *[18.0] * 8))
    assert found.verdict is Verdict.BETTER
    assert [look.blocks for look in found.comparison.looks] == [6], "the gain was clear then"


def test_a_clear_gain_whose_costs_are_not_clear_goes_on_beyond_the_plan_of_a_quiet_host() -> None:
    quiet = replace(CALIBRATION, block_sd=0.005, start_sd=0.0025, window_sd=0.005)
    shown = rows(Phase.CONFIRM, (FINALIST,), with_p95(*UNSURE_P95, *UNSURE_P95), finalist=1)
    budget = shown.job.spec.budget.model_copy(update={"confirm_blocks": 40})
    spec = shown.job.spec.model_copy(update={"budget": budget})
    assert analysis.blocks_to_confirm(quiet, spec) == 12
    known = replace(shown, job=replace(shown.job, spec=spec, calibration=quiet))
    more = decide(known, optimiser=Ladder())
    assert isinstance(more, Measure)
    assert len(more.plans) == 1


def test_more_errors_are_a_bound_that_no_gain_buys() -> None:
    found = answer(*gains(*STEADY, errors=3))
    assert found.verdict is Verdict.BREAKS_BOUND
    assert "error rate" in found.reason


@pytest.mark.parametrize("origin", [Origin.ABLATION, Origin.MINIMAL])
def test_a_finalist_that_was_never_settled_is_so_by_the_confirmation(origin: Origin) -> None:
    made = replace(FINALIST, origin=origin, outcome=None, state=TrialState.RUNNING)
    history = rows(Phase.CONFIRM, (made,), gains(*STEADY), finalist=1)
    step = decide(history, optimiser=Ladder())
    assert isinstance(step, Settle)
    assert isinstance(step.outcome, Outcome)
    assert step.outcome.score == pytest.approx(0.1823, abs=0.01)
    settled = replace(made, outcome=step.outcome, state=step.outcome.state)
    after = replace(history, trials=(history.trials[0], settled))
    assert isinstance(decide(after, optimiser=Ladder()), Succeed)
