"""What a job does next: a pure function of its rows.

    validate → prepare → calibrate → search → race → ablate → confirm → done

A comparison goes from prepare to compare, and a job that only calibrates ends there.

`decide` returns one small step at a time; the caller writes it down and asks again until there
is nothing to do before a host reports. Asking twice with the same rows gives the same step, so a
crash between asking and writing loses nothing. Race and ablation pass on what they get: they
have their places, their rules come with the search issue.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, assert_never

from tuner import analysis, objective, recommendation
from tuner.model import (
    BASELINE,
    Doubt,
    Enter,
    Fail,
    Failure,
    FailureCode,
    History,
    JobKind,
    Measure,
    Origin,
    Outcome,
    Params,
    Phase,
    Settle,
    Step,
    Succeed,
    Trial,
    TrialNumber,
    TrialState,
    Window,
)
from tuner.search_space import Domain, derive
from tuner.study import comparing, planning

BASELINE_MAY_FAIL = 2
"""Blocks of the search in which the user's own file may break before the job is given up."""

CALIBRATION_SETS = 2
"""A first set of A/A blocks that looks biased is checked on a second one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a sampler is told of an earlier trial; `score` is None while it runs or where it broke.

    One that failed by the host's fault is not `told`: it only says which params are taken.
    """

    number: TrialNumber
    params: Params
    score: float | None
    feasible: bool
    told: bool = True


_PASSES_TO = {Phase.RACE: Phase.ABLATE, Phase.ABLATE: Phase.CONFIRM}


class Sampler(Protocol):
    """Proposes what to try next."""

    def propose(self, domain: Domain, past: Sequence[Past], *, seed: int) -> Params | None:
        """Valid params that no earlier trial has, or None where there are none left to find."""


def decider(sampler: Sampler) -> Callable[[History], Step | None]:
    """`decide` with its sampler, as the store wants it."""
    return partial(decide, sampler=sampler)


def decide(history: History, *, sampler: Sampler) -> Step | None:
    """The next step of a job, or None: wait for a host, or for the pool to become free."""
    job = history.job
    if job.state.is_final:
        return None
    host_failure = _given_up(history)
    if host_failure is not None:
        return Fail(failure=host_failure)
    return _in_phase(history, sampler)


def _in_phase(history: History, sampler: Sampler) -> Step | None:
    match history.job.phase:
        case Phase.VALIDATE:
            return Enter(phase=Phase.PREPARE) if history.pool_is_free else None
        case Phase.PREPARE:
            return _prepare(history)
        case Phase.CALIBRATE:
            return _calibrate(history)
        case Phase.SEARCH:
            return _search(history, sampler)
        case Phase.RACE | Phase.ABLATE:
            return Enter(phase=_PASSES_TO[history.job.phase])
        case Phase.CONFIRM:
            return _confirm(history)
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


def _calibrate(history: History) -> Step | None:
    """A/A: the baseline against itself, in as many blocks as the budget says."""
    job, blocks = history.job, history.blocks(Phase.CALIBRATE)
    size = job.spec.budget.calibrate_blocks
    if not blocks:
        return planning.blocks(history, Phase.CALIBRATE, (BASELINE, BASELINE), size)
    broken = next((block.failure for block in blocks if block.failure), None)
    if broken is not None:
        return Fail(failure=broken)
    if any(block.is_open for block in blocks):
        return None
    calibration = analysis.calibrate(
        blocks[-size:],
        metric=job.spec.objective.metric,
        confirm_blocks=job.spec.budget.confirm_blocks,
        min_effect=job.spec.min_effect,
    )
    if calibration is None:
        windows = [window for block in blocks for window in block.windows]
        return Fail(failure=_unusable_baseline(windows))
    if analysis.is_biased(calibration):
        if len(blocks) < CALIBRATION_SETS * size:
            return planning.blocks(history, Phase.CALIBRATE, (BASELINE, BASELINE), size)
        return Fail(failure=_biased(calibration.bias))
    if history.baseline.outcome is None:
        outcome = Outcome(state=TrialState.COMPLETE, score=0.0, constraints={})
        return Settle(number=BASELINE, outcome=outcome)
    if job.spec.kind is JobKind.CALIBRATE:
        return Succeed(calibration=calibration)
    return Enter(phase=Phase.SEARCH, calibration=calibration)


def _unusable_baseline(windows: Sequence[Window]) -> Failure:
    doubts = sorted({doubt for window in windows for doubt in window.doubts if doubt.voids})
    if not any(window.requests for window in windows):
        classes = sorted({name for window in windows for name in window.errors_by_class})
        message = f"the baseline answers no request under load: {', '.join(classes) or 'nothing'}"
        return Failure(code=FailureCode.ERRORS_ONLY, message=message)
    reasons = "; ".join(Doubt(doubt).sentence for doubt in doubts)
    message = f"the baseline's own windows cannot be used: {reasons or 'no value for the metric'}"
    return Failure(code=FailureCode.INFRASTRUCTURE, message=message)


def _biased(bias: float) -> Failure:
    message = (
        f"two equal sides differ by {bias:+.1%} on this host, twice: what it measures is not the "
        "configuration. Look for a neighbour on one of its CPUs"
    )
    return Failure(code=FailureCode.INFRASTRUCTURE, message=message)


def _search(history: History, sampler: Sampler) -> Step | None:
    """Settle what came back, keep every host of the pool busy, stop when the budget is spent."""
    settled = _settle_next(history)
    if settled is not None:
        return settled
    blocks = history.blocks(Phase.SEARCH)
    if sum(b.failure is not None and b.failure.side == 0 for b in blocks) > BASELINE_MAY_FAIL:
        first = next(b.failure for b in blocks if b.failure is not None and b.failure.side == 0)
        return Fail(failure=first)
    waiting = [block for block in blocks if block.is_open]
    if len(waiting) < history.hosts and not _search_is_over(history):
        domain = derive(history.job.spec, history.memory_line)
        trial = _next_trial(history, domain, sampler)
        if trial is not None:
            plan = planning.block(history, Phase.SEARCH, (BASELINE, trial.number))
            return Measure(plans=(plan,), trials=(trial,))
    if waiting:
        return None
    return _end_of_search(history)


def _settle_next(history: History) -> Settle | None:
    by_trial = {block.sides[1]: block for block in history.blocks(Phase.SEARCH)}
    for trial in history.trials:
        block = by_trial.get(trial.number)
        if trial.outcome is None and block is not None and not block.is_open:
            outcome = objective.outcome_of([block], history.job.spec)
            return Settle(number=trial.number, outcome=outcome)
    return None


def _search_is_over(history: History) -> bool:
    budget = history.job.spec.budget
    candidates = len(history.trials) - 1
    if candidates >= budget.trials:
        return True
    if budget.minutes is None or history.job.started_at is None:
        return False
    spent_s = (history.now - history.job.started_at).total_seconds()
    left_s = 60 * budget.minutes - spent_s
    return left_s < budget.confirm_blocks * budget.block_load_s


def _next_trial(history: History, domain: Domain, sampler: Sampler) -> Trial | None:
    """The next heuristic not tried yet, else what the sampler proposes."""
    tried = [dict(trial.params) for trial in history.trials]
    number = TrialNumber(len(history.trials))
    origin = Origin.HEURISTIC
    params = next((seed for seed in domain.seeds() if seed not in tried), None)
    if params is None:
        origin = Origin.SAMPLER
        params = sampler.propose(
            domain, _past(history), seed=derived_seed(history.job.spec.seed, number)
        )
    if params is None:
        return None
    return Trial(number=number, params=params, origin=origin, state=TrialState.RUNNING)


def derived_seed(seed: int, number: int) -> int:
    """A seed for one draw: the same job and number give the same draw after any restart."""
    return (seed * 1_000_003 + number) % 2**32


def _past(history: History) -> list[Past]:
    """What the sampler may know of the trials so far."""
    return [
        Past(
            number=trial.number,
            params=trial.params,
            score=trial.outcome.score if trial.outcome else None,
            feasible=trial.outcome is None or trial.outcome.is_feasible,
            told=trial.state is not TrialState.FAILED,
        )
        for trial in history.trials
    ]


def _end_of_search(history: History) -> Step:
    """Name the finalist by what the search saw; only fresh data will say whether it is better."""
    candidates = [
        trial
        for trial in history.trials
        if trial.number != BASELINE and trial.outcome is not None and trial.outcome.is_feasible
    ]
    ranked = sorted(candidates, key=lambda trial: (-_score(trial), trial.number))
    if not ranked or _score(ranked[0]) <= 0:
        domain = derive(history.job.spec, history.memory_line)
        tried = len(history.trials) - 1
        reason = f"none of {tried} candidates came out ahead of it in the search"
        return Succeed(recommendation=recommendation.keep_untested(history, domain, reason))
    return Enter(phase=Phase.RACE, finalist=ranked[0].number)


def _score(trial: Trial) -> float:
    assert trial.outcome is not None  # noqa: S101  only settled trials are ranked
    assert trial.outcome.score is not None  # noqa: S101
    return trial.outcome.score


def _confirm(history: History) -> Step | None:
    finalist = history.job.finalist
    if finalist is None:
        raise ValueError(f"job {history.job.id} reached confirm without a finalist")
    blocks = history.blocks(Phase.CONFIRM)
    if not blocks:
        count = history.job.spec.budget.confirm_blocks
        return planning.blocks(history, Phase.CONFIRM, (BASELINE, finalist), count)
    if any(block.is_open for block in blocks):
        return None
    domain = derive(history.job.spec, history.memory_line)
    answer = recommendation.recommend(history, domain, history.trial(finalist))
    return Succeed(recommendation=answer)
