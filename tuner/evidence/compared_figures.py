"""The figures of a comparison, metric by metric: a chart of all arms, and its figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tuner import charts, wording
from tuner.evidence.document import Code, Folded, Part, Picture, Row, Section, Strong, Table, Words
from tuner.model import ArmReport, Figure, Metric

_CHARTED = (
    Metric.THROUGHPUT_RPS,
    Metric.LATENCY_P95_MS,
    Metric.ERROR_RATE,
    Metric.TARGET_CPU,
    Metric.MEMORY_PEAK_MB,
)
_TRIMMED = "Trimmed mean: without the highest and the lowest block, as benchmark articles have it"

ByArm = Mapping[str, Sequence[Figure]]
"""The figures of one metric, rung by rung."""


def charted(arms: Sequence[ArmReport]) -> Iterator[Section]:
    """The metrics that articles draw."""
    for metric in _CHARTED:
        found = _of_metric(arms, metric)
        if any(found.values()):
            parts = (Picture(_chart(metric, found)), *_tables(found))
            yield Section(title=_title(metric), parts=parts)


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


def _chart(metric: Metric, found: ByArm) -> str:
    if any(figure.concurrency for figures in found.values() for figure in figures):
        return charts.ladder_chart(metric, found)
    return charts.arms_chart(metric, {name: own[0] for name, own in found.items() if own})


def _tables(found: ByArm) -> Iterator[Part]:
    """A row for each arm; of a ladder a column for each rung."""
    rungs = sorted({f.concurrency for own in found.values() for f in own if f.concurrency})
    if not rungs:
        rows = tuple(_alone(name, own[0]) for name, own in found.items() if own)
        unit = next(wording.COLUMNS[f.metric] for own in found.values() for f in own)
        yield Table(("arm", unit, "95 % interval", "trimmed mean"), rows)
        return
    headings = ("arm", *(wording.count(rung, "connection") for rung in rungs))
    yield Table(headings, tuple(_over(rungs, name, own, _whole) for name, own in found.items()))
    if any(figure.trimmed_mean is not None for own in found.values() for figure in own):
        rows = tuple(_over(rungs, name, own, _trimmed) for name, own in found.items())
        yield Folded(_TRIMMED, (Table(headings, rows),))


def _alone(name: str, found: Figure) -> Row:
    value = wording.measured(found.value, found.metric)
    return (Code(name), Strong(value), wording.ends(found), _trimmed(found))


def _over(
    rungs: Sequence[int], name: str, own: Sequence[Figure], shown: Callable[[Figure], Words]
) -> Row:
    """One arm, rung by rung."""
    by_rung = {figure.concurrency: figure for figure in own}
    return (Code(name), *(shown(by_rung[rung]) if rung in by_rung else "-" for rung in rungs))


def _whole(found: Figure) -> Words:
    return (Strong(wording.measured(found.value, found.metric)), f" ({wording.ends(found)})")


def _trimmed(found: Figure) -> str:
    known = found.trimmed_mean is not None
    return wording.measured(found.trimmed_mean, found.metric) if known else "-"
