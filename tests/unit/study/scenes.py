"""Rows of jobs on their way, for the tests of single phases."""

import math
from collections.abc import Callable
from dataclasses import replace

from tests.builders import FACTS, block, history, job, space, spec, window
from tests.fake_optimiser import Ladder
from tuner.nouns.model import (
    BASELINE,
    Budget,
    Calibration,
    History,
    Measure,
    Measurement,
    MeasurementKind,
    MeasurementResult,
    Origin,
    Outcome,
    Params,
    Phase,
    Settle,
    Trial,
    TrialNumber,
    TrialState,
    Window,
)
from tuner.study import Optimiser, decide
from tuner.study.state import StudyState

SPACE = space(
    processes={"type": "int", "low": 1, "high": 16, "log": True},
    threads={"type": "choice", "values": [1, 2, 4]},
    vacuum={"type": "bool"},
    master={"type": "bool"},
)
BUDGET = Budget(
    trials=20,
    race=4,
    race_blocks=4,
    ablate_runs=24,
    confirm_blocks=16,
    cycles=4,
    window_s=1.0,
)
CALIBRATION = Calibration(
    blocks=4,
    bias=0.0,
    bias_ci_low=-0.05,
    bias_ci_high=0.05,
    block_sd=0.03,
    mde=0.02,
    throughput_rps=100.0,
    resolves_min_effect=True,
    start_sd=0.01,
    window_sd=0.04,
)
OWN: Params = {"processes": 2, "threads": 1, "vacuum": False, "master": True}
PREPARED = replace(
    block(arms=(0,), phase=Phase.PREPARE, sequence=0),
    kind=MeasurementKind.PREPARE,
    result=MeasurementResult(facts=FACTS),
)


def trial(
    number: int,
    score: float | None = None,
    *,
    origin: Origin = Origin.SAMPLER,
    state: TrialState | None = None,
    **params: int | bool,
) -> Trial:
    """A trial, settled where it has a score or a final state; params are the user's but for some.

    Without any it has one process more for every number.
    """
    settled = score is not None or state is not None
    final = state or TrialState.COMPLETE
    outcome = Outcome(state=final, score=score, constraints={}) if settled else None
    return Trial(
        number=TrialNumber(number),
        params={**OWN, **(params or {"processes": 2 + number})},
        origin=Origin.BASELINE if number == BASELINE else origin,
        state=final if settled else TrialState.RUNNING,
        outcome=outcome,
    )


BASE = trial(0, 0.0)


def rows(
    phase: Phase,
    trials: tuple[Trial, ...],
    blocks: tuple[Measurement, ...] = (),
    *,
    finalist: int | None = None,
    budget: Budget = BUDGET,
) -> History:
    """A job in `phase` with these candidates and blocks."""
    now = job(
        phase=phase,
        spec=spec(search_space=SPACE, budget=budget),
        calibration=CALIBRATION,
        finalist=None if finalist is None else TrialNumber(finalist),
    )
    return history(job=now, trials=(BASE, *trials), measurements=(PREPARED, *blocks))


def state(history: History, optimiser: Optimiser | None = None) -> StudyState:
    """What the phases see of these rows."""
    return StudyState(history, optimiser or Ladder())


def levels(*rps: float) -> list[Window]:
    """One window of every arm, at these rates."""
    return [window(arm, rate) for arm, rate in enumerate(rps)]


def measured(phase: Phase, first: int, arms: tuple[int, ...], *rps: float) -> Measurement:
    """A complete block of one window an arm."""
    return block(levels(*rps), arms=arms, phase=phase, sequence=first)


def designed(history: History, optimiser: Optimiser | None = None) -> History:
    """The history once the blocks of an ablation are planned."""
    step = decide(history, optimiser=optimiser or Ladder())
    assert isinstance(step, Measure)
    blocks = [
        block(arms=plan.arms, phase=Phase.ABLATE, sequence=plan.sequence, state=None)
        for plan in step.plans
    ]
    return replace(
        history,
        trials=(*history.trials, *step.trials),
        measurements=(*history.measurements, *blocks),
    )


def run(history: History, truth: Callable[[Params], float]) -> History:
    """Every block of the ablation measured: `truth` is the log of a file's rate.

    Each block has a level of its own.
    """
    done = []
    for planned in history.measurements:
        if planned.phase is not Phase.ABLATE:
            done.append(planned)
            continue
        drift = 0.1 * math.sin(planned.sequence)
        found = [
            window(arm, 100 * math.exp(truth(history.trial(number).params) + drift))
            for arm, number in enumerate(planned.arms)
        ]
        done.append(block(found, arms=planned.arms, phase=Phase.ABLATE, sequence=planned.sequence))
    return replace(history, measurements=tuple(done))


def settled(history: History) -> History:
    """Every trial of the design settled; ends before the step that follows."""
    while isinstance(step := decide(history, optimiser=Ladder()), Settle):
        changed = [
            replace(t, outcome=step.outcome, state=step.outcome.state)
            if t.number == step.number
            else t
            for t in history.trials
        ]
        history = replace(history, trials=tuple(changed))
    return history
