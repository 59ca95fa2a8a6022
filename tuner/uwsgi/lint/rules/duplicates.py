"""Options that are set more than once: of a scalar the last line counts."""

from collections.abc import Iterator, Sequence

from tuner.uwsgi.ini import INCLUDES, as_int, is_true
from tuner.uwsgi.lint.finding import Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, quoted, removed
from tuner.uwsgi.lint.rules.placeholders import referenced
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options.option import Kind

_SCALARS = frozenset({Kind.FLAG, Kind.INTEGER, Kind.TEXT})


def _groups(subject: Subject) -> Iterator[Sequence[Entry]]:
    """Unconditional lines of one scalar option in one section, where there are several."""
    groups: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in subject.entries:
        if entry.option and entry.option.kind in _SCALARS and not entry.is_conditional:
            groups.setdefault((entry.name, entry.line.section), []).append(entry)
    return (group for group in groups.values() if len(group) > 1)


def _means(entry: Entry) -> str | int | bool:
    """What uWSGI makes of the value: `2 ; two` is 2."""
    kind = entry.option.kind if entry.option else Kind.TEXT
    if kind is Kind.TEXT or is_dynamic(entry.value):
        return entry.value
    return is_true(entry.value) if kind is Kind.FLAG else as_int(entry.value)


def _overridden(subject: Subject) -> Iterator[Hit]:
    used = referenced(subject)
    for group in _groups(subject):
        last = group[-1]
        for entry in group[:-1]:
            if _means(entry) == _means(last):
                continue
            # %(name) takes the first line of that very name, which may be this one.
            fix = removed([entry.number], "leave this line out", is_safe=entry.key not in used)
            message = (
                f"{quoted(entry.value)} never counts for {entry.key}: "
                f"line {last.number} sets it to {quoted(last.value)}"
            )
            yield Hit(line=entry.number, message=message, fix=fix)


def _repeated(subject: Subject) -> Iterator[Hit]:
    used = referenced(subject)
    for group in _groups(subject):
        if any(_means(entry) != _means(group[0]) for entry in group):
            continue
        for entry in group[1:]:
            is_safe = entry.key == group[0].key or entry.key not in used
            fix = removed([entry.number], "leave this line out", is_safe=is_safe)
            message = f"line {group[0].number} says the same of {entry.key}"
            yield Hit(line=entry.number, message=message, fix=fix)
    yield from _repeated_items(subject)


def _repeated_items(subject: Subject) -> Iterator[Hit]:
    seen: dict[tuple[str, str, str | None], int] = {}
    for entry in subject.entries:
        is_list = entry.option is not None and entry.option.kind is Kind.LIST
        if not is_list or entry.is_conditional or entry.key in INCLUDES:
            continue
        earlier = seen.setdefault((entry.name, entry.value, entry.line.section), entry.number)
        if earlier != entry.number:
            message = f"line {earlier} says the same, so {entry.key} has it twice"
            fix = removed([entry.number], "leave this line out", is_safe=False)
            yield Hit(line=entry.number, message=message, fix=fix)


RULES = (
    Rule(
        id="U037",
        name="overridden",
        severity=Severity.WARNING,
        why="Of several lines the last one counts, under whichever of its names the option is "
        "set. The others mislead whoever reads or changes the file.",
        example=file_of("workers = 2", "threads = 2", "processes = 4"),
        better=file_of("threads = 2", "processes = 4"),
        evidence="core/config.c uwsgi_configure goes through all lines in order, and each setter "
        "writes the same variable.",
        look=_overridden,
    ),
    Rule(
        id="U038",
        name="repeated",
        severity=Severity.NOTE,
        why="The second line changes nothing, until somebody changes the first one only.",
        example=file_of("processes = 2", "vacuum = true", "vacuum = true"),
        better=file_of("processes = 2", "vacuum = true"),
        evidence="core/config.c uwsgi_configure.",
        look=_repeated,
    ),
)
