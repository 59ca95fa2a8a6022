"""Rows of jobs on their way, for the tests of single phases."""

from dataclasses import replace

from tests.builders import FACTS, block, history, job, space, spec, window
from tuner.model import (
    BASELINE,
    Budget,
    Calibration,
    History,
    Measurement,
    MeasurementKind,
    MeasurementResult,
    Origin,
    Outcome,
    Params,
    Phase,
    Trial,
    TrialNumber,
    TrialState,
    Window,
)

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
    block(sides=(0,), phase=Phase.PREPARE, sequence=0),
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


def levels(*rps: float) -> list[Window]:
    """One window of every side, at these rates."""
    return [window(side, rate) for side, rate in enumerate(rps)]


def measured(phase: Phase, first: int, sides: tuple[int, ...], *rps: float) -> Measurement:
    """A complete block of one window a side."""
    return block(levels(*rps), sides=sides, phase=phase, sequence=first)
