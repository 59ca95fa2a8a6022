"""Which values an ablation tells besides the winner's own, and what becomes of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tests.builders import space, spec
from tests.fake_optimiser import Ladder
from tests.unit.study.scenes import BASE, BUDGET, OWN, designed, rows, run, settled, state, trial
from tuner.judge import analysis
from tuner.nouns.model import (
    Constraint,
    Enter,
    History,
    Importance,
    Measure,
    Params,
    Phase,
    Scalar,
    Slice,
    SlicePoint,
    Step,
    Succeed,
    Trial,
    TrialState,
)
from tuner.study import Observation, decide
from tuner.study.ablating import screened
from tuner.targets.search_space import Domain

WINNER = trial(1, 0.2, processes=8)
SEEN = trial(2, 0.1, vacuum=True, master=False)
BAND = 0.02  # of every point, to either side


@dataclass(slots=True)
class Expecting(Ladder):
    """Expects so much of each value; a number of whatever it is asked about."""

    gains: dict[str, dict[Scalar, float]] = field(default_factory=dict)

    def explain(
        self, domain: Domain, observations: Sequence[Observation], at: Params
    ) -> tuple[tuple[Importance, ...], tuple[Slice, ...]]:
        """The slices alone."""
        return (), tuple(
            Slice(
                parameter=name,
                points=tuple(
                    SlicePoint(value=value, gain=gain, low=gain - BAND, high=gain + BAND)
                    for value, gain in gains.items()
                ),
            )
            for name, gains in self.gains.items()
        )


def gains(vacuum: float = 0.0, master: float = 0.0) -> Expecting:
    """What is expected of the winner with the other value of these."""
    both: dict[str, dict[Scalar, float]] = {
        "vacuum": {False: 0.1, True: 0.1 + vacuum},
        "master": {True: 0.1, False: 0.1 + master},
    }
    return Expecting(gains={**both, "threads": {1: 0.1, 2: 0.3}})


def raced(*more: Trial) -> History:
    return rows(Phase.ABLATE, (WINNER, SEEN, *more), finalist=1)


def wide(history: History, optimiser: Ladder) -> Params:
    return screened(state(history, optimiser))


def test_values_that_the_winner_lacks_are_told_by_the_same_runs() -> None:
    history = raced()
    step = decide(history, optimiser=gains(vacuum=0.05, master=-0.01))
    assert isinstance(step, Measure)
    assert len(step.plans) == BUDGET.ablate_runs // 4
    made = {t.number: t for t in (BASE, *history.trials, *step.trials)}
    params = [made[number].params for plan in step.plans for number in plan.arms]
    assert {(p["vacuum"], p["master"]) for p in params} == {
        (False, True),
        (False, False),
        (True, True),
        (True, False),
    }
    assert {p["threads"] for p in params} == {1}  # processes and threads are one factor


@pytest.mark.parametrize(
    ("expected", "is_tried"), [(0.05, True), (-0.03, True), (-0.045, False), (-0.5, False)]
)
def test_what_surely_costs_as_much_as_a_gain_must_be_worth_is_left_out(
    expected: float, *, is_tried: bool
) -> None:
    """The band reaches 2 % above what is expected, and `min_effect` is 2 %."""
    assert wide(raced(), gains(vacuum=expected))["vacuum"] == is_tried


def test_a_value_that_no_trial_had_is_not_tried_first_in_the_design() -> None:
    history = rows(Phase.ABLATE, (WINNER,), finalist=1)
    assert wide(history, gains(vacuum=0.1)) == WINNER.params


def test_a_value_that_failed_more_often_than_not_is_left_out() -> None:
    failed = [
        trial(number, state=TrialState.INFEASIBLE, vacuum=True, processes=number)
        for number in (3, 4)
    ]
    assert wide(raced(failed[0]), gains(vacuum=0.1))["vacuum"] is False  # one of two
    assert wide(raced(*failed), gains(vacuum=0.1))["vacuum"] is False
    assert wide(raced(), gains(vacuum=0.1))["vacuum"] is True


def test_what_breaks_a_rule_beside_the_winners_values_is_left_out() -> None:
    history = raced()
    ruled = space(
        processes={"type": "int", "low": 1, "high": 16, "log": True},
        threads={"type": "choice", "values": [1, 2, 4]},
        vacuum={"type": "bool"},
        master={"type": "bool"},
    ).model_copy(
        update={"constraints": (Constraint(rule="not vacuum or processes < 8", reason="so"),)}
    )
    asked = replace(history, job=replace(history.job, spec=spec(search_space=ruled, budget=BUDGET)))
    assert wide(asked, gains(vacuum=0.1, master=0.1)) == {**WINNER.params, "master": False}


def test_the_most_promising_come_first_and_no_run_is_added() -> None:
    names = [f"option-{number:02}" for number in range(20)]
    many = space(
        processes={"type": "int", "low": 1, "high": 16, "log": True},
        **{name: {"type": "bool"} for name in names},
    )
    winner = replace(WINNER, params={"processes": 8, **dict.fromkeys(names, False)})
    seen = replace(SEEN, params={"processes": 2, **dict.fromkeys(names, True)})
    base = replace(BASE, params={"processes": 2, **dict.fromkeys(names, False)})
    history = raced()
    history = replace(
        history,
        job=replace(history.job, spec=spec(search_space=many, budget=BUDGET)),
        trials=(base, winner, seen),
    )
    expected: dict[str, dict[Scalar, float]] = {
        name: {False: 0.0, True: 0.001 * at} for at, name in enumerate(names)
    }
    found = wide(history, Expecting(gains=expected))
    added = [name for name in names if found[name]]
    assert added == names[-(analysis.columns(1) - 1) :]


def test_what_was_taken_apart_is_known_from_the_rows() -> None:
    history = raced()
    after = designed(history, gains(vacuum=0.05))
    found = state(after).wide
    assert found == {**OWN, "processes": 8, "vacuum": True, "master": False}


ONE_CHANGE = trial(1, 0.2, vacuum=True)


def of_one_change(truth: Callable[[Params], float]) -> Step | None:
    """What follows the runs of a winner with another vacuum alone, told beside another master."""
    others = Expecting(gains={"master": {True: 0.1, False: 0.1}})
    history = rows(Phase.ABLATE, (ONE_CHANGE, trial(2, 0.1, master=False)), finalist=1)
    return decide(settled(run(designed(history, others), truth)), optimiser=others)


def noisy(gain: float) -> Callable[[Params], float]:
    """What the two do together is no effect of either, and hides small ones."""
    return lambda params: (
        gain * bool(params["vacuum"]) + 0.2 * (params["vacuum"] == params["master"])
    )


def test_a_value_that_was_added_is_in_the_file_where_the_runs_show_that_it_gains() -> None:
    step = of_one_change(lambda params: 0.1 * bool(params["vacuum"]) + 0.1 * (not params["master"]))
    assert step == Enter(phase=Phase.CONFIRM, finalist=trial(3).number) or (
        isinstance(step, Measure)
        and step.trials[0].params == {**OWN, "vacuum": True, "master": False}
    )


def test_a_winners_only_change_is_for_the_confirmation_to_judge() -> None:
    """Noise hides it from the runs, and there is nothing in the file that it could hide behind."""
    assert of_one_change(noisy(0.04)) == Enter(phase=Phase.CONFIRM, finalist=ONE_CHANGE.number)


def test_a_winners_only_change_that_seems_to_gain_nothing_goes_back() -> None:
    assert isinstance(of_one_change(noisy(-0.04)), Succeed)
