"""The state machine, one step at a time: the same rows always give the same step."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import FACTS, INI, NOON, block, history, job, pair, spec, window
from tests.fake_optimiser import Exhausted, Ladder
from tuner.nouns.model import (
    BASELINE,
    Budget,
    Enter,
    Fail,
    Failure,
    FailureCode,
    History,
    JobState,
    Measure,
    Measurement,
    MeasurementKind,
    MeasurementResult,
    MeasurementState,
    Origin,
    Outcome,
    Phase,
    Settle,
    Step,
    Succeed,
    Trial,
    TrialNumber,
    TrialState,
    Verdict,
)
from tuner.study import decide

BUDGET = spec().budget


def step(rows: History) -> Step | None:
    """The step of a history, taken twice to see that it does not depend on anything else."""
    first = decide(rows, optimiser=Ladder())
    assert decide(rows, optimiser=Ladder()) == first
    return first


def trial(number: int, score: float | None = None, state: TrialState | None = None) -> Trial:
    """A trial of 2 + number processes, settled where a score or a final state is given."""
    outcome = None
    if score is not None or state is not None:
        final = state or TrialState.COMPLETE
        outcome = Outcome(state=final, score=score, constraints={})
    return Trial(
        number=TrialNumber(number),
        params={"processes": 2 + number},
        origin=Origin.BASELINE if number == 0 else Origin.SAMPLER,
        state=outcome.state if outcome else TrialState.RUNNING,
        outcome=outcome,
    )


BASE = trial(0, 0.0)


def prepared(**changes: object) -> Measurement:
    """The first measurement of a job: complete, with facts, unless changed."""
    done = replace(
        block(arms=(0,), phase=Phase.PREPARE, sequence=0),
        kind=MeasurementKind.PREPARE,
        result=MeasurementResult(facts=FACTS),
    )
    return replace(done, **changes)  # type: ignore[arg-type]  # fields by name


def aa(ratio: float, sequence: int) -> Measurement:
    """A block of the baseline against itself."""
    windows = [window(0, 100), window(1, 100 * (1 + ratio))]
    return block(windows, arms=(0, 0), phase=Phase.CALIBRATE, sequence=sequence)


def test_a_job_waits_until_its_may_start() -> None:
    queued = job(state=JobState.QUEUED, phase=Phase.VALIDATE, started_at=None)
    assert step(history(job=queued, may_start=False)) is None
    assert step(history(job=queued)) == Enter(phase=Phase.PREPARE)


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_a_finished_job_has_no_next_step(state: JobState) -> None:
    assert step(history(job=job(state=state))) is None


def test_preparing_creates_the_baseline_and_one_measurement() -> None:
    asked = step(history(job=job(phase=Phase.PREPARE)))
    assert isinstance(asked, Measure)
    assert [t.number for t in asked.trials] == [BASELINE]
    assert asked.trials[0].params == {"processes": 2}
    assert [plan.kind for plan in asked.plans] == [MeasurementKind.PREPARE]


def test_the_trials_wait_for_a_file_that_is_in_the_image() -> None:
    target = spec().target.model_copy(update={"ini_path": "/etc/app.ini", "command": ()})
    unread = job(phase=Phase.PREPARE, spec=spec(target=target, baseline_ini=""))
    asked = step(history(job=unread))
    assert isinstance(asked, Measure)
    assert (asked.trials, [plan.arms for plan in asked.plans]) == ((), [()])
    done = prepared(arms=(), result=MeasurementResult(facts=FACTS, baseline_ini=INI))
    found = step(history(job=unread, measurements=(done,)))
    assert found == Enter(phase=Phase.PREPARE, baseline_ini=INI)
    read = replace(unread, spec=unread.spec.with_file(INI))
    asked = step(history(job=read, measurements=(done,)))
    assert isinstance(asked, Measure)
    assert (asked.plans, asked.trials[0].params) == ((), {"processes": 2})
    rows = history(job=read, trials=asked.trials, measurements=(done,))
    assert step(rows) == Enter(phase=Phase.CALIBRATE, facts=FACTS)


def test_what_prepare_found_goes_along_to_calibration() -> None:
    rows = history(job=job(phase=Phase.PREPARE), trials=(trial(0),), measurements=(prepared(),))
    assert step(rows) == Enter(phase=Phase.CALIBRATE, facts=FACTS)


def test_a_target_that_does_not_work_fails_the_job_with_its_reason() -> None:
    failure = Failure(code=FailureCode.APP_FAILED, message="no module named app", log_tail="...")
    broken = prepared(state=MeasurementState.FAILED, result=None, failure=failure)
    rows = history(job=job(phase=Phase.PREPARE), trials=(trial(0),), measurements=(broken,))
    assert step(rows) == Fail(failure=failure)


def test_calibration_runs_the_baseline_against_itself() -> None:
    asked = step(history(job=job(phase=Phase.CALIBRATE), measurements=(prepared(),)))
    assert isinstance(asked, Measure)
    assert [plan.arms for plan in asked.plans] == [(0, 0), (0, 0)]
    assert [plan.sequence for plan in asked.plans] == [1, 2]


def test_calibration_settles_the_baseline_then_goes_on_with_its_figures() -> None:
    rows = history(
        job=job(phase=Phase.CALIBRATE),
        trials=(trial(0),),
        measurements=(prepared(), aa(0.01, 1), aa(-0.01, 2)),
    )
    settled = step(rows)
    assert isinstance(settled, Settle)
    assert settled.outcome.score == 0.0
    entered = step(replace(rows, trials=(BASE,)))
    assert isinstance(entered, Enter)
    assert entered.phase is Phase.SEARCH
    assert entered.calibration is not None
    assert entered.calibration.blocks == 2


def biased(blocks: int) -> History:
    size = 6
    calibrated = spec(budget=BUDGET.model_copy(update={"calibrate_blocks": size}))
    return history(
        job=job(phase=Phase.CALIBRATE, spec=calibrated),
        trials=(trial(0),),
        measurements=(
            prepared(),
            *(aa(0.2 + 0.001 * n, n) for n in range(1, blocks + 1)),
        ),
    )


def test_a_biased_host_is_checked_on_a_second_set_and_then_refused() -> None:
    again = step(biased(6))
    assert isinstance(again, Measure)
    assert len(again.plans) == 6
    refused = step(biased(12))
    assert isinstance(refused, Fail)
    assert "two equal arms differ" in refused.failure.message


def test_a_baseline_that_answers_nothing_under_load_fails_with_its_error_classes() -> None:
    dead = [window(arm, 0, requests=0, errors=9, errors_by_class={"http_500": 9}) for arm in (0, 1)]
    blocks = [block(dead, arms=(0, 0), phase=Phase.CALIBRATE, sequence=n) for n in (1, 2)]
    rows = history(
        job=job(phase=Phase.CALIBRATE), trials=(trial(0),), measurements=(prepared(), *blocks)
    )
    failed = step(rows)
    assert isinstance(failed, Fail)
    assert failed.failure.code is FailureCode.ERRORS_ONLY
    assert "http_500" in failed.failure.message


def unanswered(sequence: int) -> Measurement:
    silent = [window(0, 100), window(1, 0, requests=0)]
    return block(silent, arms=(0, 0), phase=Phase.CALIBRATE, sequence=sequence)


def test_windows_without_an_answer_are_measured_again_and_then_named() -> None:
    calibrating = job(phase=Phase.CALIBRATE)
    first = (prepared(), aa(0.01, 1), unanswered(2))
    again = step(history(job=calibrating, trials=(trial(0),), measurements=first))
    assert isinstance(again, Measure)
    assert [plan.sequence for plan in again.plans] == [3, 4]
    usable = (*first, aa(0.01, 3), aa(-0.01, 4))
    assert isinstance(
        step(history(job=calibrating, trials=(trial(0),), measurements=usable)), Settle
    )
    silent = (*first, unanswered(3), aa(0.01, 4))
    failed = step(history(job=calibrating, trials=(trial(0),), measurements=silent))
    assert isinstance(failed, Fail)
    assert failed.failure.message == (
        "the windows of the baseline cannot be used: 2 of 8 have no answer"
    )


def test_the_search_asks_for_one_trial_at_a_time() -> None:
    asked = step(history(trials=(BASE,), measurements=(prepared(),)))
    assert isinstance(asked, Measure)
    assert [plan.arms for plan in asked.plans] == [(0, 1)]
    open_block = block(sequence=1, state=MeasurementState.RUNNING)
    one_open = history(trials=(BASE, trial(1)), measurements=(prepared(), open_block))
    assert step(one_open) is None


def test_a_finished_block_settles_its_own_trial() -> None:
    rows = history(
        trials=(BASE, trial(1), trial(2)),
        measurements=(
            prepared(),
            block(pair(100, 110), arms=(0, 2), sequence=1),
            block(arms=(0, 1), sequence=2, state=MeasurementState.QUEUED),
        ),
    )
    settled = step(rows)
    assert isinstance(settled, Settle)
    assert settled.number == 2
    assert settled.outcome.score == pytest.approx(0.0953, abs=1e-4)


def test_a_crash_is_told_to_the_sampler_and_a_hosts_fault_is_not() -> None:
    optimiser = Ladder()
    rows = history(
        trials=(BASE, trial(1, state=TrialState.INFEASIBLE), trial(2, state=TrialState.FAILED)),
        measurements=(prepared(),),
    )
    decide(rows, optimiser=optimiser)
    assert [(past.told, past.feasible) for past in optimiser.told] == [
        (True, True),
        (True, False),
        (False, False),
    ]


def test_a_host_that_keeps_failing_fails_the_job_as_infrastructure() -> None:
    failure = Failure(code=FailureCode.INFRASTRUCTURE, message="oha died")
    rows = history(trials=(BASE, trial(1)), measurements=(prepared(), block(failure=failure)))
    assert step(rows) == Fail(failure=failure)


def test_a_baseline_that_keeps_breaking_in_the_search_fails_the_job() -> None:
    failure = Failure(code=FailureCode.NOT_READY, message="slow", arm=0)
    broken = [block(arms=(0, n), sequence=n, failure=failure) for n in (1, 2, 3)]
    trials = (BASE, *(trial(n, state=TrialState.FAILED) for n in (1, 2, 3)))
    assert step(history(trials=trials, measurements=(prepared(), *broken))) == Fail(failure=failure)


def test_the_search_ends_early_when_the_space_is_used_up() -> None:
    rows = history(trials=(BASE, trial(1, 0.2)), measurements=(prepared(),))
    assert decide(rows, optimiser=Exhausted()) == Enter(phase=Phase.RACE)


def test_the_search_ends_early_to_keep_the_jobs_minutes() -> None:
    budget = Budget(trials=50, confirm_blocks=6, window_s=1.0, minutes=1.0)
    late = history(
        job=job(spec=spec(budget=budget)),
        trials=(BASE, trial(1, 0.2)),
        measurements=(prepared(),),
        now=NOON + timedelta(seconds=40),
    )
    assert step(late) == Enter(phase=Phase.RACE)
    assert isinstance(step(replace(late, now=NOON)), Measure)


def confirming(*blocks: Measurement) -> History:
    finalist = job(phase=Phase.CONFIRM, finalist=TrialNumber(1))
    return history(job=finalist, trials=(BASE, trial(1, 0.2)), measurements=(prepared(), *blocks))


def test_a_confirmation_asks_for_the_fresh_blocks_of_its_first_look() -> None:
    asked = step(confirming())
    assert isinstance(asked, Measure)
    assert len(asked.plans) == 6
    assert {plan.arms for plan in asked.plans} == {(0, 1)}


def test_the_verdict_rests_on_the_fresh_blocks() -> None:
    gains = (120, 122, 118, 121, 119, 123)
    blocks = [
        block(pair(100, rps), phase=Phase.CONFIRM, sequence=n) for n, rps in enumerate(gains, 1)
    ]
    answer = step(confirming(*blocks))
    assert isinstance(answer, Succeed)
    assert answer.recommendation is not None
    assert answer.recommendation.verdict is Verdict.BETTER
    assert answer.recommendation.params == {"processes": 3}
    assert "processes = 3" in answer.recommendation.uwsgi_ini


def test_an_unfinished_confirmation_waits() -> None:
    waiting = block(phase=Phase.CONFIRM, sequence=1, state=MeasurementState.QUEUED)
    assert step(confirming(waiting)) is None
