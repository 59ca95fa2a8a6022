"""Steps and grids: which files are compared with which, and where a curve stops rising.

Each file is compared with the first one. Steps are also compared with the step before, and the
files of a grid with each other along their curve.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tuner.nouns import wording
from tuner.nouns.model import (
    BASELINE,
    BOX_SIZES,
    ArmReport,
    Bottleneck,
    Comparison,
    Curve,
    Doubt,
    JobSpec,
    TrialNumber,
    Verdict,
)
from tuner.uwsgi.ini import IniFile

Arms = tuple[TrialNumber, ...]
Compared = Callable[[TrialNumber, TrialNumber], Comparison]
"""A file against another one, by the job's objective, in the blocks that have both."""

_CAUSES: Mapping[Bottleneck, str] = {
    Bottleneck.CPU_QUOTA: "the box's CPU is full",
    Bottleneck.GIL: "each process fills a core",
    Bottleneck.IO_WAIT: "all slots wait for something outside of the box",
    Bottleneck.BACKLOG: "connections wait in the kernel while slots are free",
    Bottleneck.MEMORY: "the box's memory is full",
    Bottleneck.ROUTER: "uWSGI's http router fills its core",
    Bottleneck.LOG_SINK: "the log is the limit",
    Bottleneck.LOCK_CONTENTION: "the processes wake each other for every request",
    Bottleneck.LOAD_GENERATOR: "the load generator is full, not the box",
    Bottleneck.BACKING_SERVICE: "a service beside the app is full",
    Bottleneck.CONCURRENCY: "every connection has a slot of its own",
    Bottleneck.APP_ERRORS: "requests fail",
    Bottleneck.UNKNOWN: "nothing that was watched is full",
}
_ASKS_FOR_MORE = (Bottleneck.IO_WAIT, Bottleneck.UNKNOWN)
"""Classes that do not explain why more does not help; the next level may have another class."""


@dataclass(frozen=True, slots=True)
class Line:
    """Files that differ in one number alone, in its order: a `Curve` before it is measured."""

    over: str
    at: Mapping[str, str]
    levels: tuple[float, ...]
    arms: Arms


def lines(spec: JobSpec) -> tuple[Line, ...]:
    """The lines of a grid; none if nothing that it varies is a number in every file.

    A line follows the first such option, else the first such limit.
    """
    chosen = [_values(spec, number) for number in range(len(spec.variants))]
    names = sorted(spec.vary, key=lambda name: name in BOX_SIZES)
    over = next((n for n in names if all(_is_number(each[n]) for each in chosen)), None)
    if over is None:
        return ()
    found: dict[tuple[tuple[str, str], ...], list[tuple[float, TrialNumber]]] = {}
    for number, values in enumerate(chosen):
        at = tuple((name, value) for name, value in values.items() if name != over)
        found.setdefault(at, []).append((float(values[over]), TrialNumber(number)))
    return tuple(_line(over, dict(at), sorted(points)) for at, points in found.items())


def before(spec: JobSpec) -> dict[TrialNumber, TrialNumber]:
    """The file before each file: the step before, or the next lower level of its line."""
    arms = [line.arms for line in lines(spec)]
    if spec.compare_with == "previous":
        arms = [tuple(TrialNumber(number) for number in range(len(spec.variants)))]
    return {own: last for each in arms for last, own in pairwise(each)}


def groups(spec: JobSpec) -> tuple[Arms, ...]:
    """The files that are measured in the same blocks, besides the first file, which is in all."""
    if spec.compare_with == "previous":
        return tuple((last, own) for own, last in before(spec).items()) or ((BASELINE,),)
    own = tuple((TrialNumber(number),) for number in range(1, len(spec.variants)))
    return tuple(line.arms for line in lines(spec)) or own or ((BASELINE,),)


def curves(spec: JobSpec, reports: Sequence[ArmReport], compared: Compared) -> tuple[Curve, ...]:
    """The curve of each line with more than one level, judged by the objective's metric."""
    return tuple(
        _curve(spec, reports, compared, line) for line in lines(spec) if len(line.levels) > 1
    )


def repeated(spec: JobSpec) -> str | None:
    """Two files with the same values, by name; None if each has its own."""
    seen: dict[str, str] = {}
    for number, variant in enumerate(spec.variants):
        values = str(_values(spec, TrialNumber(number)))
        if values in seen:
            return f"{seen[values]} and {variant.name}"
        seen[values] = variant.name
    return None


def _values(spec: JobSpec, number: int) -> dict[str, str]:
    """What a file has of all that varies; empty for an option that is not set."""
    ini, box = IniFile.parse(spec.variants[number].ini or ""), spec.boxes[number]
    return {
        name: _text(getattr(box, name)) if name in BOX_SIZES else ini.get(name) or ""
        for name in spec.vary
    }


def _is_number(value: str) -> bool:
    return value.replace(".", "", 1).isdecimal()


def _text(level: float) -> str:
    """4 and 4.0 as `4`, 0.5 as `0.5`."""
    return f"{level:.10g}"


def _line(over: str, at: Mapping[str, str], points: Sequence[tuple[float, TrialNumber]]) -> Line:
    return Line(over, at, tuple(level for level, _ in points), tuple(arm for _, arm in points))


def _curve(spec: JobSpec, reports: Sequence[ArmReport], compared: Compared, line: Line) -> Curve:
    """Where a line stops rising; levels that did not run count for nothing."""
    points = zip(line.levels, line.arms, strict=True)
    ran = [(level, arm) for level, arm in points if reports[arm].blocks]
    enough, sentence = None, "too few levels were measured"
    if len(ran) > 1:
        at, later = _knee([arm for _, arm in ran], compared)
        levels = [_text(level) for level, _ in ran]
        sentence = _still_rises(line.over, levels)
        if later:
            enough = None if Verdict.INCONCLUSIVE in later else ran[at][0]
            cause = _cause([reports[arm] for _, arm in ran[at:]])
            stop = _stop(line.over, levels[at], later, spec.min_effect)
            sentence = f"{stop}: {cause}{_harm(levels[at + 1 :], later)}"
    return Curve(
        over=line.over,
        at=line.at,
        levels=line.levels,
        arms=tuple(reports[arm].name for arm in line.arms),
        enough=enough,
        sentence=sentence,
    )


def _knee(arms: Sequence[TrialNumber], compared: Compared) -> tuple[int, list[Verdict]]:
    """The first of the arms that no later one beats, and the verdicts on the later ones."""
    tried = (
        (at, [compared(later, arm).verdict for later in arms[at + 1 :]])
        for at, arm in enumerate(arms)
    )
    return next((at, later) for at, later in tried if Verdict.BETTER not in later)


def _stop(over: str, level: str, later: Sequence[Verdict], min_effect: float) -> str:
    """`more than 4 processes stop helping`, unless too much noise is left to say that."""
    is_counted, is_one = over.endswith("s"), level == "1"
    noun = over.removesuffix("es" if over.endswith("sses") else "s") if is_one else over
    more = f"more than {level} {noun}" if is_counted else f"{over} above {level}"
    s = "" if is_counted and not is_one else "s"
    if Verdict.INCONCLUSIVE in later:
        asked = wording.limit(min_effect)
        return f"{more} show{s} no gain, but the noise may hide one of {asked}"
    return f"{more} stop{s} helping"


def _still_rises(over: str, levels: Sequence[str]) -> str:
    last = f"{levels[-1]} {over} are" if over.endswith("s") else f"{over} {levels[-1]} is"
    return f"{last} better than {levels[-2]}: the curve still rises"


def _harm(levels: Sequence[str], later: Sequence[Verdict]) -> str:
    """Which of the later levels cost something."""
    worse = [
        level for level, verdict in zip(levels, later, strict=True) if verdict is Verdict.WORSE
    ]
    return f"; worse: {', '.join(worse)}" if worse else ""


def _cause(reports: Sequence[ArmReport]) -> str:
    """What limits the first of these levels; if that only asks for more, what limits the next."""
    found = [report.diagnosis.bottleneck for report in reports]
    named = next((each for each in found if each not in _ASKS_FOR_MORE), None)
    if named is None and Doubt.NOISY_HOST in reports[0].doubts:
        return "other work on the host hides why"
    return _CAUSES[named or found[0]]
