"""The capacities of a comparison: a sentence, the curve and its table for each file."""

from collections.abc import Sequence

from tuner.nouns import wording
from tuner.nouns.model import ArmReport, Capacity, CapacityReport, Workload
from tuner.show import charts
from tuner.show.evidence.document import Code, Paragraph, Part, Picture, Section, Strong, Table


def capacity(arms: Sequence[ArmReport], workload: Workload) -> Section | None:
    """None where the workload does not look for it."""
    found = {arm.name: arm.capacity for arm in arms if arm.capacity is not None}
    if not isinstance(workload, Capacity) or not found:
        return None
    parts: list[Part] = []
    if any(own.points for own in found.values()):
        points = {name: own.points for name, own in found.items()}
        parts.append(Picture(charts.capacity_chart(workload.limit, points)))
    first = arms[0].name
    for name, own in found.items():
        parts += _of_file(name, own, first)
    return Section(title="Capacity", parts=tuple(parts))


def _of_file(name: str, found: CapacityReport, first: str) -> list[Part]:
    ratio = f"; {wording.capacity_ratio(found)} of {first}" if found.ratio is not None else ""
    rows = tuple(
        (*wording.capacity_cells(point), "late" if point.is_late else "") for point in found.points
    )
    notes = (Paragraph(f"{note}.", is_quiet=True) for note in found.notes)
    sentence = Paragraph((Code(name), " ", Strong(found.sentence), f"{ratio}."))
    return [sentence, Table((*wording.CAPACITY_COLUMNS, ""), rows), *notes]
