"""Idle hosts help a search once their A/A blocks are like those of the job's own host."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.builders import block, spec, window
from tests.fake_optimiser import Ladder
from tests.unit.study.scenes import BASE, CALIBRATION, rows, state, trial
from tuner.judge import analysis
from tuner.nouns.model import (
    BASELINE,
    Budget,
    Calibration,
    History,
    Measure,
    Measurement,
    MeasurementState,
    Phase,
)
from tuner.study import decide
from tuner.study.state import A_A_BLOCKS, helpers, newcomer

LONG = Budget(trials=30, calibrate_blocks=6, confirm_blocks=8, cycles=2, window_s=1.0)
SPEC = spec(min_effect=0.02)
QUIET = replace(CALIBRATION, block_sd=0.02, blocks=8, throughput_rps=100.0)


def a_a(*ratios: float, rps: float = 100.0) -> tuple[Measurement, ...]:
    """Blocks of the baseline against itself on host b."""
    return tuple(
        replace(
            block(
                [window(0, rps), window(1, rps * (1 + ratio))],
                arms=(0, 0),
                phase=Phase.CALIBRATE,
                sequence=sequence,
            ),
            host="b",
        )
        for sequence, ratio in enumerate(ratios, 1)
    )


def searching(
    *blocks: Measurement, idle: tuple[str, ...] = ("b",), budget: Budget = LONG
) -> History:
    found = rows(Phase.SEARCH, (), blocks, budget=budget)
    job = replace(found.job, host="a", calibration=QUIET)
    return replace(found, job=job, idle_hosts=idle)


def asked(history: History) -> Measure:
    step = decide(history, optimiser=Ladder())
    assert isinstance(step, Measure)
    return step


def test_an_idle_host_first_measures_the_baseline_against_itself() -> None:
    first = asked(searching())
    assert [(plan.phase, plan.arms, plan.host) for plan in first.plans] == [
        (Phase.CALIBRATE, (0, 0), "b")
    ] * A_A_BLOCKS
    waiting = searching(
        *(
            replace(each, result=None, state=MeasurementState.QUEUED)
            for each in a_a(*[0.0] * A_A_BLOCKS)
        )
    )
    own = asked(waiting)
    assert [(plan.phase, plan.host) for plan in own.plans] == [(Phase.SEARCH, "a")]
    assert helpers(waiting) == ()


def test_two_idle_hosts_are_calibrated_one_after_the_other() -> None:
    both = searching(*a_a(0.01, -0.01, 0.02), idle=("b", "c"))
    assert newcomer(both) == "c"
    assert {plan.host for plan in asked(both).plans} == {"c"}


def test_a_host_that_is_alike_has_trials_of_its_own() -> None:
    alike = searching(*a_a(0.01, -0.01, 0.02))
    assert helpers(alike) == ("b",)
    running = replace(block(arms=(0, 1), sequence=4, state=MeasurementState.RUNNING), host="a")
    one_open = replace(alike, trials=(BASE, trial(1)), measurements=(*alike.measurements, running))
    more = asked(one_open)
    assert [(plan.arms, plan.host) for plan in more.plans] == [((0, 2), "b")]
    alone = replace(one_open, idle_hosts=())
    assert decide(alone, optimiser=Ladder()) is None, "it is not idle any more"


def test_blocks_that_are_asked_for_together_are_shared() -> None:
    shared = state(searching(*a_a(0.01, -0.01, 0.02))).measure([(BASELINE, BASELINE)] * 8)
    assert Counter(plan.host for plan in shared.plans) == {"a": 4, "b": 4}


def test_a_short_search_asks_for_no_help() -> None:
    short = searching(budget=LONG.model_copy(update={"trials": 11}))
    assert newcomer(short) is None
    assert newcomer(searching()) == "b"


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        (a_a(0.01, -0.02, 0.03), None),
        (a_a(0.01, -0.02, 0.03, rps=80), "it serves -20"),
        (a_a(0.01, -0.02, 0.03, rps=112), None),
        (a_a(0.2, -0.2, 0.15), "its blocks scatter by"),
        (a_a(0.01, -0.02), "2 of its 2 A/A blocks can be used"),
    ],
)
def test_a_host_that_differs_is_refused_with_its_reason(
    blocks: tuple[Measurement, ...], reason: str | None
) -> None:
    found = analysis.unlike(QUIET, blocks, SPEC)
    assert (found is None) == (reason is None)
    assert (reason or "") in (found or "")
    assert helpers(searching(*blocks)) == (() if reason else ("b",))


def test_few_blocks_of_the_jobs_own_host_refuse_less() -> None:
    """Two A/A blocks know little of the noise, so that the bound is wide."""
    known: Calibration = replace(QUIET, blocks=2)
    noisy = a_a(0.08, -0.08, 0.07)
    assert analysis.unlike(QUIET, noisy, SPEC) is not None
    assert analysis.unlike(known, noisy, SPEC) is None


def test_noise_that_hides_nothing_that_matters_is_no_reason_to_refuse() -> None:
    """Such as one request more or less in a window of few requests."""
    known: Calibration = replace(QUIET, block_sd=0.0)
    noisy = a_a(0.01, -0.015, 0.01)
    assert analysis.unlike(known, noisy, spec(min_effect=0.02)) is None
    found = analysis.unlike(known, noisy, spec(min_effect=0.01))
    assert found == "its blocks scatter by 1.2 %, those of the job's host by 0.0 %"


def test_blocks_that_were_called_off_are_asked_for_again() -> None:
    off = (
        replace(each, state=MeasurementState.CANCELLED, result=None) for each in a_a(0.01, 0.0, 0.0)
    )
    assert newcomer(searching(*off)) == "b"
