"""The next step of a job: a pure function of its rows.

    validate → prepare → calibrate → search → race → ablate → confirm → conditions → done

A comparison goes from prepare to compare. A job that only calibrates ends there.

`decide` returns one small step at a time. The caller writes it down and asks again, until there is
nothing to do before a host reports. The same rows give the same step, so a crash between asking
and writing loses nothing.
"""

from collections.abc import Callable, Mapping
from functools import partial

from tuner.nouns.model import (
    BASELINE,
    Enter,
    Fail,
    Failure,
    FailureCode,
    History,
    JobKind,
    JobSpec,
    Measure,
    MeasurementKind,
    Origin,
    Params,
    Phase,
    Plan,
    Step,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.study.ablating import ablate
from tuner.study.advice import Optimiser
from tuner.study.calibrating import calibrate
from tuner.study.comparing import compare
from tuner.study.confirming import check_conditions, confirm
from tuner.study.searching import race, search
from tuner.study.state import StudyState
from tuner.targets.search_space import derive

MEASURING: Mapping[Phase, Callable[[StudyState], Step | None]] = {
    Phase.CALIBRATE: calibrate,
    Phase.SEARCH: search,
    Phase.RACE: race,
    Phase.ABLATE: ablate,
    Phase.CONFIRM: confirm,
    Phase.CONDITIONS: check_conditions,
    Phase.COMPARE: compare,
}
"""The phases that consist of blocks."""


def decider(optimiser: Optimiser) -> Callable[[History], Step | None]:
    """`decide` with its optimiser, as the store calls it."""
    return partial(decide, optimiser=optimiser)


def decide(history: History, *, optimiser: Optimiser) -> Step | None:
    """The next step of a job, or None: wait for a host, or for the pool to become free."""
    if history.job.state.is_final:
        return None
    host_failure = _given_up(history)
    if host_failure is not None:
        return Fail(failure=host_failure)
    return _in_phase(StudyState(history, optimiser))


def _in_phase(state: StudyState) -> Step | None:
    phase = state.history.job.phase
    match phase:
        case Phase.VALIDATE:
            return Enter(phase=Phase.PREPARE) if state.history.may_start else None
        case Phase.PREPARE:
            return _prepare(state.history)
        case Phase.DONE:
            return None
        case _:
            return MEASURING[phase](state)


def _given_up(history: History) -> Failure | None:
    """A failure of the host that repeating did not cure fails the job; it is never scored."""
    for measurement in history.measurements:
        failure = measurement.failure
        if failure is not None and failure.code is FailureCode.INFRASTRUCTURE:
            return failure
    return None


def _prepare(history: History) -> Step | None:
    """Have the baseline looked at, then go on with the facts.

    If its file is in the image, the host reads it, and the trials come afterwards.
    """
    spec = history.job.spec
    if not history.measurements:
        trials = () if spec.awaits_file else _first_trials(spec)
        arms = (BASELINE,) if trials else ()
        kind, phase = MeasurementKind.PREPARE, Phase.PREPARE
        plan = Plan(sequence=0, kind=kind, phase=phase, arms=arms)
        return Measure(plans=(plan,), trials=trials)
    prepared = history.measurements[0]
    if prepared.failure is not None:
        return Fail(failure=prepared.failure)
    if prepared.result is None:
        return None
    if spec.awaits_file:
        return Enter(phase=Phase.PREPARE, baseline_ini=prepared.result.baseline_ini)
    if not history.trials:
        return Measure(plans=(), trials=_first_trials(spec))
    phase = Phase.COMPARE if spec.kind is JobKind.COMPARE else Phase.CALIBRATE
    return Enter(phase=phase, facts=prepared.result.facts)


def _first_trials(spec: JobSpec) -> tuple[Trial, ...]:
    """The files of a comparison, in their order; else the user's own file alone."""
    params: list[Params] = [{"ini": variant.name} for variant in spec.variants]
    if spec.kind is not JobKind.COMPARE:
        params = [derive(spec).baseline if spec.kind is JobKind.TUNE else {}]
    return tuple(
        Trial(
            number=TrialNumber(number),
            params=of_file,
            origin=Origin.BASELINE if number == BASELINE else Origin.GIVEN,
            state=TrialState.RUNNING,
        )
        for number, of_file in enumerate(params)
    )
