"""The search's own decisions: seeds, repeats, when enough is enough, and several objectives."""

from dataclasses import replace

import pytest

from tests.builders import block, pair, spec
from tests.fake_optimiser import Again, Ladder
from tests.unit.study.scenes import BASE, BUDGET, OWN, SPACE, measured, rows, state, trial
from tuner.nouns.model import (
    BASELINE,
    Aim,
    Enter,
    History,
    Measure,
    Metric,
    Objective,
    Origin,
    Outcome,
    Phase,
    Settle,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.study import Observation, decide


def asked(history: History, optimiser: Ladder | None = None) -> Measure:
    step = decide(history, optimiser=optimiser or Ladder())
    assert isinstance(step, Measure)
    return step


def with_spec(history: History, **changes: object) -> History:
    changed = history.job.spec.model_copy(update=changes)
    return replace(history, job=replace(history.job, spec=changed))


def test_what_earlier_jobs_found_is_tried_before_heuristics_and_proposals() -> None:
    space = SPACE.model_copy(update={"heuristics": ({"processes": 5},)})
    start = with_spec(
        rows(Phase.SEARCH, ()), search_space=space, seeds=({"processes": 9, "gone": 1},)
    )
    first = asked(start)
    assert (first.trials[0].origin, first.trials[0].params) == (
        Origin.EARLIER,
        {**OWN, "processes": 9},
    )
    second = asked(replace(start, trials=(BASE, replace(first.trials[0], state=TrialState.FAILED))))
    assert second.trials[0].origin is Origin.HEURISTIC
    assert second.trials[0].params["processes"] == 5


def test_params_proposed_again_become_another_block_of_the_same_trial() -> None:
    known = trial(1, 0.1, processes=4)
    history = rows(Phase.SEARCH, (known,), (measured(Phase.SEARCH, 1, (0, 1), 100, 110),))
    again = asked(history, Again(params=known.params))
    assert again.trials == ()
    assert [plan.arms for plan in again.plans] == [(0, 1)]


def test_a_trial_is_settled_anew_after_each_of_its_blocks() -> None:
    blocks = tuple(measured(Phase.SEARCH, n, (0, 1), 100, rps) for n, rps in ((1, 110), (2, 130)))
    once = rows(Phase.SEARCH, (trial(1, 0.0953, processes=4),), blocks)
    settled = decide(once, optimiser=Ladder())
    assert isinstance(settled, Settle)
    assert settled.outcome.blocks == 2
    assert settled.outcome.score == pytest.approx((0.0953 + 0.2624) / 2, abs=1e-3)
    twice = replace(once, trials=(BASE, replace(once.trials[1], outcome=settled.outcome)))
    assert isinstance(decide(twice, optimiser=Ladder()), Measure)


def told(history: History) -> dict[int, Observation]:
    return {trial.number: trial for trial in state(history).observations}


def test_the_optimiser_hears_how_noisy_each_score_is() -> None:
    whole = [w for n in range(4) for w in (replace(w, index=n) for w in pair(100, 110))]
    blocks = (
        block(whole, arms=(0, 1), sequence=1),
        block(whole[:4], arms=(0, 2), sequence=2),
    )
    found = told(rows(Phase.SEARCH, (trial(1, 0.1), trial(2, 0.1)), blocks))
    assert found[1].sd == pytest.approx((2 * (0.01**2 + 0.04**2 / 4)) ** 0.5)
    assert found[2].sd == pytest.approx((2 * (0.01**2 + 0.04**2 / 2)) ** 0.5)
    assert (found[BASELINE].sd or 1.0) < 0.005


def test_a_trial_may_be_repeated_while_it_is_sound_and_has_few_blocks() -> None:
    blocks = tuple(measured(Phase.SEARCH, n, (0, 2), 100, 110) for n in (1, 2, 3))
    broken = trial(3, state=TrialState.INFEASIBLE)
    found = told(rows(Phase.SEARCH, (trial(1, 0.1), trial(2, 0.1), broken), blocks))
    assert [found[n].may_repeat for n in (0, 1, 2, 3)] == [False, True, False, False]


def stagnant(scores: list[float]) -> History:
    trials = tuple(trial(n, score) for n, score in enumerate(scores, start=1))
    return rows(Phase.SEARCH, trials)


def stagnates(scores: list[float]) -> bool:
    return state(stagnant(scores)).stagnates


def test_a_search_stagnates_when_its_best_does_not_rise_by_what_could_be_confirmed() -> None:
    assert not stagnates([0.1] + [0.05] * 11)
    assert stagnates([0.1] + [0.05] * 12)
    assert stagnates([0.1] + [0.11] * 12)  # below the 2 % that would be seen
    assert not stagnates([0.1] + [0.05] * 6 + [0.2] + [0.1] * 6)


def test_a_stagnant_search_goes_on_only_for_a_promise() -> None:
    history = stagnant([0.1] + [0.05] * 12)
    assert decide(history, optimiser=Ladder()) == Enter(phase=Phase.RACE)
    assert decide(history, optimiser=Ladder(gain=0.001)) == Enter(phase=Phase.RACE)
    assert isinstance(decide(history, optimiser=Ladder(gain=0.03)), Measure)


def test_a_block_may_be_cut_short_once_there_is_something_to_lose_against() -> None:
    first = asked(rows(Phase.SEARCH, ())).plans[0]
    assert first.block_options.futility is None
    later = asked(rows(Phase.SEARCH, (trial(1, 0.2),))).plans[0]
    assert later.block_options.futility is not None
    block_sd = state(stagnant([0.2])).noise.of_block(later.block_options.cycles)
    assert later.block_options.futility.best == pytest.approx(0.2 - block_sd)
    short = BUDGET.model_copy(update={"cycles": 2})
    assert (
        asked(rows(Phase.SEARCH, (trial(1, 0.2),), budget=short)).plans[0].block_options.futility
        is None
    )


def both(throughput: float, memory: float, number: int) -> Trial:
    gains = {Metric.THROUGHPUT_RPS.value: throughput, Metric.MEMORY_MB.value: memory}
    outcome = Outcome(state=TrialState.COMPLETE, score=throughput, constraints={}, gains=gains)
    return replace(trial(number, throughput), outcome=outcome)


def test_with_several_objectives_every_draw_weighs_them_otherwise() -> None:
    objective = Objective(maximize=Metric.THROUGHPUT_RPS, also=(Aim(minimize=Metric.MEMORY_MB),))
    trials = (both(0.3, -0.5, 1), both(0.1, 0.6, 2))
    history = with_spec(rows(Phase.SEARCH, trials), objective=objective)
    best = set()
    for more in range(8):
        optimiser = Ladder()
        blocks = tuple(measured(Phase.SEARCH, n, (0, 1), 100, 110) for n in range(1, more + 1))
        seen = replace(history.trials[1], outcome=replace(trials[0].outcome, blocks=more))  # type: ignore[type-var]
        decide(
            replace(
                history,
                measurements=(*history.measurements, *blocks),
                trials=(BASE, seen, trials[1]),
            ),
            optimiser=optimiser,
        )
        scores = {t.number: t.score for t in optimiser.told if t.score is not None}
        best.add(max((n for n in scores if n), key=lambda n: scores[n]))
    assert best == {TrialNumber(1), TrialNumber(2)}


def test_a_job_with_one_objective_tells_its_scores_as_they_are() -> None:
    optimiser = Ladder()
    decide(rows(Phase.SEARCH, (trial(1, 0.25),)), optimiser=optimiser)
    assert [t.score for t in optimiser.told] == [0.0, 0.25]
    assert spec().objective.also == ()
