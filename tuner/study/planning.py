"""Measurements to be made next, numbered on from those that a job has."""

from collections.abc import Sequence

from tuner.model import (
    AS_BUDGETED,
    BlockOptions,
    History,
    Measure,
    Measurement,
    MeasurementKind,
    Phase,
    Plan,
    Trial,
    TrialNumber,
)

Arms = tuple[TrialNumber, ...]


def derived_seed(seed: int, number: int) -> int:
    """A seed for one draw: the same job and number give the same draw after any restart."""
    return (seed * 1_000_003 + number) % 2**32


def block(
    history: History,
    phase: Phase,
    arms: Arms,
    ahead: int = 0,
    block_options: BlockOptions = AS_BUDGETED,
) -> Plan:
    """One block; `ahead` is how many others are planned in the same step before it."""
    return Plan(
        sequence=len(history.measurements) + ahead,
        kind=MeasurementKind.BLOCK,
        phase=phase,
        arms=arms,
        block_options=block_options,
    )


def blocks(
    history: History,
    phase: Phase,
    arms: Arms,
    count: int,
    block_options: BlockOptions = AS_BUDGETED,
) -> Measure:
    """So many blocks of the same arms."""
    return blocks_of(history, phase, [arms] * count, block_options=block_options)


def blocks_of(
    history: History,
    phase: Phase,
    arms: Sequence[Arms],
    *,
    trials: tuple[Trial, ...] = (),
    block_options: BlockOptions = AS_BUDGETED,
) -> Measure:
    """One block for each of `arms`; `trials` are those among them that are new."""
    plans = (block(history, phase, of, ahead, block_options) for ahead, of in enumerate(arms))
    return Measure(plans=tuple(plans), trials=trials)


def prepare(trials: tuple[Trial, ...]) -> Measure:
    """The first measurement of any job: the baseline is looked at."""
    plan = Plan(
        sequence=0,
        kind=MeasurementKind.PREPARE,
        phase=Phase.PREPARE,
        arms=(trials[0].number,),
    )
    return Measure(plans=(plan,), trials=trials)


def broken_arm(measurement: Measurement) -> TrialNumber | None:
    """The trial whose configuration ended a block."""
    failure = measurement.failure
    return None if failure is None else measurement.arms[failure.arm]
