"""Blocks of a comparison to its figures, file by file; the first file is the baseline.

Files of steps and grids are also compared with the file before them.

A figure is taken of each block first, then of all blocks: the block is the unit of replication.

    rows         block by block, as CSV
    └── figures      one figure: of one block, and over blocks
    typical      one window of each arm, to be shown step by step
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import partial
from statistics import fmean, median

from tuner import analysis, diagnosis, grids, wording
from tuner.model import (
    BASELINE,
    ArmReport,
    Comparison,
    Doubt,
    Effect,
    Failure,
    Figure,
    Histogram,
    History,
    JobSpec,
    Measurement,
    Metric,
    Phase,
    ProxyTimes,
    Report,
    RungReport,
    Spread,
    StepEffect,
    TrialNumber,
    Window,
    at_rung,
    by_request,
    concurrencies,
)
from tuner.report.figures import COMPARED, SHOWN, Part, errors_of, figure_of, value_of
from tuner.report.rows import csv_of
from tuner.report.typical import highest, typical

__all__ = ["build", "csv_of"]


@dataclass(frozen=True, slots=True)
class _Rung:
    """The blocks of one rung of a ladder, or of the only load; files whose starts differ much."""

    concurrency: int | None
    blocks: Sequence[Measurement]
    unstable: Collection[TrialNumber]

    @classmethod
    def of(cls, blocks: Iterable[Measurement], concurrency: int | None) -> "_Rung":
        own = [b for b in blocks if b.block_options.concurrency == concurrency]
        return cls(concurrency, own, analysis.unstable_arms(own))

    def windows(self, number: TrialNumber) -> list[Window]:
        """All windows of one file."""
        return [window for block in self.blocks for window in block.windows_of(number)]

    def parts(self, number: TrialNumber) -> list[Part]:
        """The file's part of each block; blocks without a usable window of it are left out."""
        return [part for block in self.blocks if (part := _usable(block.windows_of(number)))]

    def doubts(self, number: TrialNumber) -> tuple[Doubt, ...]:
        """The frequent ones, and how its starts differ."""
        unstable = (Doubt.UNSTABLE_START,) if number in self.unstable else ()
        return analysis.frequent(self.windows(number)) + unstable

    def ratios(self, number: TrialNumber, to: TrialNumber, metric: Metric) -> list[float]:
        """log(file / file `to`) of each block that has both."""
        found = []
        for block in self.blocks:
            parts = [_usable(block.windows_of(arm)) for arm in (number, to)]
            own, other = (value_of(part, metric) if part else None for part in parts)
            if own is not None and other is not None:
                found.append(math.log(own / other))
        return found


def build(history: History) -> Report:
    """The report of a comparison from the blocks measured so far."""
    spec, blocks = history.job.spec, history.blocks(Phase.COMPARE)
    rungs = [_Rung.of(blocks, concurrency) for concurrency in concurrencies(spec.workload)]
    before = grids.before(spec)
    numbers = [TrialNumber(number) for number in range(len(spec.variants))]
    shown = highest(blocks)
    arms = tuple(
        replace(_arm(spec, rungs, number, before.get(number)), typical=typical(shown, number))
        for number in numbers
    )
    measured = max(sum(bool(block.windows) for block in rung.blocks) for rung in rungs)
    curves = grids.curves(spec, arms, partial(_compared, spec, rungs))
    return Report(arms=arms, blocks=measured, curves=curves)


def _arm(
    spec: JobSpec, rungs: Sequence[_Rung], number: TrialNumber, before: TrialNumber | None
) -> ArmReport:
    variant = spec.variants[number]
    windows = [window for rung in rungs for window in rung.windows(number)]
    usable = _usable(windows)
    is_first = number == BASELINE
    return ArmReport(
        name=variant.name,
        figures=_figures(rungs, number),
        effects=() if is_first else _effects(rungs, number, BASELINE),
        verdict=None if is_first else _compared(spec, rungs, number, BASELINE).verdict,
        step=None if before is None else _step(spec, rungs, number, before),
        blocks=max(len(rung.parts(number)) for rung in rungs),
        windows=len(windows),
        requests=sum(window.requests for window in windows),
        errors_by_class=errors_of(windows),
        diagnosis=diagnosis.of_file(windows, spec, variant.ini, spec.boxes[number]),
        doubts=tuple(dict.fromkeys(doubt for rung in rungs for doubt in rung.doubts(number))),
        services=diagnosis.services_of(usable),
        latency=Histogram.merged(window.histogram for window in usable),
        connect=_middle([w.connect for w in usable if w.connect is not None]),
        proxy=_proxy([window.proxy for window in usable if window.proxy is not None]),
        over_limit=_over_limit(usable),
        by_request=by_request(usable),
        rungs=tuple(
            _rung(spec, rung, rung.concurrency, number)
            for rung in rungs
            if rung.concurrency is not None
        ),
        failure=next(filter(None, (_failure(rung, number) for rung in rungs)), None),
    )


def _rung(spec: JobSpec, rung: _Rung, concurrency: int, number: TrialNumber) -> RungReport:
    windows = rung.windows(number)
    there = spec.model_copy(update={"workload": at_rung(spec.workload, concurrency)})
    ini, box = spec.variants[number].ini, spec.boxes[number]
    return RungReport(
        concurrency=concurrency,
        requests=sum(window.requests for window in windows),
        errors_by_class=errors_of(windows),
        bottleneck=diagnosis.of_file(windows, there, ini, box).bottleneck,
        doubts=rung.doubts(number),
        failure=_failure(rung, number),
    )


def _usable(windows: Iterable[Window]) -> list[Window]:
    return [window for window in windows if not window.is_void]


def _figures(rungs: Sequence[_Rung], number: TrialNumber) -> tuple[Figure, ...]:
    found = (
        figure_of(metric, parts, rung.concurrency)
        for rung in rungs
        for parts in [rung.parts(number)]
        for metric in SHOWN
    )
    return tuple(figure for figure in found if figure is not None)


def _step(
    spec: JobSpec, rungs: Sequence[_Rung], number: TrialNumber, before: TrialNumber
) -> StepEffect:
    compared = _compared(spec, rungs, number, before)
    last, own = spec.variants[before], spec.variants[number]
    return StepEffect(
        after=last.name,
        changes=_changes(last.text, own.text),
        effects=_effects(rungs, number, before),
        verdict=compared.verdict,
        is_real=compared.effect is not None and wording.is_real(compared.effect),
    )


def _changes(before: str, own: str) -> tuple[str, ...]:
    """The lines in which two files differ, without the places that a diff names."""
    found = unified_diff(before.splitlines(), own.splitlines(), n=0, lineterm="")
    return tuple(line for line in list(found)[2:] if not line.startswith("@@"))


def _effects(rungs: Sequence[_Rung], number: TrialNumber, to: TrialNumber) -> tuple[Effect, ...]:
    """Changes against the file `to`, of every metric with enough blocks for an interval."""
    ratios = {metric: _ratios(rungs, number, to, metric) for metric in COMPARED}
    return tuple(
        analysis.effect_of(found, metric)
        for metric, found in ratios.items()
        if len(found) >= analysis.FEWEST_BLOCKS
    )


def _ratios(
    rungs: Sequence[_Rung], number: TrialNumber, to: TrialNumber, metric: Metric
) -> list[float]:
    """log(file / file `to`), round by round: the mean over the rungs of a ladder.

    A rung with too few blocks is left out if others have enough: one of the two files broke there.
    """
    found = [rung.ratios(number, to, metric) for rung in rungs]
    enough = min(analysis.FEWEST_BLOCKS, max(map(len, found)))
    counted = (ratios for ratios in found if ratios and len(ratios) >= enough)
    return [fmean(of_round) for of_round in zip(*counted, strict=False)]


def _compared(
    spec: JobSpec, rungs: Sequence[_Rung], number: TrialNumber, to: TrialNumber
) -> Comparison:
    """By the objective."""
    chosen = spec.objective
    return analysis.compare(
        _ratios(rungs, number, to, chosen.metric),
        metric=chosen.metric,
        sign=chosen.sign,
        min_effect=spec.min_effect,
    )


def _middle(spreads: Sequence[Spread]) -> Spread | None:
    return _spread(spreads) if spreads else None


def _spread(spreads: Sequence[Spread]) -> Spread:
    return Spread(
        p50_ms=median(spread.p50_ms for spread in spreads),
        p95_ms=median(spread.p95_ms for spread in spreads),
        max_ms=median(spread.max_ms for spread in spreads),
    )


def _proxy(seen: Sequence[ProxyTimes]) -> ProxyTimes | None:
    if not seen:
        return None
    by_status: Counter[str] = Counter()
    for window in seen:
        by_status.update(window.by_status)
    return ProxyTimes(
        requests=sum(window.requests for window in seen),
        by_status=dict(sorted(by_status.items())),
        connect=_spread([window.connect for window in seen]),
        header=_spread([window.header for window in seen]),
        response=_spread([window.response for window in seen]),
        request=_spread([window.request for window in seen]),
    )


def _over_limit(windows: Sequence[Window]) -> float | None:
    """Share of all requests of all windows; windows count alike where no number is known."""
    known = [(w.over_limit, w.sent) for w in windows if w.over_limit is not None]
    if not known:
        return None
    sent = sum(count for _, count in known)
    return sum(s * n for s, n in known) / sent if sent else fmean(s for s, _ in known)


def _failure(rung: _Rung, number: TrialNumber) -> Failure | None:
    """Why the file was not measured to the end; the last reason where there are several."""
    failures = [block.failure for block in rung.blocks if block.broken_trial == number]
    return failures[-1] if failures else None
