"""Nouns with sensible values, so that a test states only what it is about."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tuner.bench.load.probe import rows
from tuner.nouns.model import (
    BASELINE,
    Budget,
    ClosedLoop,
    Failure,
    Histogram,
    History,
    HostFingerprint,
    Job,
    JobId,
    JobSpec,
    JobState,
    Limits,
    Measurement,
    MeasurementId,
    MeasurementKind,
    MeasurementResult,
    MeasurementState,
    MemoryLine,
    Metric,
    Objective,
    Phase,
    Plan,
    SearchSpace,
    Slo,
    Surroundings,
    Target,
    TargetFacts,
    TrialNumber,
    Window,
)

FIRST_JOB = JobId(1)
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
INI = "[uwsgi]\nmaster = true\nprocesses = 2\n"
FINGERPRINT = HostFingerprint(
    cpu_model="Test CPU",
    cpus=2,
    memory_mb=24_000,
    kernel="6.1",
    cgroup_version=2,
    docker_version="20.10",
)
FACTS = TargetFacts(
    image_digest=f"registry.example/shop@sha256:{'0f' * 32}",
    uwsgi_version="2.0.31",
    options=("processes", "threads"),
    fingerprint=FINGERPRINT,
    memory=MemoryLine(base_mb=20.0, per_process_mb=10.0),
)


def histogram(times_ms: Iterable[float]) -> Histogram:
    """Of single times, as the probe counts them."""
    return Histogram(rows.histogram(times_ms))


def space(**parameters: Any) -> SearchSpace:
    """A space of the given parameters; of processes 1..8 when none is given."""
    chosen = parameters or {"processes": {"type": "int", "low": 1, "high": 8, "log": True}}
    return SearchSpace.model_validate({"name": "test", "parameters": chosen})


def spec(**changes: Any) -> JobSpec:
    """A job's spec; `changes` replaces fields."""
    base = JobSpec(
        app="shop",
        target=Target(
            target_app="mixed",
            port=8000,
            health_path="/",
            command=("uwsgi", "--ini", "{ini}"),
            thread_safe=True,
            memory_per_process_mb=32,
        ),
        baseline_ini=INI,
        limits=Limits(cpus=1.0, memory_mb=512, somaxconn=4096),
        workload=ClosedLoop(concurrency=64),
        objective=Objective(maximize=Metric.THROUGHPUT_RPS),
        slo=Slo(),
        search_space=space(),
        budget=Budget(trials=3, calibrate_blocks=2, confirm_blocks=6, window_s=1.0),
        min_effect=0.02,
        pool="default",
        seed=1,
    )
    return base.model_copy(update=changes)


def window(arm: int = 0, rps: float = 100.0, **changes: Any) -> Window:
    """A clean one-second window; `changes` replaces fields."""
    values: dict[str, Any] = {
        "index": 0,
        "arm": arm,
        "started_at": NOON,
        "duration_s": 1.0,
        "requests": round(rps),
        "errors": 0,
        "errors_by_class": {},
        "throughput_rps": rps,
        "latency_p50_ms": 10.0,
        "latency_p95_ms": 20.0,
        "latency_p99_ms": 30.0,
        "memory_mb": 50.0,
        "served": round(rps),
        "respawns": 0,
        "client_cpu": 0.1,
        "target_cpu": 0.5,
        "throttled": 0.0,
        "busy": 0.5,
        "listen_overflows": 0,
        "time_wait": 0,
        "sent": 0,
        "connections": 0,
        "stalled": 0,
    }
    return Window(**{**values, **changes})


def block(
    windows: Sequence[Window] = (),
    *,
    arms: tuple[int, ...] = (0, 1),
    phase: Phase = Phase.SEARCH,
    sequence: int = 1,
    failure: Failure | None = None,
    state: MeasurementState | None = None,
) -> Measurement:
    """A block that is complete, or failed where a failure is given."""
    done = MeasurementState.FAILED if failure else MeasurementState.COMPLETE
    final = state or done
    complete = final is MeasurementState.COMPLETE
    return Measurement(
        id=MeasurementId(sequence),
        job_id=FIRST_JOB,
        sequence=sequence,
        kind=MeasurementKind.BLOCK,
        phase=phase,
        arms=tuple(TrialNumber(arm) for arm in arms),
        state=final,
        attempt=1,
        result=MeasurementResult(windows=tuple(windows)) if complete else None,
        failure=failure,
    )


def planned(plan: Plan, number: MeasurementId, job_id: JobId = FIRST_JOB) -> Measurement:
    """The measurement of a plan, before any host has taken it."""
    return Measurement(
        id=number,
        job_id=job_id,
        sequence=plan.sequence,
        kind=plan.kind,
        phase=plan.phase,
        arms=plan.arms,
        state=MeasurementState.QUEUED,
        attempt=0,
        block_options=plan.block_options,
    )


def at_speed(arm: int, rps: float, speed: float | None, **changes: Any) -> Window:
    """A window on a full CPU of that speed."""
    values = {"target_cpu": 0.97, **changes}
    return window(arm, rps, surroundings=Surroundings(cpu_speed=speed), **values)


def shaken(windows: Iterable[Window], draw: random.Random) -> list[Window]:
    """The same windows on a full CPU whose speed is another in each."""
    speeds = ((each, draw.lognormvariate(0, 0.3)) for each in windows)
    return [at_speed(w.arm, w.throughput_rps * s, s, index=w.index) for w, s in speeds]


def shaken_block(measured: Measurement, draw: random.Random) -> Measurement:
    """The same block on such a CPU."""
    result = MeasurementResult(windows=tuple(shaken(measured.windows, draw)))
    return replace(measured, result=result)


def pair(baseline_rps: float, candidate_rps: float, **changes: Any) -> list[Window]:
    """One window of each arm; `changes` goes to the candidate's."""
    return [window(0, baseline_rps), window(1, candidate_rps, **changes)]


def job(**changes: Any) -> Job:
    """A running job in its search."""
    values: dict[str, Any] = {
        "id": JobId(1),
        "spec": spec(),
        "state": JobState.RUNNING,
        "phase": Phase.SEARCH,
        "created_at": NOON,
        "started_at": NOON,
        "facts": FACTS,
    }
    return Job(**{**values, **changes})


def history(**changes: Any) -> History:
    """A history without rows; `changes` replaces fields."""
    values: dict[str, Any] = {"job": job(), "trials": (), "measurements": (), "now": NOON}
    return History(**{**values, **changes})


__all__ = ["BASELINE", "FACTS", "INI", "NOON", "block", "history", "job", "pair", "space", "spec"]
