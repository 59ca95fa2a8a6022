"""The conditions: a better file is checked where production is unlike the bench."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import FACTS, INI, block, history, job, pair, space, spec
from tests.fake_optimiser import Ladder
from tuner.nouns.model import (
    BASELINE,
    BlockOptions,
    ClosedLoop,
    Condition,
    Doubt,
    Enter,
    Failure,
    FailureCode,
    History,
    JobSpec,
    Measure,
    Measurement,
    MeasurementResult,
    MeasurementState,
    Origin,
    Outcome,
    Phase,
    Recommendation,
    Runs,
    Scene,
    SceneRun,
    Settle,
    Sign,
    Slots,
    Step,
    Succeed,
    Target,
    Trial,
    TrialNumber,
    TrialState,
    Verdict,
    conditions_of,
)
from tuner.study import decide
from tuner.study.decide import MEASURING

FASTER = (120, 122, 118, 121, 119, 123)


def with_database(**fields: Any) -> Target:
    document = spec().target.model_dump(mode="json")
    return Target.model_validate({**document, "services": {"db": {"image": "db:1", **fields}}})


SPEC = spec(
    target=with_database(),
    search_space=space(processes={"type": "int", "low": 1, "high": 8}),
    budget=spec().budget.model_copy(update={"conditions": 8, "condition_blocks": 8}),
)


def trial(number: int, processes: int) -> Trial:
    return Trial(
        number=TrialNumber(number),
        params={"processes": processes},
        origin=Origin.BASELINE if number == 0 else Origin.SAMPLER,
        state=TrialState.COMPLETE,
        outcome=Outcome(state=TrialState.COMPLETE, score=0.2),
    )


def measured(rates: Sequence[float], condition: Condition | None, first: int) -> list[Measurement]:
    phase = Phase.CONDITIONS if condition else Phase.CONFIRM
    options = BlockOptions(condition=condition)
    return [
        replace(block(pair(100, rate), phase=phase, sequence=n), block_options=options)
        for n, rate in enumerate(rates, first)
    ]


def rows(
    *checked: tuple[Condition, Sequence[float]], job_spec: JobSpec = SPEC, processes: int = 4
) -> History:
    blocks = measured(FASTER, None, 1)
    for condition, rates in checked:
        blocks += measured(rates, condition, len(blocks) + 1)
    phase = Phase.CONDITIONS if checked else Phase.CONFIRM
    return history(
        job=job(spec=job_spec, phase=phase, finalist=TrialNumber(1), facts=FACTS),
        trials=(trial(0, 2), trial(1, processes)),
        measurements=tuple(blocks),
    )


def step(found: History) -> Step | None:
    return decide(found, optimiser=Ladder())


def answer(found: History) -> Recommendation:
    done = step(found)
    assert isinstance(done, Succeed)
    assert done.recommendation is not None
    return done.recommendation


def all_of(rates: Sequence[float]) -> list[tuple[Condition, Sequence[float]]]:
    return [(condition, rates) for condition in Condition]


def asked(found: Step | None) -> tuple[Condition | None, int]:
    assert isinstance(found, Measure)
    (condition,) = {plan.block_options.condition for plan in found.plans}
    assert {plan.arms for plan in found.plans} == {(BASELINE, TrialNumber(1))}
    return condition, len(found.plans)


def test_a_better_file_goes_on_to_the_conditions_and_another_one_does_not() -> None:
    assert step(rows()) == Enter(phase=Phase.CONDITIONS)
    without = SPEC.model_copy(update={"budget": spec().budget})
    assert answer(rows(job_spec=without)).verdict is Verdict.BETTER
    slower = rows()
    worse = tuple(measured((80, 81, 79, 80, 82, 78), None, 1))
    assert answer(replace(slower, measurements=worse)).verdict is Verdict.WORSE


def test_conditions_come_one_after_the_other_and_end_once_they_are_clear() -> None:
    entered = replace(rows(), job=replace(rows().job, phase=Phase.CONDITIONS))
    assert asked(step(entered)) == (Condition.BESIDE, 4)
    clear = (Condition.BESIDE, (118, 120, 119, 121))
    assert asked(step(rows(clear))) == (Condition.HALF_LOAD, 4)
    noisy = (Condition.HALF_LOAD, (90, 120, 95, 115))
    assert asked(step(rows(clear, noisy))) == (Condition.HALF_LOAD, 2)
    longest = (Condition.HALF_LOAD, (90, 120, 95, 115, 90, 120, 95, 115))
    assert asked(step(rows(clear, longest))) == (Condition.DOUBLE_LOAD, 4)
    far = (Condition.DOUBLE_LOAD, (118, 120, 119, 121))
    assert asked(step(rows(clear, longest, far))) == (Condition.FARTHER, 4)
    waiting = rows(clear)
    last = replace(waiting.measurements[-1], state=MeasurementState.QUEUED, result=None)
    assert step(replace(waiting, measurements=(*waiting.measurements[:-1], last))) is None


def test_a_gain_that_holds_everywhere_is_deployed_with_its_table() -> None:
    found = answer(rows(*all_of((110, 111, 109, 112))))
    assert found.verdict is Verdict.BETTER
    assert found.reason.startswith("Deploy it: ")
    assert [(c.condition, c.sign, c.blocks) for c in found.conditions] == [
        (condition, Sign.HOLDS, 4) for condition in Condition
    ]
    assert found.offered_ini == ""


@pytest.mark.parametrize(
    ("rates", "sign"),
    [
        ((80, 81, 79, 82), Sign.TURNS),
        ((80, 130, 70, 75, 95, 110, 78, 86), Sign.MAY_TURN),
    ],
)
def test_a_gain_that_turns_into_a_loss_depends(rates: Sequence[float], sign: Sign) -> None:
    checked = [(c, rates if c is Condition.BESIDE else (110, 111, 109, 112)) for c in Condition]
    found = answer(rows(*checked))
    assert found.verdict is Verdict.DEPENDS
    assert found.conditions[0].sign is sign
    assert found.uwsgi_ini == INI
    assert "processes = 4" in found.offered_ini
    assert "Deploy" not in found.reason
    assert "but not where the services share the app's CPUs: -" in found.reason


def test_a_gain_under_a_condition_that_fills_the_bench_is_not_known() -> None:
    found = rows(*all_of((110, 111, 109, 112)))
    busy = tuple(
        replace(
            block,
            result=replace(
                block.result,
                windows=tuple(replace(w, doubts=(Doubt.BENCH_BUSY,)) for w in block.windows),
            ),
        )
        if block.result and block.block_options.condition is Condition.DOUBLE_LOAD
        else block
        for block in found.measurements
    )
    marked = answer(replace(found, measurements=busy))
    signs = {c.condition: (c.sign, c.doubts) for c in marked.conditions}
    assert signs.pop(Condition.DOUBLE_LOAD) == (Sign.UNKNOWN, (Doubt.BENCH_BUSY,))
    assert {*signs.values()} == {(Sign.HOLDS, ())}
    assert "It is not known whether the gain holds where" in marked.reason


LOGLESS = SPEC.model_copy(
    update={
        "search_space": space(
            processes={"type": "int", "low": 1, "high": 8}, **{"disable-logging": {"type": "bool"}}
        ),
        "skip": (Condition.HALF_LOAD, Condition.DOUBLE_LOAD, Condition.FARTHER),
    }
)
THIRD = TrialNumber(2)


def depending(**rates: Sequence[float]) -> History:
    """A file of 4 processes without a request log that loses beside its services.

    `rates` are those of the same file with 2 processes, as the user's has: `here`, `beside`.
    """
    found = rows((Condition.BESIDE, (80, 81, 79, 82)), job_spec=LOGLESS)
    own, candidate = (
        replace(known, params={"processes": count, "disable-logging": is_off})
        for known, count, is_off in zip(found.trials, (2, 4), (False, True), strict=True)
    )
    third = replace(candidate, number=THIRD, params={**candidate.params, "processes": 2})
    blocks = list(found.measurements)
    for where, of_it in rates.items():
        condition = Condition.BESIDE if where == "beside" else None
        for block_of_it in measured(of_it, condition, len(blocks) + 1):
            arms = (BASELINE, THIRD)
            blocks.append(replace(block_of_it, phase=Phase.CONDITIONS, arms=arms))
    trials = (own, candidate, third) if rates else (own, candidate)
    return replace(found, trials=trials, measurements=tuple(blocks))


def test_a_compromise_has_the_users_slots_and_is_measured_under_all_conditions() -> None:
    made = step(depending())
    assert isinstance(made, Measure)
    assert [trial.params for trial in made.trials] == [{"processes": 2, "disable-logging": True}]
    here = (105, 106, 104, 107)
    for found, condition, blocks in (
        (depending(here=()), None, 4),
        (depending(here=(90, 120, 95, 115)), None, 2),
        (depending(here=here), Condition.BESIDE, 4),
    ):
        planned = step(found)
        assert isinstance(planned, Measure)
        assert {plan.arms for plan in planned.plans} == {(BASELINE, THIRD)}
        assert {plan.block_options.condition for plan in planned.plans} == {condition}
        assert len(planned.plans) == blocks
    measured_all = depending(here=here, beside=here)
    open_trial = replace(measured_all.trial(THIRD), outcome=None, state=TrialState.RUNNING)
    settled = step(replace(measured_all, trials=(*measured_all.trials[:2], open_trial)))
    assert isinstance(settled, Settle)
    assert settled.outcome.score == pytest.approx(0.053, abs=0.002)


def test_a_compromise_that_gains_everywhere_is_in_the_answer() -> None:
    found = answer(depending(here=(105, 106, 104, 107), beside=(103, 104, 102, 104)))
    assert found.verdict is Verdict.DEPENDS
    third = found.compromise
    assert third is not None
    assert third.effect.estimate == pytest.approx(0.055, abs=0.002)
    assert [(c.condition, c.sign) for c in third.conditions] == [(Condition.BESIDE, Sign.HOLDS)]
    assert "disable-logging = true" in third.uwsgi_ini
    assert "processes = 2" in third.uwsgi_ini
    assert "+5.5 % requests per second" in found.reason
    assert [c.sign for c in found.conditions] == [Sign.TURNS], "those of the candidate"


@pytest.mark.parametrize(
    "rates",
    [
        {"here": (97, 98, 96, 97)},
        {"here": (97, 103, 96, 104, 98, 101, 97, 103)},
        {"here": (105, 106, 104, 107), "beside": (90, 91, 89, 92)},
    ],
)
def test_a_file_that_gains_nothing_or_loses_somewhere_is_no_compromise(
    rates: dict[str, Sequence[float]],
) -> None:
    found = answer(depending(**rates))
    assert (found.verdict, found.compromise) == (Verdict.DEPENDS, None)
    assert "compromise" not in found.reason


def test_noise_around_no_effect_turns_nothing() -> None:
    found = answer(rows(*all_of((97, 102, 99, 101, 98, 103, 100, 99))))
    assert found.verdict is Verdict.BETTER
    assert {condition.sign for condition in found.conditions} == {Sign.HOLDS}


def failed(arm: int) -> History:
    entered = rows((Condition.BESIDE, (110,)))
    failure = Failure(code=FailureCode.NOT_READY, message="it did not start", arm=arm)
    options = BlockOptions(condition=Condition.BESIDE)
    broken = [
        replace(block(phase=Phase.CONDITIONS, sequence=n, failure=failure), block_options=options)
        for n in range(7, 11)
    ]
    only = SPEC.model_copy(
        update={"skip": tuple(c for c in Condition if c is not Condition.BESIDE)}
    )
    job_of_it = replace(entered.job, spec=only)
    return replace(entered, job=job_of_it, measurements=(*measured(FASTER, None, 1), *broken))


def test_a_candidate_that_breaks_under_a_condition_depends() -> None:
    found = answer(failed(arm=1))
    assert (found.verdict, found.conditions[0].sign) == (Verdict.DEPENDS, Sign.TURNS)
    assert "the candidate broke" in found.reason


def test_a_condition_that_the_present_file_does_not_bear_is_not_known() -> None:
    found = answer(failed(arm=0))
    assert (found.verdict, found.conditions[0].sign) == (Verdict.BETTER, Sign.UNKNOWN)
    assert "It is not known whether the gain holds where the services share" in found.reason


def test_a_user_may_leave_conditions_out_and_a_budget_has_the_likeliest_first() -> None:
    left = SPEC.model_copy(update={"skip": (Condition.BESIDE,)})
    entered = rows(job_spec=left)
    assert asked(step(replace(entered, job=replace(entered.job, phase=Phase.CONDITIONS)))) == (
        Condition.HALF_LOAD,
        4,
    )
    one = SPEC.model_copy(
        update={"budget": SPEC.budget.model_copy(update={"conditions": 1}), "min_processes": 1}
    )
    fewer = rows((Condition.FARTHER, (110, 111, 109, 112)), job_spec=one, processes=1)
    assert [c.condition for c in answer(fewer).conditions] == [Condition.FARTHER]


def played(hurt: tuple[float, float], first: int) -> list[Measurement]:
    """Two blocks of scenes: the share of requests that a hung worker hurts, of both files."""
    runs = tuple(
        SceneRun(scene=Scene.HUNG_WORKER, arm=arm, sent=300, failed=0.0, late=late, limit_s=1.0)
        for arm, late in enumerate(hurt)
    )
    options = BlockOptions(scenes=(Scene.HUNG_WORKER,))
    return [
        replace(
            block(phase=Phase.CONDITIONS, sequence=n),
            block_options=options,
            result=MeasurementResult(scene_runs=runs),
        )
        for n in (first, first + 1)
    ]


def with_scenes(*blocks: Measurement, **changes: Any) -> History:
    budget = SPEC.budget.model_copy(update={"conditions": 0, "scene_blocks": 2})
    of_scenes = SPEC.model_copy(update={"budget": budget, **changes})
    found = rows(job_spec=of_scenes)
    its = replace(found.job, phase=Phase.CONDITIONS)
    return replace(found, job=its, measurements=(*found.measurements, *blocks))


def test_scenes_come_after_the_conditions_and_a_user_may_leave_some_out() -> None:
    found = step(with_scenes(skip=(Scene.GROWTH, Condition.BESIDE)))
    assert isinstance(found, Measure)
    assert len(found.plans) == 2
    assert {plan.block_options.scenes for plan in found.plans} == {
        tuple(scene for scene in Scene if scene is not Scene.GROWTH)
    }
    turning = rows(*all_of((80, 81, 79, 82)), job_spec=with_scenes().job.spec)
    with_conditions = SPEC.model_copy(
        update={"budget": SPEC.budget.model_copy(update={"scene_blocks": 2})}
    )
    lost = replace(turning, job=replace(turning.job, spec=with_conditions))
    assert answer(lost).verdict is Verdict.DEPENDS, "nothing to play for a file that may lose"


def test_a_file_that_is_clearly_more_fragile_is_not_better() -> None:
    found = answer(with_scenes(*played((0.3, 1.0), 7)))
    assert found.verdict is Verdict.MORE_FRAGILE
    assert found.uwsgi_ini == INI
    assert "processes = 4" in found.offered_ini
    assert found.reason.startswith("Keep your file, or accept the risk: +20")
    assert "a worker process hangs for 3 s: 30 % of the requests" in found.reason
    assert found.scenes[0].is_worse


def test_a_fragility_that_the_user_accepts_and_one_that_is_not_there_change_nothing() -> None:
    accepted = answer(with_scenes(*played((0.3, 1.0), 7), accept=(Scene.HUNG_WORKER,)))
    assert (accepted.verdict, accepted.scenes[0].is_accepted) == (Verdict.BETTER, True)
    alike = answer(with_scenes(*played((0.3, 0.32), 7)))
    assert (alike.verdict, alike.scenes[0].is_worse) == (Verdict.BETTER, False)


def test_a_candidate_that_does_not_survive_a_scene_is_more_fragile() -> None:
    failure = Failure(code=FailureCode.NOT_READY, message="it did not get ready again", arm=1)
    options = BlockOptions(scenes=(Scene.RELOAD,))
    broken = [
        replace(block(phase=Phase.CONDITIONS, sequence=n, failure=failure), block_options=options)
        for n in (7, 8)
    ]
    found = answer(with_scenes(*broken))
    assert found.verdict is Verdict.MORE_FRAGILE
    assert "it did not survive a scene: it did not get ready again" in found.reason


def test_a_condition_changes_app_or_load() -> None:
    target, load = with_database(), ClosedLoop(concurrency=8)
    beside, same = Condition.BESIDE.applied(target, load)
    assert {s.runs for s in beside.services.values()} == {Runs.BESIDE}
    assert beside.delayed_ms == {}
    far, same = Condition.FARTHER.applied(with_database(rtt_ms=0.3), load)
    assert far.delayed_ms == {"db": pytest.approx(1.2)}
    assert same == load
    for condition, connections in ((Condition.HALF_LOAD, 4), (Condition.DOUBLE_LOAD, 16)):
        own, changed = condition.applied(target, load)
        assert own == target
        assert changed == ClosedLoop(concurrency=connections)


def test_a_condition_that_changes_nothing_is_none() -> None:
    more, one = Slots(2, 4), ClosedLoop(concurrency=1)
    assert conditions_of(with_database(), one, more) == (
        *(Condition.BESIDE, Condition.DOUBLE_LOAD, Condition.FARTHER),
    )
    assert conditions_of(with_database(rtt_ms=0), one, more) == (
        *(Condition.BESIDE, Condition.DOUBLE_LOAD),
    )
    assert conditions_of(with_database(runs="beside"), one, more) == (Condition.DOUBLE_LOAD,)
    assert conditions_of(spec().target, one, more) == (Condition.DOUBLE_LOAD,)


def test_every_phase_of_blocks_has_its_step() -> None:
    assert {*MEASURING} == {*Phase} - {Phase.VALIDATE, Phase.PREPARE, Phase.DONE}
