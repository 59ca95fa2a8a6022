"""What a job that runs has shown so far: facts of its rows, and no decision."""

import math
from dataclasses import replace

import pytest

from tests.fake_optimiser import Ladder
from tests.unit.study.scenes import CALIBRATION, designed, measured, rows, run, trial
from tuner.nouns.model import BASELINE, Enter, History, Measurement, Phase, TrialNumber, Verdict
from tuner.study import answer_so_far, decide, searched

FIVE = tuple(trial(n, score) for n, score in enumerate((0.1, 0.3, 0.2, 0.05, 0.25), start=1))


def race(*blocks: Measurement, finalist: int | None = None) -> History:
    return rows(Phase.RACE, FIVE, blocks, finalist=finalist)


def round_of(first: int, who: tuple[int, ...], *rps: float) -> tuple[Measurement, ...]:
    return tuple(measured(Phase.RACE, first + n, who, *rps) for n in range(4))


def test_each_trial_has_an_interval_by_the_noise_of_the_host() -> None:
    found = searched(rows(Phase.SEARCH, (*FIVE, trial(6))))
    assert [each.trial.number for each in found] == [1, 2, 3, 4, 5, 6]
    assert (found[-1].low, found[-1].high) == (None, None)
    for each in found[:-1]:
        assert each.low is not None
        assert each.high is not None
        assert each.trial.outcome is not None
        middle = (each.low + each.high) / 2
        assert middle == pytest.approx(each.trial.outcome.score)
        assert each.high - each.low > 2 * CALIBRATION.block_sd / 2


def test_before_the_race_there_are_no_rounds() -> None:
    assert answer_so_far(race()).evidence.rounds == ()


def test_a_round_that_runs_has_all_that_are_still_in_it() -> None:
    blocks = round_of(1, (0, 2, 5, 3, 1), 100, 130, 120, 110, 105)[:2]
    (running,) = answer_so_far(race(*blocks)).evidence.rounds
    assert [standing.number for standing in running.standings] == [2, 5, 3, 1]
    assert running.survivors == 4
    assert {standing.blocks for standing in running.standings} == {2}


def test_who_raced_on_stands_first_whatever_the_gains() -> None:
    first = round_of(1, (0, 2, 5, 3, 1), 100, 130, 120, 110, 105)
    second = round_of(5, (0, 2, 3), 100, 130, 125)[:1]  # by belief: 3, not 5
    ended, running = answer_so_far(race(*first, *second)).evidence.rounds
    assert [standing.number for standing in ended.standings] == [2, 3, 5, 1]
    assert ended.survivors == 2
    assert [standing.number for standing in running.standings] == [2, 3]


def test_the_finalist_stands_first_in_the_last_round() -> None:
    first = round_of(1, (0, 2, 5), 100, 130, 131)
    history = race(*first, finalist=2)
    (only,) = answer_so_far(history).evidence.rounds
    assert [standing.number for standing in only.standings] == [2, 5]
    assert only.survivors == 1


def test_the_ablation_has_the_effects_of_the_runs_so_far() -> None:
    start = rows(Phase.ABLATE, (trial(1, 0.3, processes=8, threads=4, vacuum=True),), finalist=1)
    whole = run(designed(start), lambda params: math.log(100.0 + 10.0 * int(params["processes"])))
    found = answer_so_far(whole).evidence.ablation
    assert found is not None
    together = next(f for f in found.factors if "processes" in f.parameters)
    assert together.effect == pytest.approx(math.log(180 / 120), abs=0.02)


def test_a_confirmation_shows_the_looks_that_were_made_and_gives_no_verdict() -> None:
    blocks = tuple(measured(Phase.CONFIRM, n, (0, 1), 100 + n % 3, 130) for n in range(1, 7))
    history = rows(Phase.CONFIRM, (trial(1, 0.3),), blocks, finalist=1)
    found = answer_so_far(history)
    assert [look.blocks for look in found.comparison.looks] == [6]
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.candidate == 1
    assert found.uwsgi_ini == history.job.spec.baseline_ini
    early = answer_so_far(replace(history, measurements=history.measurements[:5]))
    assert early.comparison.looks == ()


def test_what_is_shown_decides_nothing() -> None:
    history = race(*round_of(1, (0, 2, 5, 3, 1), 100, 130, 120, 110, 105))
    before = decide(history, optimiser=Ladder())
    answer_so_far(history)
    assert decide(history, optimiser=Ladder()) == before
    assert not isinstance(before, Enter)
    assert TrialNumber(0) == BASELINE
