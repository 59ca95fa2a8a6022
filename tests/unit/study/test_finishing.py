"""A job that somebody asks to finish: the shortest honest way from each phase."""

from dataclasses import replace

import pytest

from tests.builders import block, pair
from tests.fake_optimiser import Ladder
from tests.unit.study.scenes import measured, rows, trial
from tuner.nouns.model import (
    Enter,
    History,
    Measure,
    Measurement,
    MeasurementState,
    Phase,
    Step,
    Succeed,
    TrialNumber,
    Verdict,
)
from tuner.study import decide

FIVE = tuple(trial(n, score) for n, score in enumerate((0.1, 0.3, 0.2, 0.05, 0.25), start=1))
NOISY = (96.0, 110.0, 99.0, 112.0, 97.0, 111.0)
FOUND = TrialNumber(2)


def asked(history: History, phase: Phase | None = None) -> Step | None:
    """The next step after somebody asked in the present phase, or in an earlier one."""
    job = replace(history.job, finish_in=phase or history.job.phase)
    return decide(replace(history, job=job), optimiser=Ladder())


def confirming(*rates: float) -> History:
    blocks = tuple(
        block(pair(100, r), phase=Phase.CONFIRM, sequence=n) for n, r in enumerate(rates, 1)
    )
    return rows(Phase.CONFIRM, (trial(1, 0.2, processes=8, threads=2),), blocks, finalist=1)


def test_a_search_goes_to_the_confirmation_of_its_best() -> None:
    assert asked(rows(Phase.SEARCH, FIVE, ())) == Enter(phase=Phase.CONFIRM, finalist=FOUND)


def test_a_search_without_a_better_candidate_says_so() -> None:
    step = asked(rows(Phase.SEARCH, (trial(1, -0.2),), ()))
    assert isinstance(step, Succeed)
    assert step.recommendation is not None
    assert "none of 1 candidates" in step.recommendation.reason
    assert "asked it to finish" in step.recommendation.evidence.skipped[0]


def test_a_race_goes_on_with_its_leader() -> None:
    who = (0, 2, 5, 3, 1)
    blocks: list[Measurement] = [
        measured(Phase.RACE, n, who, 100, 101, 150, 120, 105) for n in (1, 2)
    ]
    dropped = replace(blocks[1], state=MeasurementState.CANCELLED, result=None, sequence=3)
    history = rows(Phase.RACE, FIVE, (*blocks, dropped))
    assert asked(history) == Enter(phase=Phase.CONFIRM, finalist=TrialNumber(5))


def test_an_ablation_goes_on_with_the_winner_of_the_race() -> None:
    dropped = measured(Phase.ABLATE, 1, (0, 1), 100, 120)
    cancelled = replace(dropped, state=MeasurementState.CANCELLED, result=None)
    history = rows(Phase.ABLATE, (trial(1, 0.2, processes=8),), (cancelled,), finalist=1)
    assert asked(history) == Enter(phase=Phase.CONFIRM, finalist=TrialNumber(1))


def test_a_confirmation_goes_on_to_its_first_look_and_ends_there() -> None:
    assert isinstance(decide(confirming(*NOISY), optimiser=Ladder()), Measure)
    assert isinstance(asked(confirming(*NOISY[:4])), Measure)
    history = confirming(*NOISY)
    step = asked(history)
    while not isinstance(step, Succeed):
        assert step is not None
        assert not isinstance(step, Measure)
        settled = tuple(
            replace(t, outcome=step.outcome)  # type: ignore[union-attr]
            if t.number == step.number  # type: ignore[union-attr]
            else t
            for t in history.trials
        )
        history = replace(history, trials=settled)
        step = asked(history)
    assert step.recommendation is not None
    effect = step.recommendation.comparison.effect
    assert step.recommendation.verdict is Verdict.INCONCLUSIVE
    assert effect is not None
    assert effect.ci_low < 0 < effect.ci_high


@pytest.mark.parametrize("phase", [Phase.SEARCH, Phase.RACE])
def test_one_who_asked_earlier_has_the_whole_confirmation(phase: Phase) -> None:
    assert isinstance(asked(confirming(*NOISY), phase), Measure)
