"""What a job does next: a pure function of its rows.

    validate → prepare → calibrate → search → race → ablate → confirm → done

A comparison goes from prepare to compare, and a job that only calibrates ends there.

`decide` returns one small step at a time; the caller writes it down and asks again until there
is nothing to do before a host reports. Asking twice with the same rows gives the same step, so a
crash between asking and writing loses nothing.
"""

from collections.abc import Callable
from functools import partial
from typing import assert_never

from tuner.model import (
    BASELINE,
    Enter,
    Fail,
    Failure,
    FailureCode,
    History,
    JobKind,
    Origin,
    Phase,
    Step,
    Succeed,
    Trial,
    TrialState,
)
from tuner.search_space import derive
from tuner.study import comparing, planning
from tuner.study.ablating import ablate
from tuner.study.advice import Optimiser
from tuner.study.answering import answer
from tuner.study.calibrating import calibrate
from tuner.study.confirming import confirm
from tuner.study.ends import Confirmed, Keep
from tuner.study.racing import race
from tuner.study.searching import search


def decider(optimiser: Optimiser) -> Callable[[History], Step | None]:
    """`decide` with its optimiser, as the store wants it."""
    return partial(decide, optimiser=optimiser)


def decide(history: History, *, optimiser: Optimiser) -> Step | None:
    """The next step of a job, or None: wait for a host, or for the pool to become free."""
    job = history.job
    if job.state.is_final:
        return None
    host_failure = _given_up(history)
    if host_failure is not None:
        return Fail(failure=host_failure)
    found = _in_phase(history, optimiser)
    if isinstance(found, Keep | Confirmed):
        return Succeed(recommendation=answer(history, found, optimiser))
    return found


def _in_phase(history: History, optimiser: Optimiser) -> Step | Keep | Confirmed | None:
    match history.job.phase:
        case Phase.VALIDATE:
            return Enter(phase=Phase.PREPARE) if history.pool_is_free else None
        case Phase.PREPARE:
            return _prepare(history)
        case Phase.CALIBRATE:
            return calibrate(history)
        case Phase.SEARCH:
            return search(history, optimiser)
        case Phase.RACE:
            return race(history, optimiser)
        case Phase.ABLATE:
            return ablate(history, optimiser)
        case Phase.CONFIRM:
            return confirm(history)
        case Phase.COMPARE:
            return comparing.compare(history)
        case Phase.DONE:
            return None
        case _:
            assert_never(history.job.phase)


def _given_up(history: History) -> Failure | None:
    """A host's fault that repeating did not cure fails the job; it is never scored."""
    for measurement in history.measurements:
        failure = measurement.failure
        if failure is not None and failure.code is FailureCode.INFRASTRUCTURE:
            return failure
    return None


def _prepare(history: History) -> Step | None:
    if not history.measurements:
        return planning.prepare(_first_trials(history))
    prepared = history.measurements[0]
    if prepared.failure is not None:
        return Fail(failure=prepared.failure)
    if prepared.result is None:
        return None
    is_comparison = history.job.spec.kind is JobKind.COMPARE
    phase = Phase.COMPARE if is_comparison else Phase.CALIBRATE
    return Enter(phase=phase, facts=prepared.result.facts)


def _first_trials(history: History) -> tuple[Trial, ...]:
    """The files of a comparison; else the user's own file alone."""
    spec = history.job.spec
    if spec.kind is JobKind.COMPARE:
        return comparing.files(history)
    params = derive(spec).baseline if spec.kind is JobKind.TUNE else {}
    baseline = Trial(
        number=BASELINE, params=params, origin=Origin.BASELINE, state=TrialState.RUNNING
    )
    return (baseline,)
