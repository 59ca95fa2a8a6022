"""The race: who enters, who goes on, and who wins."""

from dataclasses import replace

from tests.builders import block
from tests.fake_optimiser import Ladder
from tests.unit.study.scenes import BUDGET, measured, rows, state, trial
from tuner.nouns.model import (
    Enter,
    Failure,
    FailureCode,
    History,
    Limits,
    Measure,
    Measurement,
    Origin,
    Phase,
    Succeed,
    TrialNumber,
    TrialState,
    Verdict,
)
from tuner.study import decide

FIVE = tuple(trial(n, score) for n, score in enumerate((0.1, 0.3, 0.2, 0.05, 0.25), start=1))

UNSURE = Ladder(noise_sd=0.02)
"""It does not know the candidates well enough to leave some out."""


def race(*blocks: Measurement, **changes: object) -> History:
    return replace(rows(Phase.RACE, FIVE, blocks), **changes)  # type: ignore[arg-type]


def arms(history: History) -> tuple[int, ...]:
    step = decide(history, optimiser=UNSURE)
    assert isinstance(step, Measure)
    assert len({plan.arms for plan in step.plans}) == 1
    return step.plans[0].arms


def round_of(
    first: int, who: tuple[int, ...], *rps: float, blocks: int = 4
) -> tuple[Measurement, ...]:
    """Blocks of a round in which nothing differs from block to block."""
    return tuple(measured(Phase.RACE, first + n, who, *rps) for n in range(blocks))


def test_the_likely_best_race_against_the_baseline_in_the_same_blocks() -> None:
    step = decide(race(), optimiser=UNSURE)
    assert isinstance(step, Measure)
    assert [plan.arms for plan in step.plans] == [(0, 2, 5, 3, 1)] * 4
    assert {plan.block_options.cycles for plan in step.plans} == {2}


def test_of_candidates_that_the_search_knows_well_two_race() -> None:
    step = decide(race(), optimiser=Ladder(noise_sd=0.009))
    assert isinstance(step, Measure)
    assert {plan.arms for plan in step.plans} == {(0, 2, 5)}


def test_a_winner_that_may_gain_nothing_is_measured_alone_until_its_bound_says_so() -> None:
    open_ends = (100, 103, 96, 105, 95, 104)
    first = tuple(measured(Phase.RACE, n, (0, 2), 100, rps) for n, rps in enumerate(open_ends, 1))
    step = decide(race(*first), optimiser=Ladder())
    assert isinstance(step, Measure)
    assert [(plan.arms, plan.phase) for plan in step.plans] == [((0, 2), Phase.RACE)]
    flat = tuple(measured(Phase.RACE, n, (0, 2), 100, 100) for n in range(7, 11))
    ended = decide(race(*first, *flat), optimiser=Ladder())
    assert isinstance(ended, Succeed)
    gains = tuple(measured(Phase.RACE, n, (0, 2), 100, 110 + n % 2) for n in range(1, 5))
    assert decide(race(*gains), optimiser=Ladder()) == Enter(
        phase=Phase.ABLATE, finalist=TrialNumber(2)
    )


def test_the_best_seed_races_too_if_it_is_not_hopeless() -> None:
    seeded = (*FIVE[:3], trial(4, 0.05, origin=Origin.HEURISTIC), FIVE[4])
    assert arms(replace(race(), trials=(race().trials[0], *seeded))) == (0, 2, 5, 3, 4)


def test_a_host_with_little_memory_races_fewer() -> None:
    spec = race().job.spec.model_copy(update={"limits": Limits(memory_mb=1500)})
    small = replace(race().job, spec=spec)  # three arms of 1500 MB in 70 % of 8 GB ... and one
    assert len(arms(race(job=small))) <= 1 + int(0.7 * 24_000 / 1500)
    tight = replace(race().job, spec=spec.model_copy(update={"limits": Limits(memory_mb=6000)}))
    assert decide(race(job=tight), optimiser=Ladder()) == Enter(
        phase=Phase.ABLATE, finalist=TrialNumber(2)
    )


def test_after_every_round_the_better_half_goes_on_with_twice_as_many_blocks() -> None:
    first = round_of(1, (0, 2, 5, 3, 1), 100, 110, 126, 120, 105)
    assert arms(race(*first)) == (0, 5, 3)
    step = decide(race(*first), optimiser=Ladder())
    assert isinstance(step, Measure)
    assert len(step.plans) == 8
    second = round_of(5, (0, 5, 3), 100, 122, 123, blocks=8)
    # over both rounds trial 5 is still ahead: 126, 122 against 120, 123
    step = decide(race(*first, *second), optimiser=Ladder())
    assert step == Enter(phase=Phase.ABLATE, finalist=TrialNumber(5))
    rounds = state(race(*first, *second)).race.rounds
    assert [round_.survivors for round_ in rounds] == [2, 1]
    assert [s.number for s in rounds[0].standings] == [5, 3, 2, 1]


def test_an_open_block_is_waited_for() -> None:
    first = round_of(1, (0, 2, 5, 3, 1), 100, 110, 130, 120, 105)
    waiting = replace(first[3], state=block().state.QUEUED, result=None)
    assert decide(race(*first[:3], waiting), optimiser=Ladder()) is None


def broken(sequence: int, who: tuple[int, ...], arm: int) -> Measurement:
    failure = Failure(code=FailureCode.DIED, message="it died", arm=arm)
    return block(arms=who, phase=Phase.RACE, sequence=sequence, failure=failure)


def test_who_breaks_drops_out_and_the_round_is_made_up_for() -> None:
    blocks = (
        measured(Phase.RACE, 1, (0, 2, 5, 3, 1), 100, 110, 130, 120, 105),
        broken(2, (0, 2, 5, 3, 1), arm=2),
        *(measured(Phase.RACE, n, (0, 2, 5, 3, 1), 100, 110, 130, 120, 105) for n in (3, 4)),
    )
    step = decide(race(*blocks), optimiser=Ladder())
    assert isinstance(step, Measure)
    assert [plan.arms for plan in step.plans] == [(0, 2, 3, 1)]
    made_up = measured(Phase.RACE, 5, (0, 2, 3, 1), 100, 110, 120, 105)
    assert arms(race(*blocks, made_up)) == (0, 3, 2)


def test_when_the_best_gains_too_little_the_users_file_is_kept() -> None:
    first = round_of(1, (0, 2, 5, 3, 1), 100, 99, 100.5, 98, 97)
    second = round_of(5, (0, 5, 2), 100, 100.5, 99, blocks=8)
    step = decide(race(*first, *second), optimiser=Ladder())
    assert isinstance(step, Succeed)
    assert step.recommendation is not None
    assert step.recommendation.verdict is Verdict.NO_DIFFERENCE
    assert len(step.recommendation.evidence.rounds) == 2


def test_without_a_race_the_likely_best_goes_on_alone() -> None:
    budget = BUDGET.model_copy(update={"race": 0})
    assert decide(rows(Phase.RACE, FIVE, budget=budget), optimiser=Ladder()) == Enter(
        phase=Phase.ABLATE, finalist=TrialNumber(2)
    )


def test_when_nothing_came_out_ahead_the_users_file_is_kept() -> None:
    behind = (trial(1, -0.1), trial(2, -0.2), trial(3, state=TrialState.INFEASIBLE))
    step = decide(rows(Phase.RACE, behind), optimiser=Ladder())
    assert isinstance(step, Succeed)
    assert step.recommendation is not None
    assert "none of 3 candidates" in step.recommendation.reason
    assert step.recommendation.uwsgi_ini == rows(Phase.RACE, behind).job.spec.baseline_ini


def test_a_doubtful_candidate_may_race_but_not_go_straight_to_confirmation() -> None:
    doubtful = (trial(1, -0.01), trial(2, -0.02))
    optimiser = Ladder(noise_sd=0.05)
    assert isinstance(decide(rows(Phase.RACE, doubtful), optimiser=optimiser), Measure)
    straight = rows(Phase.RACE, doubtful, budget=BUDGET.model_copy(update={"race": 0}))
    assert isinstance(decide(straight, optimiser=optimiser), Succeed)
