"""The ablation: what is measured, what stays, what goes back to the user's value."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.builders import block, shaken_block
from tests.fake_optimiser import Ladder
from tests.unit.study.scenes import (
    BASE,
    BUDGET,
    OWN,
    PREPARED,
    designed,
    measured,
    rows,
    run,
    settled,
    state,
    trial,
)
from tuner.nouns.model import (
    BASELINE,
    Enter,
    Failure,
    FailureCode,
    History,
    Measure,
    Measurement,
    Origin,
    Params,
    Phase,
    Succeed,
    TrialNumber,
    TrialState,
)
from tuner.study import decide

WINNER = trial(1, 0.2, processes=8, threads=2, vacuum=True, master=False)


def start(**budget: int) -> History:
    chosen = BUDGET.model_copy(update=budget)
    return rows(Phase.ABLATE, (WINNER,), finalist=1, budget=chosen)


def by_concurrency_and_vacuum(params: Params) -> float:
    return 0.15 * (params["processes"] == 8) + 0.05 * bool(params["vacuum"])


def test_all_runs_of_the_design_are_planned_in_blocks_with_the_baseline() -> None:
    history = designed(start())
    blocks = history.blocks(Phase.ABLATE)
    assert len(blocks) == 24 // 4
    assert all(planned.arms[0] == BASELINE and len(planned.arms) == 5 for planned in blocks)
    own = [t for t in history.trials if t.origin is Origin.ABLATION]
    assert own
    assert all(t.state is TrialState.RUNNING for t in own)


def test_processes_and_threads_are_one_factor() -> None:
    pairs = {(t.params["processes"], t.params["threads"]) for t in designed(start()).trials}
    assert pairs == {(2, 1), (8, 2)}


def test_each_value_of_a_run_is_the_users_or_the_winners() -> None:
    for made in designed(start()).trials:
        for name, value in made.params.items():
            assert value in (OWN[name], WINNER.params[name])


def test_effects_are_told_apart_whatever_the_level_of_their_blocks() -> None:
    history = run(designed(start()), by_concurrency_and_vacuum)
    found = state(history).ablation
    assert found is not None
    effects = {factor.parameters: factor for factor in found.factors}
    assert effects["processes", "threads"].effect == pytest.approx(0.15, abs=1e-6)
    assert effects[("vacuum",)].effect == pytest.approx(0.05, abs=1e-6)
    assert effects[("master",)].effect == pytest.approx(0.0, abs=1e-6)
    assert [f.parameters for f in found.factors if f.is_kept] == [
        ("processes", "threads"),
        ("vacuum",),
    ]


def test_effects_are_those_at_equal_speed_of_the_cpu() -> None:
    history = run(designed(start()), by_concurrency_and_vacuum)
    draw = random.Random(1)  # noqa: S311
    shaken = [
        shaken_block(each, draw) if each.phase is Phase.ABLATE else each
        for each in history.measurements
    ]
    found = state(replace(history, measurements=tuple(shaken))).ablation
    assert found is not None
    effects = {factor.parameters: factor.effect for factor in found.factors}
    assert effects["processes", "threads"] == pytest.approx(0.15, abs=1e-6)
    assert effects[("vacuum",)] == pytest.approx(0.05, abs=1e-6)
    assert effects[("master",)] == pytest.approx(0.0, abs=1e-6)


def test_the_file_with_the_smallest_diff_goes_on() -> None:
    history = settled(run(designed(start()), by_concurrency_and_vacuum))
    step = decide(history, optimiser=Ladder())
    minimal = {**WINNER.params, "master": OWN["master"]}
    known = history.twin(minimal)
    if known is None:
        assert isinstance(step, Measure)
        assert (step.plans, step.trials[0].params) == ((), minimal)
        assert step.trials[0].origin is Origin.MINIMAL
        history = replace(history, trials=(*history.trials, *step.trials))
        step = decide(history, optimiser=Ladder())
        known = history.trials[-1]
    assert step == Enter(phase=Phase.CONFIRM, finalist=known.number)


def test_trials_of_the_design_have_scores_of_their_own() -> None:
    history = settled(run(designed(start()), by_concurrency_and_vacuum))
    for made in history.trials:
        assert made.outcome is not None
        if made.origin is Origin.ABLATION:
            truth = by_concurrency_and_vacuum(made.params)
            assert made.outcome.score == pytest.approx(truth, abs=1e-9)


def test_when_nothing_earns_its_place_the_users_file_is_kept() -> None:
    history = settled(run(designed(start()), lambda params: 0.0))
    step = decide(history, optimiser=Ladder())
    assert isinstance(step, Succeed)
    assert step.recommendation is not None
    assert step.recommendation.lines == ()
    reverted = {line.option: line.effect for line in step.recommendation.reverted}
    assert set(reverted) == {"processes", "threads", "vacuum", "master"}
    assert all(effect is not None for effect in reverted.values())


def test_what_only_all_options_together_gain_is_confirmed_as_a_whole() -> None:
    def together(params: Params) -> float:
        return 0.0  # the design sees nothing

    history = settled(run(designed(start()), together))
    clear = tuple(measured(Phase.RACE, 90 + n, (0, 1), 100, 120) for n in range(4))
    raced = replace(history, measurements=(*history.measurements, *clear))
    assert decide(raced, optimiser=Ladder()) == Enter(phase=Phase.CONFIRM, finalist=WINNER.number)


@pytest.mark.parametrize("budget", [{"ablate_runs": 0}])
def test_without_an_ablation_the_winner_goes_on_as_it_is(budget: dict[str, int]) -> None:
    assert decide(start(**budget), optimiser=Ladder()) == Enter(
        phase=Phase.CONFIRM, finalist=WINNER.number
    )


def test_a_winner_with_one_change_needs_no_ablation() -> None:
    one = replace(start(), trials=(BASE, trial(1, 0.2, vacuum=True)))
    assert decide(one, optimiser=Ladder()) == Enter(phase=Phase.CONFIRM, finalist=WINNER.number)


def with_broken(history: History, params: Callable[[Params], bool]) -> History:
    """Every block in which such a file runs has failed for it."""
    done: list[Measurement] = []
    for planned in history.measurements:
        bad = [
            arm
            for arm, number in enumerate(planned.arms)
            if planned.phase is Phase.ABLATE and params(history.trial(number).params)
        ]
        if not bad:
            done.append(planned)
            continue
        failure = Failure(code=FailureCode.DIED, message="it died", arm=bad[0])
        done.append(
            block(arms=planned.arms, phase=Phase.ABLATE, sequence=planned.sequence, failure=failure)
        )
    return replace(history, measurements=tuple(done))


def test_runs_lost_with_a_broken_one_are_repeated_once_without_it() -> None:
    history = run(designed(start()), by_concurrency_and_vacuum)
    victim = next(t for t in history.trials if t.origin is Origin.ABLATION)
    lost = with_broken(history, lambda params: dict(params) == dict(victim.params))
    step = decide(lost, optimiser=Ladder())
    assert isinstance(step, Measure)
    assert step.trials == ()
    again = [number for plan in step.plans for number in plan.arms]
    assert victim.number not in again
    assert TrialNumber(0) in again
    planned = [
        block(arms=plan.arms, phase=Phase.ABLATE, sequence=plan.sequence) for plan in step.plans
    ]
    repeated = replace(lost, measurements=(*lost.measurements, *planned))
    after = decide(repeated, optimiser=Ladder())
    assert not isinstance(after, Measure) or after.plans == ()
    assert PREPARED in lost.measurements


def test_the_design_is_the_same_after_a_restart() -> None:
    assert designed(start()) == designed(start())
