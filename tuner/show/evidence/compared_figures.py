"""The figures of a comparison, metric by metric: a chart of all arms, and its figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tuner.nouns import wording
from tuner.nouns.model import (
    APP,
    ArmReport,
    Effect,
    Figure,
    JobSpec,
    Metric,
    OverTime,
    Rung,
    RungReport,
    UsageSeries,
)
from tuner.show import charts
from tuner.show.evidence.document import (
    Code,
    Folded,
    Part,
    Picture,
    Row,
    Section,
    Strong,
    Table,
    Words,
)

_CHARTED = (
    Metric.THROUGHPUT_RPS,
    Metric.LATENCY_P95_MS,
    Metric.ERROR_RATE,
    Metric.TARGET_CPU,
    Metric.MEMORY_PEAK_MB,
)
_TRIMMED = "Trimmed mean: without the highest and the lowest block, as benchmark articles have it"

_KB_PER_MB = 1024

ByArm = Mapping[str, Sequence[Figure]]
"""The figures of one metric, rung by rung."""


def charted(arms: Sequence[ArmReport]) -> Iterator[Section]:
    """The metrics that articles draw."""
    kb = _sizes_kb(arms)
    for metric in _CHARTED:
        found = _of_metric(arms, metric)
        if any(found.values()):
            parts = (Picture(_chart(metric, found, kb)), *_tables(found))
            yield Section(title=_title(metric), parts=parts)


def relative(arms: Sequence[ArmReport], metric: Metric) -> Section | None:
    """Each arm in percent of the first and of the best one, rung by rung; None without rungs."""
    first, *others = arms
    of_first = {arm.name: [*_in_percent(arm, metric, lambda rung: rung.effect)] for arm in others}
    if not any(of_first.values()):
        return None
    measured = {found.rung for found in first.figures if found.metric is metric}
    own = [
        _part(metric, each.rung, 1.0, None, None) for each in first.rungs if each.rung in measured
    ]
    label = f"{wording.COLUMNS[metric].partition(',')[0]}, % of {first.name}"
    lines = {first.name: own, **of_first}
    chart = charts.ladder_chart(metric, lines, label=label, kb=_sizes_kb(arms))
    of_best = {
        arm.name: [*_in_percent(arm, metric, lambda rung: rung.against_best)] for arm in arms
    }
    best = ", ".join(
        f"{each.best} at {wording.rung(each.rung)}" for each in first.rungs if each.best
    )
    parts = (
        Picture(chart),
        *_tables(of_first),
        Folded(f"In percent of the best arm: {best}", tuple(_tables(of_best))),
    )
    return Section(title=f"In percent of {first.name}, rung by rung", parts=parts)


def _in_percent(
    arm: ArmReport, metric: Metric, effect_of: Callable[[RungReport], Effect | None]
) -> Iterator[Figure]:
    """The effects of an arm as parts of another one."""
    for rung in arm.rungs:
        effect = effect_of(rung)
        if effect is not None:
            ends = (None if end is None else 1 + end for end in (effect.ci_low, effect.ci_high))
            yield _part(metric, rung.rung, 1 + effect.estimate, *ends)


def _part(metric: Metric, rung: Rung, part: float, low: float | None, high: float | None) -> Figure:
    """A part of another figure, in percent, as the columns of the metric show it."""
    factor = 1 if metric.is_share else 100
    ends = (None if end is None else factor * end for end in (low, high))
    return Figure(
        metric=metric, value=factor * part, ci_low=next(ends), ci_high=next(ends), rung=rung
    )


def _sizes_kb(arms: Sequence[ArmReport]) -> Mapping[Rung, float]:
    """How large the answers are at each rung, by the first arm that has figures there."""
    found: dict[Rung, float] = {}
    for arm in arms:
        by_metric = {(f.metric, f.rung): f.value for f in arm.figures}
        for rung in arm.rungs:
            kb_s = _KB_PER_MB * by_metric.get((Metric.MB_PER_S, rung.rung), 0.0)
            rate = by_metric.get((Metric.THROUGHPUT_RPS, rung.rung), 0.0)
            if kb_s and rate:
                found.setdefault(rung.rung, kb_s / rate)
    return found


def others(arms: Sequence[ArmReport]) -> Iterator[Section]:
    """All other metrics, without a chart."""
    for metric in Metric:
        found = _of_metric(arms, metric)
        if metric not in _CHARTED and any(found.values()):
            yield Section(title=_title(metric), parts=tuple(_tables(found)), is_evidence=True)


def _of_metric(arms: Sequence[ArmReport], metric: Metric) -> ByArm:
    return {arm.name: [f for f in arm.figures if f.metric is metric] for arm in arms}


def _title(metric: Metric) -> str:
    name = wording.METRICS[metric]
    return f"{name[:1].upper()}{name[1:]}"


def _chart(metric: Metric, found: ByArm, kb: Mapping[Rung, float]) -> str:
    if _rungs(found):
        return charts.ladder_chart(metric, found, kb=kb)
    return charts.arms_chart(metric, {name: own[0] for name, own in found.items() if own})


def _tables(found: ByArm) -> Iterator[Part]:
    """A row for each arm; with a column for each rung where there are several."""
    rungs = _rungs(found)
    if not rungs:
        rows = tuple(_alone(name, own[0]) for name, own in found.items() if own)
        unit = next(wording.COLUMNS[f.metric] for own in found.values() for f in own)
        yield Table(("arm", unit, "95 % interval", "trimmed mean"), rows)
        return
    headings = ("arm", *(wording.rung(rung) for rung in rungs))
    yield Table(headings, tuple(_over(rungs, name, own, _whole) for name, own in found.items()))
    if any(figure.trimmed_mean is not None for own in found.values() for figure in own):
        rows = tuple(_over(rungs, name, own, _trimmed) for name, own in found.items())
        yield Folded(_TRIMMED, (Table(headings, rows),))


def _alone(name: str, found: Figure) -> Row:
    value = wording.measured(found.value, found.metric)
    return (Code(name), Strong(value), wording.ends(found), _trimmed(found))


def _rungs(found: ByArm) -> list[Rung]:
    """In the order of the load."""
    names = dict.fromkeys(figure.rung for own in found.values() for figure in own)
    rungs = [rung for rung in names if rung is not None]
    return sorted(rungs, key=lambda rung: rung if isinstance(rung, int) else 0)


def _over(
    rungs: Sequence[Rung], name: str, own: Sequence[Figure], shown: Callable[[Figure], Words]
) -> Row:
    """One arm, rung by rung."""
    by_rung = {figure.rung: figure for figure in own}
    return (Code(name), *(shown(by_rung[rung]) if rung in by_rung else "-" for rung in rungs))


def _whole(found: Figure) -> Words:
    return (Strong(wording.measured(found.value, found.metric)), f" ({wording.ends(found)})")


def _trimmed(found: Figure) -> str:
    known = found.trimmed_mean is not None
    return wording.measured(found.trimmed_mean, found.metric) if known else "-"


# ---- How one window of each arm went: CPU, memory and listen queue over its seconds; pages only

_CPU, _MEMORY = wording.COLUMNS[Metric.TARGET_CPU], wording.COLUMNS[Metric.MEMORY_MB]
_NOT_WATCHED = OverTime()
_NOT_SEEN = UsageSeries()

Lines = Mapping[str, Sequence[float]]
"""The values of each arm, step by step; none where they are unknown."""


def over_seconds(arms: Sequence[ArmReport], spec: JobSpec) -> Section | None:
    """A chart for each figure, with a line for each arm; None where no arm has a series."""
    drawn = [*_charts(arms, [box.cpus for box in spec.boxes])]
    if not drawn:
        return None
    rung = next(arm.typical.rung for arm in arms if arm.typical is not None)
    at = f" at {wording.rung(rung)}" if rung is not None else ""
    caption = (
        f"Here and below, a line is one window of an arm: its window of median throughput{at}."
        " There is a value for each quarter of a second."
    )
    parts = (Picture(drawn[0], caption), *map(Picture, drawn[1:]))
    return Section(title="Over the seconds of a window", parts=parts, is_evidence=True)


def _charts(arms: Sequence[ArmReport], cpus: Sequence[float]) -> Iterator[str]:
    """Charts of the app, then of each service; `cpus` are the CPU limits of the arms."""
    seen = {arm.name: arm.typical.over_time if arm.typical else _NOT_WATCHED for arm in arms}
    services = dict.fromkeys(name for own in seen.values() for name in own.usage if name != APP)

    def lines(name: str, values: Callable[[UsageSeries], Sequence[float]]) -> Lines:
        return {arm: values(own.usage.get(name, _NOT_SEEN)) for arm, own in seen.items()}

    cores = lines(APP, lambda used: used.cores).items()
    of_limit = {
        arm: [100 * value / limit for value in values]
        for (arm, values), limit in zip(cores, cpus, strict=True)
    }
    yield from _over_seconds("CPU", _CPU, of_limit)
    yield from _over_seconds("Memory", _MEMORY, lines(APP, lambda used: used.memory_mb))
    queues = {arm: own.queue for arm, own in seen.items()}
    yield from _over_seconds("Listen queue", "connections that wait", queues)
    for name in services:
        of_one = lines(name, lambda used: [100 * value for value in used.cores])
        yield from _over_seconds(f"CPU of service {name}", "CPU, % of one core", of_one)
        memory = lines(name, lambda used: used.memory_mb)
        yield from _over_seconds(f"Memory of service {name}", _MEMORY, memory)


def _over_seconds(title: str, unit: str, lines: Lines) -> Iterator[str]:
    """Nothing where no arm has a value."""
    if any(lines.values()):
        yield charts.seconds_chart(title, unit, lines)
