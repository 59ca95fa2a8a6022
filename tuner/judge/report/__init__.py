"""Blocks of a comparison to its figures, file by file; the first file is the baseline.

Files of steps and grids are also compared with the file before them.

A figure is taken of each block first, then of all blocks: the block is the unit of replication.

    capacities   the highest rate within a limit, where the workload looks for it
    figures      one figure: of one block, and over blocks; block by block, as CSV
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import partial
from statistics import fmean, median

from tuner.judge import analysis, diagnosis, grids, objective
from tuner.judge.report import capacities
from tuner.judge.report.figures import (
    COMPARED,
    SHOWN,
    Part,
    csv_of,
    errors_of,
    figure_of,
    highest,
    typical,
    value_of,
)
from tuner.nouns import wording
from tuner.nouns.model import (
    BASELINE,
    ArmReport,
    Capacity,
    CapacityReport,
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
    Objective,
    Phase,
    ProxyTimes,
    Report,
    Rung,
    RungReport,
    Spread,
    StepEffect,
    TrialNumber,
    Window,
    at_rung,
    by_request,
    counted,
    rungs,
)

__all__ = ["build", "csv_of"]


@dataclass(frozen=True, slots=True)
class _AtRung:
    """The blocks of one rung, or of the only load; files whose starts differ much."""

    name: Rung | None
    blocks: Sequence[Measurement]
    unstable: Collection[TrialNumber]

    @classmethod
    def of(cls, blocks: Iterable[Measurement], name: Rung | None) -> "_AtRung":
        own = [b for b in blocks if b.block_options.rung == name]
        return cls(name, own, analysis.unstable_arms(own))

    def best(self, wanted: Objective) -> TrialNumber | None:
        """The arm with the best median of its blocks; None where no arm has one."""
        levels: dict[TrialNumber, float] = {}
        for number in dict.fromkeys(arm for block in self.blocks for arm in block.arms):
            values = (value_of(part, wanted.metric) for part in self.parts(number))
            known = [value for value in values if value is not None]
            if known:
                levels[number] = wanted.sign * median(known)
        return max(levels, key=lambda number: levels[number], default=None)

    def windows(self, number: TrialNumber) -> list[Window]:
        """All windows of one file."""
        return [window for block in self.blocks for window in block.windows_of(number)]

    def parts(self, number: TrialNumber) -> list[Part]:
        """The file's part of each block; blocks without a usable window of it are left out."""
        return [part for block in self.blocks if (part := block.counted_of(number))]

    def doubts(self, number: TrialNumber) -> tuple[Doubt, ...]:
        """The frequent ones, and how its starts differ."""
        unstable = (Doubt.UNSTABLE_START,) if number in self.unstable else ()
        return analysis.frequent(self.windows(number)) + unstable

    def ratios(self, number: TrialNumber, to: TrialNumber, metric: Metric) -> list[float]:
        """log(file / file `to`) of each block that has both."""
        found = []
        for block in self.blocks:
            pair = objective.at_equal_speed(block.counted_of(number) + block.counted_of(to))
            parts = [[w for w in pair if block.arms[w.arm] == each] for each in (number, to)]
            own, other = (value_of(part, metric) if part else None for part in parts)
            if own is not None and other is not None:
                found.append(math.log(own / other))
        return found


def build(history: History) -> Report:
    """The report of a comparison from the blocks measured so far."""
    spec, blocks = history.job.spec, history.blocks(Phase.COMPARE)
    places = [_AtRung.of(blocks, name) for name in rungs(spec.workload)]
    before = grids.before(spec)
    numbers = [TrialNumber(number) for number in range(len(spec.variants))]
    shown = highest(blocks, rungs(spec.workload))
    arms = tuple(
        replace(_arm(spec, places, number, before.get(number)), typical=typical(shown, number))
        for number in numbers
    )
    measured = max(sum(bool(block.windows) for block in place.blocks) for place in places)
    curves = grids.curves(spec, arms, partial(_compared, spec, places))
    return Report(arms=arms, blocks=measured, curves=curves)


def _capacity(
    spec: JobSpec, rungs: Sequence[_AtRung], number: TrialNumber
) -> CapacityReport | None:
    if not isinstance(spec.workload, Capacity):
        return None
    windows = [window for rung in rungs for window in rung.windows(number)]
    first = [window for rung in rungs for window in rung.windows(BASELINE)]
    return capacities.report(windows, spec.workload.limit, None if number == BASELINE else first)


def _arm(
    spec: JobSpec, rungs: Sequence[_AtRung], number: TrialNumber, before: TrialNumber | None
) -> ArmReport:
    windows = [window for rung in rungs for window in rung.windows(number)]
    usable = [*counted(windows)]
    capacity = _capacity(spec, rungs, number)
    is_first = number == BASELINE or capacity is not None  # its ratio is in the report of it
    return ArmReport(
        name=spec.variants[number].name,
        figures=() if capacity else _figures(rungs, number),  # each probe has another rate
        effects=() if is_first else _effects(rungs, number, BASELINE),
        verdict=None if is_first else _compared(spec, rungs, number, BASELINE).verdict,
        step=None if before is None else _step(spec, rungs, number, before),
        blocks=max(len(rung.parts(number)) for rung in rungs),
        windows=len(windows),
        requests=sum(window.requests for window in windows),
        errors_by_class=errors_of(windows),
        diagnosis=diagnosis.of_arm(windows, spec, number),
        doubts=tuple(dict.fromkeys(doubt for rung in rungs for doubt in rung.doubts(number))),
        services=diagnosis.services_of(usable),
        latency=Histogram.merged(window.histogram for window in usable),
        connect=_middle([w.connect for w in usable if w.connect is not None]),
        proxy=_proxy([window.proxy for window in usable if window.proxy is not None]),
        over_limit=_over_limit(usable),
        by_request=by_request(usable),
        rungs=tuple(
            _rung(spec, rung, rung.name, number) for rung in rungs if rung.name is not None
        ),
        capacity=capacity,
        failure=next(filter(None, (_failure(rung, number) for rung in rungs)), None),
    )


def _rung(spec: JobSpec, rung: _AtRung, name: Rung, number: TrialNumber) -> RungReport:
    windows, metric = rung.windows(number), spec.objective.metric
    there = spec.model_copy(update={"workload": at_rung(spec.workload, name)})
    best = rung.best(spec.objective)

    def against(other: TrialNumber | None) -> Effect | None:
        if other is None or other == number:
            return None
        return _effect(rung.ratios(number, other, metric), metric)

    return RungReport(
        rung=name,
        requests=sum(window.requests for window in windows),
        errors_by_class=errors_of(windows),
        bottleneck=diagnosis.of_arm(windows, there, number).bottleneck,
        doubts=rung.doubts(number),
        effect=against(BASELINE),
        best=None if best is None else spec.variants[best].name,
        against_best=against(best),
        failure=_failure(rung, number),
    )


def _figures(rungs: Sequence[_AtRung], number: TrialNumber) -> tuple[Figure, ...]:
    found = (
        figure_of(metric, parts, rung.name)
        for rung in rungs
        for parts in [rung.parts(number)]
        for metric in SHOWN
    )
    return tuple(figure for figure in found if figure is not None)


def _step(
    spec: JobSpec, rungs: Sequence[_AtRung], number: TrialNumber, before: TrialNumber
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


def _effects(rungs: Sequence[_AtRung], number: TrialNumber, to: TrialNumber) -> tuple[Effect, ...]:
    """Changes against the file `to`, of every metric with enough blocks for an interval."""
    found = (_effect(_ratios(rungs, number, to, metric), metric) for metric in COMPARED)
    return tuple(effect for effect in found if effect is not None)


def _effect(ratios: Sequence[float], metric: Metric) -> Effect | None:
    """None where the blocks are too few for an interval."""
    return analysis.effect_of(ratios, metric) if len(ratios) >= analysis.FEWEST_BLOCKS else None


def _ratios(
    rungs: Sequence[_AtRung], number: TrialNumber, to: TrialNumber, metric: Metric
) -> list[float]:
    """log(file / file `to`), round by round: the mean over the rungs.

    A rung with too few blocks is left out if others have enough: one of the two files broke there.
    """
    found = [rung.ratios(number, to, metric) for rung in rungs]
    enough = min(analysis.FEWEST_BLOCKS, max(map(len, found)))
    counted = (ratios for ratios in found if ratios and len(ratios) >= enough)
    return [fmean(of_round) for of_round in zip(*counted, strict=False)]


def _compared(
    spec: JobSpec, rungs: Sequence[_AtRung], number: TrialNumber, to: TrialNumber
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


def _failure(rung: _AtRung, number: TrialNumber) -> Failure | None:
    """Why the file was not measured to the end; the last reason where there are several."""
    failures = [block.failure for block in rung.blocks if block.broken_trial == number]
    return failures[-1] if failures else None
