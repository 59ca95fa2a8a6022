"""Measurements to be made next, numbered on from those that a job has."""

from tuner.model import History, Measure, MeasurementKind, Phase, Plan, Trial, TrialNumber

Sides = tuple[TrialNumber, ...]


def block(history: History, phase: Phase, sides: Sides, ahead: int = 0) -> Plan:
    """One block; `ahead` is how many others are planned in the same step before it."""
    return Plan(
        sequence=len(history.measurements) + ahead,
        kind=MeasurementKind.BLOCK,
        phase=phase,
        sides=sides,
    )


def blocks(history: History, phase: Phase, sides: Sides, count: int) -> Measure:
    """So many blocks of the same sides."""
    return Measure(plans=tuple(block(history, phase, sides, ahead) for ahead in range(count)))


def prepare(trials: tuple[Trial, ...]) -> Measure:
    """The first measurement of any job: the baseline is looked at."""
    plan = Plan(
        sequence=0,
        kind=MeasurementKind.PREPARE,
        phase=Phase.PREPARE,
        sides=(trials[0].number,),
    )
    return Measure(plans=(plan,), trials=trials)
