"""Comparisons that have their report: of one load, or of a ladder with a block for each rung."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tests import builders
from tuner.judge import report
from tuner.nouns.model import (
    BlockOptions,
    Budget,
    ClosedLoop,
    Failure,
    FailureCode,
    History,
    HttpRequest,
    JobKind,
    JobState,
    Ladder,
    Measurement,
    Paths,
    Phase,
    Report,
    Rung,
    ServerFigures,
    Variant,
    Window,
    Workload,
)

RUNGS = (100, 1_000, 10_000)
PATHS = ("/4k", "/64k", "/512k")
NOISE = (1.0, 1.02, 0.98, 1.01, 0.99, 1.03)
DIED = Failure(
    code=FailureCode.DIED, message="processes kept dying", arm=1, log_tail="segfault <b>here</b>"
)


def window(arm: int, connections: int, noise: float, **changes: Any) -> Window:
    """Arm n serves n + 1 times as much as arm 0; at 10 000 connections it fails now and then."""
    rate = 1000.0 * (arm + 1) * noise
    failed = 30 if connections == 10_000 else 0
    values: dict[str, Any] = {
        "rps": rate,
        "connections": connections,
        "duration_s": 2.0,
        "requests": round(2 * rate),
        "sent": round(2 * rate) + failed,
        "errors": failed,
        "errors_by_class": {"reset": failed} if failed else {},
        "latency_p95_ms": connections / rate * 1000,
        "target_cpu": 0.9,
        "body_bytes": round(2 * rate) * 512,
        "server": ServerFigures(memory_peak_mb=20.0 + connections / 100),
    }
    return builders.window(arm, **{**values, **changes})


def blocks(
    rungs: Sequence[Rung | None],
    arms: int,
    count: int,
    made: Callable[..., Window] = window,
) -> list[Measurement]:
    """Round by round, a block of every rung; of a path with answers as large as it says."""

    def windows(rung: Rung | None, noise: float) -> list[Window]:
        found = [made(arm, rung if isinstance(rung, int) else 64, noise) for arm in range(arms)]
        if not isinstance(rung, str):
            return found
        size = 1024 * int(rung.strip("/k"))
        return [replace(window, body_bytes=size * window.requests) for window in found]

    planned = [(noise, rung) for noise in NOISE[:count] for rung in rungs]
    return [
        replace(
            builders.block(
                windows(rung, noise),
                phase=Phase.COMPARE,
                sequence=sequence,
                arms=tuple(range(arms)),
            ),
            block_options=BlockOptions(rung=rung),
            host="bench-1",
        )
        for sequence, (noise, rung) in enumerate(planned, 1)
    ]


def broken(rung: Rung | None, sequence: int = 90, failure: Failure = DIED) -> Measurement:
    """A block of two arms that one of them ended."""
    failed = builders.block(phase=Phase.COMPARE, sequence=sequence, failure=failure)
    return replace(failed, block_options=BlockOptions(rung=rung))


def history(
    measured: Sequence[Measurement] | None = None,
    *,
    rungs: Sequence[Rung] = (),
    arms: int = 2,
    name: str = "arm-{}.ini",
    ini: str = builders.INI,
    **asked: Any,
) -> History:
    """A job that compared these arms, with its report. `{n}` in `ini` is 1 in the first arm's."""
    # not checked: a test may give a name that no request may have
    variants = tuple(
        Variant.model_construct(name=name.format(n), ini=ini.replace("{n}", str(n + 1)))
        for n in range(arms)
    )
    budget = Budget(trials=0, confirm_blocks=0, compare_blocks=4, cycles=1, window_s=2.0)
    chosen = builders.spec(
        kind=JobKind.COMPARE, variants=variants, workload=_load(rungs), budget=budget, **asked
    )
    done = blocks(rungs or (None,), arms, 4) if measured is None else measured
    job = builders.job(spec=chosen, state=JobState.SUCCEEDED, phase=Phase.DONE)
    found = builders.history(job=job, measurements=tuple(done))
    return replace(found, job=replace(job, report=report.build(found)))


def _load(rungs: Sequence[Rung]) -> Workload:
    paths = [rung for rung in rungs if isinstance(rung, str)]
    if paths:
        return Paths(kind="paths", requests=tuple(HttpRequest(path=path) for path in paths))
    counts = tuple(rung for rung in rungs if isinstance(rung, int))
    return Ladder(kind="ladder", concurrencies=counts) if counts else ClosedLoop()


def report_of(measured: Sequence[Measurement] | None = None, **asked: Any) -> Report:
    """The report alone."""
    found = history(measured, **asked).job.report
    assert found is not None
    return found
