"""Makes a claimed measurement: waits for an engine that is away, and words what failed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from tuner.bench.measurement import (
    MEMORY_PROBE_MORE,
    Bench,
    Preparation,
    arm_of,
    completed,
    left_out,
    run_scenes,
    target_failed,
)
from tuner.nouns.errors import TargetFailed, Unavailable
from tuner.nouns.model import (
    Claim,
    Failure,
    FailureCode,
    JobKind,
    JobSpec,
    Limits,
    Measurement,
    MeasurementId,
    MeasurementKind,
    MeasurementResult,
    Target,
    options_of,
)
from tuner.store.db import Store
from tuner.study import arms_at_once, derived_seed, mistakes_in
from tuner.targets.search_space import derive
from tuner.uwsgi.ini import IniFile

# ---- How long a measurement waits for an engine that is away


@dataclass(slots=True)
class Patience:
    """The wait of one measurement at a time, in one piece; then its job fails."""

    limit_s: float = 900.0
    _waits: MeasurementId | None = None
    _since: float = 0.0  # by the monotonic clock

    def renew(self) -> None:
        """The engine answers."""
        self._waits = None

    def is_over(self, measurement_id: MeasurementId) -> bool:
        """Whether this measurement, which finds the engine away, has waited long enough."""
        if self._waits != measurement_id:
            self._waits, self._since = measurement_id, time.monotonic()
        return time.monotonic() - self._since >= self.limit_s

    def failure(self, away: Unavailable) -> Failure:
        """The end of the wait."""
        message = (
            f"{away}; it was away for {self.limit_s:g} s (TUNER_DOCKER_WAIT_S) in one piece: start"
            " Docker on the benchmark host, then submit the job again"
        )
        return Failure(code=FailureCode.INFRASTRUCTURE, message=message)


# ---- One attempt at a measurement, and its end: what it found waits until PostgreSQL can store it

STORED_WITHIN_S = 600.0
"""PostgreSQL may be away this long after the end of a block."""

AGAIN_AFTER_S = 1.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """The writes of one attempt, each repeated while PostgreSQL is away.

    The fence makes that harmless: a write whose answer was lost has ended the attempt. Each raises
    `Unavailable` after `STORED_WITHIN_S`, or while this worker stops.
    """

    store: Store
    measurement: Measurement
    should_abort: Callable[[], bool]

    def complete(self, result: MeasurementResult) -> None:
        """Store the result."""
        self._insisting(self.store.complete, *self._fence, result)

    def fail(self, failure: Failure) -> None:
        """Store the failure."""
        self._insisting(self.store.fail, *self._fence, failure)

    def release(self, *, fault: str | None = None) -> int:
        """Give the measurement back for another attempt; returns its count of host faults."""
        return self._insisting(self.store.release, *self._fence, fault=fault)

    @property
    def _fence(self) -> tuple[MeasurementId, int]:
        return self.measurement.id, self.measurement.attempt

    @property
    def _insisting(self) -> Retrying:
        enough = stop_after_delay(STORED_WITHIN_S)
        return Retrying(
            retry=retry_if_exception_type(Unavailable),
            stop=lambda state: enough(state) or self.should_abort(),
            wait=wait_fixed(AGAIN_AFTER_S),
            reraise=True,
        )


# ---- Makes a claimed measurement, and words the failure of a target

_MAY_MISS_AN_OPTION = frozenset(
    {
        FailureCode.BAD_OPTIONS,
        FailureCode.APP_FAILED,
        FailureCode.NOT_STARTED,
        FailureCode.NOT_READY,
        FailureCode.ERRORS_ONLY,
        FailureCode.WORKLOAD_REFUSED,
    }
)
"""An app without an option of its own file may fail in these ways."""


def make(claim: Claim, bench: Bench) -> MeasurementResult:
    """Make the claimed measurement."""
    measurement, spec = claim.measurement, claim.job.spec
    match measurement.kind:
        case MeasurementKind.PREPARE:
            return prepared(spec, bench)
        case MeasurementKind.BLOCK:
            facts, seed = claim.job.facts, derived_seed(spec.seed, measurement.sequence)
            files, workload, options = _files(claim), spec.workload, measurement.block_options
            if options.condition is not None:
                its, workload = options.condition.applied(spec.target, workload)
                files = [(ini, limits, its, kept) for ini, limits, _, kept in files]
            arms = [
                arm_of(spec, index, ini, facts, limits, target, keep_alive)
                for index, (ini, limits, target, keep_alive) in enumerate(files)
            ]
            if options.scenes:
                return run_scenes(
                    bench,
                    arms,
                    workload,
                    spec.budget,
                    seed=seed,
                    scenes=options.scenes,
                    late_s=spec.slo.late_s,
                )
            return bench.run_block(
                arms,
                workload,
                spec.budget,
                seed=seed,
                metrics=spec.metrics,
                block_options=options,
            )


def prepared(spec: JobSpec, bench: Bench) -> MeasurementResult:
    """The facts about a job's baseline, needed before any comparison.

    In a comparison it is the first uwsgi.ini, else the first arm.
    """
    is_in_image, spec = spec.awaits_file, _with_file(spec, bench)
    given = zip([each.ini for each in spec.variants], spec.boxes, spec.targets, strict=False)
    arms = [*given] or [(spec.baseline_ini, spec.limits, spec.target)]
    text, limits, target = next((arm for arm in arms if arm[0] is not None), arms[0])
    ini = IniFile.parse(text or "")
    processes = ini.integer("cheaper", 0) or ini.integer("processes", 1)
    more = ini.patch({"processes": str(processes + MEMORY_PROBE_MORE), "cheaper": "0"}).dump()
    result = Preparation(bench).run(
        arm_of(spec, 0, text, None, limits, target),
        arm_of(spec, 1, more, None, limits, target) if target.is_uwsgi else None,
        spec.workload,
        processes=processes,
        arms_at_once=arms_at_once(spec),
        others=spec.targets if len({each.name for each in spec.targets}) > 1 else (),
    )
    return replace(
        result,
        facts=completed(spec, result.facts) if result.facts else None,
        baseline_ini=spec.baseline_ini if is_in_image else None,
    )


def _with_file(spec: JobSpec, bench: Bench) -> JobSpec:
    """The job with its present file, read out of the image if it is there.

    Raises `TargetFailed` with the mistakes that intake would have found in the file.
    """
    if not spec.awaits_file:
        return spec
    found = spec.with_file(bench.own_file(spec.target))
    if mistakes := mistakes_in(found, [(f"{spec.target.ini_path}", found.baseline_ini)]):
        raise target_failed(FailureCode.BAD_OPTIONS, "; ".join(map(str, mistakes)))
    return found


def _files(claim: Claim) -> list[tuple[str | None, Limits, Target, bool | None]]:
    """File, box, target and client of each arm: as given, or rendered from the arm's params."""
    spec, facts = claim.job.spec, claim.job.facts
    match spec.kind:
        case JobKind.COMPARE:
            given = {
                variant.name: (variant.ini, box, target, variant.keep_alive)
                for variant, box, target in zip(
                    spec.variants, spec.boxes, spec.targets, strict=True
                )
            }
            return [given[str(params["ini"])] for params in claim.params]
        case JobKind.CALIBRATE:
            return [(spec.baseline_ini, spec.limits, spec.target, None) for _ in claim.params]
        case JobKind.TUNE:
            domain = derive(spec, facts.memory if facts else None)
            return [
                (domain.render(params), domain.box(params), spec.target, None)
                for params in claim.params
            ]
        case _:
            assert_never(spec.kind)


def failure_of(failure: TargetFailed, spec: JobSpec) -> Failure:
    """The failure to store."""
    code = FailureCode(failure.code)
    return Failure(
        code=code,
        message=_with_left_out(failure.message, code, spec),
        arm=failure.arm,
        log_tail=failure.log_tail,
    )


def _with_left_out(message: str, code: FailureCode, spec: JobSpec) -> str:
    """Name the options that trials leave out of the file: the app may need them."""
    out = left_out(spec)
    if not out or code not in _MAY_MISS_AN_OPTION:
        return message
    wanted = ", ".join(dict.fromkeys(line.danger.value for line in out))
    return (
        f"{message}; it ran without {options_of(out)}: set allow: [{wanted}] to run the whole file"
    )
