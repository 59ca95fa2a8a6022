"""A measurement that was claimed, made; and the words for a target that failed."""

from dataclasses import replace
from typing import Protocol, assert_never

from tuner.errors import TargetFailed
from tuner.measurement import MEMORY_PROBE_MORE, Bench, arm_of, completed, left_out
from tuner.model import (
    Failure,
    FailureCode,
    Job,
    JobKind,
    JobSpec,
    Measurement,
    MeasurementKind,
    MeasurementResult,
    Params,
    options_of,
)
from tuner.search_space import derive
from tuner.study import derived_seed
from tuner.uwsgi.ini import IniFile

_FOR_WANT_OF_SOMETHING = frozenset(
    {
        FailureCode.BAD_OPTIONS,
        FailureCode.APP_FAILED,
        FailureCode.NOT_STARTED,
        FailureCode.NOT_READY,
        FailureCode.ERRORS_ONLY,
        FailureCode.WORKLOAD_REFUSED,
    }
)
"""How an app fails that has not got all that its file says; the others have causes of their own."""


class Claim(Protocol):
    """A measurement that is this worker's to make, with what making it takes."""

    @property
    def measurement(self) -> Measurement:
        """The row, its attempt already counted."""

    @property
    def job(self) -> Job:
        """Its job."""

    @property
    def params(self) -> tuple[Params, ...]:
        """The params of each arm."""


def make(claim: Claim, bench: Bench) -> MeasurementResult:
    """Make the measurement that was claimed, of whichever kind it is."""
    measurement, spec = claim.measurement, claim.job.spec
    arms = [arm_of(spec, index, ini) for index, ini in enumerate(_inis(claim))]
    match measurement.kind:
        case MeasurementKind.PREPARE:
            return prepared(spec, bench)
        case MeasurementKind.BLOCK:
            seed = derived_seed(spec.seed, measurement.sequence)
            return bench.run_block(
                arms,
                spec.workload,
                spec.budget,
                seed=seed,
                metrics=spec.metrics,
                block_options=measurement.block_options,
            )


def prepared(spec: JobSpec, bench: Bench) -> MeasurementResult:
    """What there is to know of a job's baseline before anything is compared with it."""
    ini = IniFile.parse(spec.baseline_ini)
    processes = ini.integer("cheaper", 0) or ini.integer("processes", 1)
    baseline = arm_of(spec, 0, spec.baseline_ini)
    larger = arm_of(spec, 1, _with_processes(processes + MEMORY_PROBE_MORE, ini))
    result = bench.prepare(baseline, larger, spec.workload, processes=processes)
    return replace(result, facts=completed(spec, result.facts) if result.facts else None)


def _inis(claim: Claim) -> list[str]:
    """The file that each arm runs: as it was given, or rendered from the arm's params."""
    spec, facts = claim.job.spec, claim.job.facts
    match spec.kind:
        case JobKind.COMPARE:
            given = {variant.name: variant.ini for variant in spec.variants}
            return [given[str(params["ini"])] for params in claim.params]
        case JobKind.CALIBRATE:
            return [spec.baseline_ini for _ in claim.params]
        case JobKind.TUNE:
            domain = derive(spec, facts.memory if facts else None)
            return [domain.render(params) for params in claim.params]
        case _:
            assert_never(spec.kind)


def _with_processes(processes: int, ini: IniFile) -> str:
    return ini.patch({"processes": str(processes), "cheaper": "0"}).dump()


def failure_of(failure: TargetFailed, spec: JobSpec) -> Failure:
    """What is stored of it."""
    code = FailureCode(failure.code)
    return Failure(
        code=code,
        message=_with_what_it_went_without(failure.message, code, spec),
        arm=failure.arm,
        log_tail=failure.log_tail,
    )


def _with_what_it_went_without(message: str, code: FailureCode, spec: JobSpec) -> str:
    """An app may not work without what trials leave out of its file: then that is named."""
    out = left_out(spec)
    if not out or code not in _FOR_WANT_OF_SOMETHING:
        return message
    wanted = ", ".join(dict.fromkeys(line.danger.value for line in out))
    return (
        f"{message}; it was run without {options_of(out)}: give allow: [{wanted}] to run all of it"
    )
