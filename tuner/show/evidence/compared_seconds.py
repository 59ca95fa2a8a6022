"""How one window of each arm went: CPU, memory and listen queue over its seconds; pages only."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tuner.nouns import wording
from tuner.nouns.model import APP, ArmReport, JobSpec, Metric, OverTime, UsageSeries
from tuner.show import charts
from tuner.show.evidence.document import Picture, Section

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
    """Those of the app, then those of each service; `cpus` are the CPU limits of the arms."""
    seen = {arm.name: arm.typical.over_time if arm.typical else _NOT_WATCHED for arm in arms}
    services = dict.fromkeys(name for own in seen.values() for name in own.usage if name != APP)

    def lines(name: str, values: Callable[[UsageSeries], Sequence[float]]) -> Lines:
        return {arm: values(own.usage.get(name, _NOT_SEEN)) for arm, own in seen.items()}

    cores = lines(APP, lambda used: used.cores).items()
    of_limit = {
        arm: [100 * value / limit for value in values]
        for (arm, values), limit in zip(cores, cpus, strict=True)
    }
    yield from _chart("CPU", _CPU, of_limit)
    yield from _chart("Memory", _MEMORY, lines(APP, lambda used: used.memory_mb))
    queues = {arm: own.queue for arm, own in seen.items()}
    yield from _chart("Listen queue", "connections that wait", queues)
    for name in services:
        of_one = lines(name, lambda used: [100 * value for value in used.cores])
        yield from _chart(f"CPU of service {name}", "CPU, % of one core", of_one)
        memory = lines(name, lambda used: used.memory_mb)
        yield from _chart(f"Memory of service {name}", _MEMORY, memory)


def _chart(title: str, unit: str, lines: Lines) -> Iterator[str]:
    """Nothing where no arm has a value."""
    if any(lines.values()):
        yield charts.seconds_chart(title, unit, lines)
