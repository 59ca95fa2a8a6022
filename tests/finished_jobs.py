"""Jobs that have their answer, with all the evidence that a long search leaves."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests import builders
from tuner.nouns.model import (
    BASELINE,
    Ablation,
    Bottleneck,
    Budget,
    Calibration,
    ChangedLine,
    Comparison,
    Diagnosis,
    Doubt,
    Effect,
    Enter,
    Evidence,
    Factor,
    Failure,
    FailureCode,
    Histogram,
    History,
    Importance,
    Job,
    JobId,
    JobState,
    Look,
    Measure,
    Measurement,
    MeasurementKind,
    MeasurementResult,
    Metric,
    Origin,
    Outcome,
    Params,
    ParetoPoint,
    Phase,
    Plan,
    Recommendation,
    Round,
    Scalar,
    Slice,
    SlicePoint,
    Standing,
    Step,
    Succeed,
    Trial,
    TrialNumber,
    TrialState,
    Verdict,
)
from tuner.store.db import Store

OWN_INI = """\
[uwsgi]
http-socket = :8000
module = checkout.wsgi
master = true
processes = 2
listen = 100
; the batch jobs need this
harakiri = 60
"""
NEW_INI = """\
[uwsgi]
http-socket = :8000
module = checkout.wsgi
master = true
processes = 6
threads = 2
listen = 1024
; the batch jobs need this
harakiri = 60
"""
CALIBRATION = Calibration(
    blocks=4,
    bias=0.002,
    bias_ci_low=-0.011,
    bias_ci_high=0.015,
    block_sd=0.032,
    mde=0.021,
    throughput_rps=161.4,
    resolves_min_effect=True,
    hosts=("bench-1",),
)


def effect(estimate: float, margin: float, metric: Metric = Metric.THROUGHPUT_RPS) -> Effect:
    """A relative change with an interval of so much to both arms."""
    return Effect(
        metric=metric, estimate=estimate, ci_low=estimate - margin, ci_high=estimate + margin
    )


def line(option: str, value: str, own: str | None, found: Effect | None = None) -> ChangedLine:
    """A changed line."""
    return ChangedLine(option=option, value=value, baseline_value=own, effect=found)


def trials(count: int = 30, parameters: int = 5, seed: int = 1) -> tuple[Trial, ...]:
    """A search of so many trials: the gain grows with processes, some break, some do not run."""
    draw = random.Random(seed)  # noqa: S311
    found = [_trial(0, _users(parameters), Origin.BASELINE, 0.0)]
    for number in range(1, count + 1):
        params = _drawn(draw, parameters)
        processes = int(params["processes"])
        truth = 0.12 * math.log(processes / 2) - 0.02 * max(0, processes - 6)
        found.append(_trial(number, params, Origin.SAMPLER, truth + draw.gauss(0, 0.04)))
        if number % 9 == 4:
            found[-1] = _broken(found[-1])
        elif number % 7 == 3:
            found[-1] = replace(found[-1], outcome=_outcome(0.15, {"latency_p95_ms": 0.3}))
    return tuple(found)


def _users(parameters: int) -> Params:
    fixed: dict[str, Scalar] = {
        "processes": 2,
        "threads": 1,
        "listen": 100,
        "thunder-lock": False,
        "logging": "user",
    }
    more = {f"option-{n}": 1 for n in range(parameters - len(fixed))}
    return dict([*fixed.items(), *more.items()][:parameters])


def _drawn(draw: random.Random, parameters: int) -> Params:
    drawn: dict[str, Scalar] = {
        "processes": draw.randint(1, 16),
        "threads": draw.choice([1, 2, 4, 8]),
        "listen": draw.choice([100, 1024]),
        "thunder-lock": draw.random() < 0.5,
        "logging": draw.choice(["user", "errors-only"]),
    }
    more = {f"option-{n}": draw.randint(1, 64) for n in range(parameters - len(drawn))}
    return dict([*drawn.items(), *more.items()][:parameters])


def _outcome(score: float, constraints: dict[str, float] | None = None) -> Outcome:
    return Outcome(state=TrialState.COMPLETE, score=score, constraints=constraints or {})


def _trial(number: int, params: Params, origin: Origin, score: float) -> Trial:
    return Trial(
        number=TrialNumber(number),
        params=params,
        origin=origin,
        state=TrialState.COMPLETE,
        outcome=_outcome(score),
    )


def _broken(trial: Trial) -> Trial:
    failure = Failure(
        code=FailureCode.OUT_OF_MEMORY,
        message="the kernel killed it at 512 MB",
        arm=1,
        log_tail="spawned uWSGI worker 14 (pid: 31)\nworker 9 died, killed by signal 9",
    )
    outcome = Outcome(state=TrialState.INFEASIBLE, score=None, constraints={}, failure=failure)
    return replace(trial, state=TrialState.INFEASIBLE, outcome=outcome)


def evidence() -> Evidence:
    """Of every phase something."""
    return Evidence(
        rounds=(_round((0.14, 0.11, 0.10, 0.03, -0.01, -0.05)), _round((0.12, 0.11, 0.07))),
        ablation=Ablation(
            factors=(
                _factor(("processes", "threads"), 0.091, 0.012, p=0.0001, is_kept=True),
                _factor(("listen",), 0.018, 0.012, p=0.004, is_kept=True),
                _factor(("thunder-lock",), 0.003, 0.012, p=0.31),
                _factor(("logging",), -0.016, 0.012, p=0.99),
            ),
            runs=48,
            sd=0.041,
        ),
        importances=(
            Importance(parameter="processes", share=0.71, low=0.55, high=0.83),
            Importance(parameter="threads", share=0.17, low=0.06, high=0.30),
            Importance(parameter="listen", share=0.07, low=0.01, high=0.16),
            Importance(parameter="logging", share=0.03, low=0.0, high=0.09),
            Importance(parameter="thunder-lock", share=0.02, low=0.0, high=0.07),
        ),
        slices=(
            _slice("processes", (1, 2, 3, 4, 6, 8, 12, 16)),
            _slice("threads", (1, 2, 4, 8)),
            _slice("listen", (100, 1024)),
            _slice("thunder-lock", (False, True)),
            _slice("logging", ("user", "errors-only")),
        ),
        optimistic_gain=0.19,
        ended_because="the best did not rise by what can be seen in 12 trials",
        skipped=(
            "no second day was measured: what differs from day to day is not in the interval",
        ),
        not_tried=("processes above 14: the fitted memory line says that they need 530 MB",),
    )


def _round(gains: Sequence[float]) -> Round:
    standings = tuple(
        Standing(
            number=TrialNumber(rank + 4),
            gain=gain,
            low=gain - 0.04,
            high=gain + 0.04,
            blocks=4,
            is_unstable=rank == 2,
        )
        for rank, gain in enumerate(gains)
    )
    return Round(standings=standings, survivors=(len(gains) + 1) // 2)


def _factor(
    parameters: tuple[str, ...], gain: float, margin: float, *, p: float, is_kept: bool = False
) -> Factor:
    return Factor(
        parameters=parameters,
        effect=gain,
        low=gain - margin,
        high=gain + margin,
        p=p,
        is_kept=is_kept,
    )


def _slice(parameter: str, values: Sequence[Scalar]) -> Slice:
    points = (
        SlicePoint(value=value, gain=0.1 - 0.02 * abs(n - 3), low=0.05 - 0.02 * n, high=0.15)
        for n, value in enumerate(values)
    )
    return Slice(parameter=parameter, points=tuple(points))


def comparison(verdict: Verdict = Verdict.BETTER, estimate: float = 0.098) -> Comparison:
    """Sixteen blocks with three looks."""
    bounds = {8: 4.08, 12: 3.33, 16: 2.89}
    looks = tuple(
        Look(
            blocks=blocks,
            z=math.log1p(estimate) * math.sqrt(blocks) / 0.11,
            bound=bound,
            estimate=math.log1p(estimate) + 0.01 * (12 - blocks) / 4,
            low=math.log1p(estimate) - 0.25 / math.sqrt(blocks),
            high=math.log1p(estimate) + 0.25 / math.sqrt(blocks),
        )
        for blocks, bound in bounds.items()
    )
    return Comparison(
        verdict=verdict,
        effect=effect(estimate, 0.024),
        p_better=0.9996 if verdict is Verdict.BETTER else 0.41,
        mde=0.027,
        blocks=16,
        reason="the whole interval shows a gain, the estimate at least 2 %",
        requests=182_431,
        errors=0,
        side_effects=(
            effect(-0.041, 0.02, Metric.LATENCY_P95_MS),
            effect(0.31, 0.05, Metric.MEMORY_MB),
        ),
        looks=looks,
    )


def recommendation(**changes: Any) -> Recommendation:
    """Deploy six processes of two threads; `changes` replaces fields."""
    together = effect(0.095, 0.013)
    base = Recommendation(
        comparison=comparison(),
        candidate=TrialNumber(31),
        params={"processes": 6, "threads": 2, "listen": 1024},
        lines=(
            line("processes", "6", "2", together),
            line("threads", "2", None, together),
            line("listen", "1024", "100", effect(0.018, 0.012)),
        ),
        reverted=(
            line("thunder-lock", "true", None, effect(0.003, 0.012)),
            line("disable-logging", "true", None, effect(-0.016, 0.012)),
        ),
        diagnosis=Diagnosis(
            bottleneck=Bottleneck.CPU_QUOTA,
            sentence="the CPU quota is the limit: more processes cannot help further",
            evidence={"target_cpu": 0.991, "throttled": 0.34},
        ),
        reason="Deploy it",
        uwsgi_ini=NEW_INI,
        overlay_ini="[uwsgi]\nprocesses = 6\nthreads = 2\nlisten = 1024\n",
        doubts=(Doubt.THROTTLED,),
        evidence=evidence(),
    )
    return replace(base, **changes)


def several_objectives() -> tuple[ParetoPoint, ...]:
    """A front of throughput and memory."""
    gains = ((0.12, -0.35), (0.10, -0.20), (0.06, 0.02), (0.01, 0.10))
    return tuple(
        ParetoPoint(
            number=TrialNumber(number),
            gains={"throughput_rps": first, "memory_mb": second},
            is_chosen=number == 2,
        )
        for number, (first, second) in enumerate(gains, 1)
    )


def job(found: Recommendation, **changes: Any) -> Job:
    """A job that ended with this answer; `changes` replaces fields."""
    values: dict[str, Any] = {
        "spec": builders.spec(
            app="checkout",
            baseline_ini=OWN_INI,
            budget=Budget(trials=30, calibrate_blocks=4, confirm_blocks=40, race=6, ablate_runs=48),
        ),
        "state": JobState.SUCCEEDED,
        "phase": Phase.DONE,
        "finished_at": builders.NOON + timedelta(hours=1),
        "calibration": CALIBRATION,
        "recommendation": found,
    }
    return builders.job(**{**values, **changes})


def history(found: Recommendation | None = None, **changes: Any) -> History:
    """All rows of a finished job: a search of 30 trials, and 16 blocks that confirmed."""
    tried = trials()
    params = {**_users(5), "processes": 6, "threads": 2, "listen": 1024}
    minimal = replace(_trial(31, params, Origin.MINIMAL, 0.09), number=TrialNumber(31))
    values: dict[str, Any] = {
        "job": job(found or recommendation()),
        "trials": (*tried, minimal),
        "measurements": confirmed(),
    }
    return builders.history(**{**values, **changes})


def confirmed(blocks: int = 16, gain: float = 0.098, seed: int = 2) -> tuple[Measurement, ...]:
    """Blocks of the confirmation around that gain."""
    draw = random.Random(seed)  # noqa: S311
    rates = [160 * (1 + gain) * math.exp(draw.gauss(0, 0.04)) for _ in range(blocks)]
    return tuple(
        builders.block(
            builders.pair(160.0, rate), arms=(BASELINE, 31), phase=Phase.CONFIRM, sequence=n
        )
        for n, rate in enumerate(rates, 1)
    )


def stored(
    store: Store,
    found: Recommendation,
    *,
    calibration: Calibration = CALIBRATION,
    steps: Sequence[Step] = (),
    **changes: Any,
) -> JobId:
    """Put such a job into a store with what `steps` write; `changes` are to its spec."""
    spec = job(found).spec.model_copy(update=changes)
    made = store.create_job(spec, idempotency_key=None, request_sha256="")[0].job
    ahead = Enter(phase=Phase.CONFIRM, facts=builders.FACTS, calibration=calibration)
    left = [ahead, *steps, Succeed(recommendation=found)]
    store.advance(made.id, lambda _: left.pop(0) if left else None)
    return made.id


def measured(
    store: Store, job_id: JobId, *, blocks: int, windows: int = 8, phase: Phase = Phase.SEARCH
) -> None:
    """Let a job measure: so many complete blocks, each of its own trial and so many windows."""
    planned(store, job_id, blocks=blocks, phase=phase)
    histogram = Histogram({bucket: 1 for bucket in range(1000, 1200)})
    seen = tuple(
        builders.window(n % 2, 100.0, index=n, series=(25,) * 12, histogram=histogram)
        for n in range(windows)
    )
    for made in store.measurements(job_id, detailed=False):
        if made.is_open:
            claim = store.claim(made.id, "bench-1")
            assert claim is not None
            result = MeasurementResult(windows=seen, load_s=10.0, setup_s=1.0)
            assert store.complete(made.id, claim.measurement.attempt, result)


def planned(store: Store, job_id: JobId, *, blocks: int, phase: Phase = Phase.SEARCH) -> None:
    """Let a job plan such blocks. The search comes first: it makes the trials."""
    tried = [_trial(n, {"processes": n}, Origin.SAMPLER, 0.01) for n in range(blocks + 1)]
    first = 1 + len(store.measurements(job_id, detailed=False))
    plans = [
        Plan(
            sequence=first + n,
            kind=MeasurementKind.BLOCK,
            phase=phase,
            arms=(BASELINE, TrialNumber(n + 1)),
        )
        for n in range(blocks)
    ]
    steps: list[Step] = [
        Enter(phase=phase, facts=builders.FACTS, calibration=CALIBRATION),
        Measure(plans=tuple(plans), trials=tuple(tried) if phase is Phase.SEARCH else ()),
    ]
    store.advance(job_id, lambda _: steps.pop(0) if steps else None)
