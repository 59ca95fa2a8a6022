"""Blocks of a comparison to its figures, file by file; the first file is the baseline.

Files of steps and grids are also compared with the file before them.

A figure is taken of each block first, then of all blocks: the block is the unit of replication.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff
from statistics import fmean, median

from tuner import analysis, diagnosis, grids, objective, wording
from tuner.model import (
    BASELINE,
    ArmReport,
    Doubt,
    Effect,
    Failure,
    Figure,
    Histogram,
    History,
    JobSpec,
    Ladder,
    Measurement,
    Metric,
    Phase,
    Report,
    Spread,
    StepEffect,
    TrialNumber,
    Window,
    by_request,
)

REQUESTS_FOR_P99 = 5_000
"""With fewer, fewer than 50 requests are above the 99th percentile, and it means little."""

_FIGURES = (
    Metric.THROUGHPUT_RPS,
    Metric.LATENCY_P50_MS,
    Metric.LATENCY_P95_MS,
    Metric.LATENCY_P99_MS,
    Metric.MEMORY_MB,
)


_Part = list[Window]
"""The usable windows of one file in one block; at least one."""


def build(history: History) -> Report:
    """The report of a comparison from the blocks measured so far."""
    spec, blocks = history.job.spec, history.blocks(Phase.COMPARE)
    unstable = analysis.unstable_arms(blocks)
    before = grids.before(spec)
    arms = tuple(
        _arm(
            spec,
            blocks,
            TrialNumber(number),
            before.get(TrialNumber(number)),
            is_unstable=number in unstable,
        )
        for number in range(len(spec.variants))
    )
    return Report(
        arms=arms,
        blocks=sum(bool(block.windows) for block in blocks),
        curves=grids.curves(spec, blocks, arms),
    )


def _arm(
    spec: JobSpec,
    blocks: Sequence[Measurement],
    number: TrialNumber,
    before: TrialNumber | None,
    *,
    is_unstable: bool,
) -> ArmReport:
    variant = spec.variants[number]
    windows = [window for block in blocks for window in block.windows_of(number)]
    usable = [window for window in windows if not window.is_void]
    parts = _parts(blocks, number)
    doubts = analysis.frequent(windows) + ((Doubt.UNSTABLE_START,) if is_unstable else ())
    is_first = number == BASELINE
    return ArmReport(
        name=variant.name,
        figures=_figures(spec, parts),
        effects=() if is_first else _effects(blocks, number, BASELINE),
        verdict=None if is_first else grids.compared(spec, blocks, number, BASELINE).verdict,
        step=None if before is None else _step(spec, blocks, number, before),
        blocks=len(parts),
        windows=len(windows),
        requests=sum(window.requests for window in windows),
        errors_by_class=_errors(windows),
        diagnosis=diagnosis.of_file(windows, spec, variant.ini, spec.boxes[number]),
        doubts=tuple(dict.fromkeys(doubts)),
        services=diagnosis.services_of(usable),
        latency=Histogram.merged(window.histogram for window in usable),
        connect=_middle_spread(w.connect for w in usable),
        proxy_connect=_middle_spread(w.proxy.connect if w.proxy else None for w in usable),
        over_limit=_over_limit(usable),
        by_request=by_request(usable),
        failure=_failure(blocks, number),
    )


def _parts(blocks: Sequence[Measurement], number: TrialNumber) -> list[_Part]:
    """The file's part of each block; blocks without a usable window of it are left out."""
    found = ([w for w in block.windows_of(number) if not w.is_void] for block in blocks)
    return [part for part in found if part]


def _figures(spec: JobSpec, parts: Sequence[_Part]) -> tuple[Figure, ...]:
    rungs = spec.workload.concurrencies if isinstance(spec.workload, Ladder) else (None,)
    found = (_figure(metric, _at(parts, rung), rung) for rung in rungs for metric in _FIGURES)
    return tuple(figure for figure in found if figure is not None)


def _at(parts: Sequence[_Part], rung: int | None) -> list[_Part]:
    """The parts with the windows of one rung alone; all windows where there is one rung."""
    chosen = ([w for w in part if rung in (None, w.connections)] for part in parts)
    return [part for part in chosen if part]


def _figure(metric: Metric, parts: Sequence[_Part], rung: int | None) -> Figure | None:
    levels = [level for part in parts if (level := _level(part, metric)) is not None]
    if not levels:
        return None
    found = analysis.estimate(levels)
    bounded = len(levels) > 1
    return Figure(
        metric=metric,
        value=math.exp(found.value),
        ci_low=math.exp(found.low) if bounded else None,
        ci_high=_exp(found.high) if bounded else None,
        concurrency=rung,
    )


def _exp(log: float) -> float | None:
    """None where the bound is beyond all numbers, as two very different blocks can make it."""
    return math.exp(log) if log < math.log(1e12) else None


def _level(windows: Sequence[Window], metric: Metric) -> float | None:
    """Log of a metric in one block; of p99 only where enough requests are behind it.

    Where single windows have too few, all windows of the block together may have enough.
    """
    if metric is not Metric.LATENCY_P99_MS or all(w.requests >= REQUESTS_FOR_P99 for w in windows):
        return objective.log_level(windows, metric)
    pooled = Histogram.merged(window.histogram for window in windows)
    value = pooled.percentile_ms(0.99) if pooled.total >= REQUESTS_FOR_P99 else None
    return math.log(value) if value else None


def _step(
    spec: JobSpec, blocks: Sequence[Measurement], number: TrialNumber, before: TrialNumber
) -> StepEffect:
    compared = grids.compared(spec, blocks, number, before)
    last, own = spec.variants[before], spec.variants[number]
    return StepEffect(
        after=last.name,
        changes=_changes(last.ini, own.ini),
        effects=_effects(blocks, number, before),
        verdict=compared.verdict,
        is_real=compared.effect is not None and wording.is_real(compared.effect),
    )


def _changes(before: str, own: str) -> tuple[str, ...]:
    """The lines in which two files differ, without the places that a diff names."""
    found = unified_diff(before.splitlines(), own.splitlines(), n=0, lineterm="")
    return tuple(line for line in list(found)[2:] if not line.startswith("@@"))


def _effects(
    blocks: Sequence[Measurement], number: TrialNumber, to: TrialNumber
) -> tuple[Effect, ...]:
    """Changes against the file `to`, of every metric with enough blocks for an interval."""
    ratios = {metric: _ratios(blocks, number, to, metric) for metric in _FIGURES}
    return tuple(
        analysis.effect_of(found, metric)
        for metric, found in ratios.items()
        if len(found) >= analysis.FEWEST_BLOCKS
    )


def _ratios(
    blocks: Sequence[Measurement], number: TrialNumber, to: TrialNumber, metric: Metric
) -> list[float]:
    """log(file / file `to`) of each block that has both."""
    found = []
    for block in blocks:
        parts = (*_parts([block], number), *_parts([block], to))
        levels = [level for part in parts if (level := _level(part, metric)) is not None]
        if len(levels) == 2:
            found.append(levels[0] - levels[1])
    return found


def _errors(windows: Sequence[Window]) -> Mapping[str, int]:
    total: Counter[str] = Counter()
    for window in windows:
        total.update(window.errors_by_class)
    return dict(sorted(total.items()))


def _middle_spread(spreads: Iterable[Spread | None]) -> Spread | None:
    known = [spread for spread in spreads if spread is not None]
    if not known:
        return None
    return Spread(
        p50_ms=median(spread.p50_ms for spread in known),
        p95_ms=median(spread.p95_ms for spread in known),
        max_ms=median(spread.max_ms for spread in known),
    )


def _over_limit(windows: Sequence[Window]) -> float | None:
    """Share of all requests of all windows; windows count alike where no number is known."""
    known = [(w.over_limit, w.sent) for w in windows if w.over_limit is not None]
    if not known:
        return None
    sent = sum(count for _, count in known)
    return sum(s * n for s, n in known) / sent if sent else fmean(s for s, _ in known)


def _failure(blocks: Sequence[Measurement], number: TrialNumber) -> Failure | None:
    """Why the file was not measured to the end; the last reason where there are several."""
    failures = [
        block.failure
        for block in blocks
        if block.failure is not None and block.arms[block.failure.arm] == number
    ]
    return failures[-1] if failures else None
