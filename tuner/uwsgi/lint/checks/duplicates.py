"""Options that several lines set: of a scalar, the last line wins."""

from collections.abc import Iterator, Sequence

from tuner.uwsgi.ini import INCLUDES, as_int, is_true
from tuner.uwsgi.lint.edits import quoted, removed
from tuner.uwsgi.lint.references import referenced
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options.option import Kind

_SCALARS = frozenset({Kind.FLAG, Kind.INTEGER, Kind.TEXT})


def _groups(subject: Subject) -> Iterator[Sequence[Entry]]:
    """The unconditional lines of one scalar in one section, when there are several."""
    groups: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in subject.entries:
        if entry.option and entry.option.kind in _SCALARS and not entry.is_conditional:
            groups.setdefault((entry.name, entry.line.section), []).append(entry)
    return (group for group in groups.values() if len(group) > 1)


def _means(entry: Entry) -> str | int | bool:
    """The value as uWSGI reads it: `2 ; two` is 2."""
    kind = entry.option.kind if entry.option else Kind.TEXT
    if kind is Kind.TEXT or entry.is_dynamic:
        return entry.value
    return is_true(entry.value) if kind is Kind.FLAG else as_int(entry.value)


@check("overridden")
def overridden(subject: Subject) -> Iterator[Hit]:
    used = referenced(subject)
    for group in _groups(subject):
        last = group[-1]
        for entry in group[:-1]:
            if _means(entry) == _means(last):
                continue
            # %(name) takes the first line with that very name, which may be this one.
            fix = removed(entry, is_safe=entry.key not in used)
            yield hit(entry, fix, last=last, last_quoted=quoted(last.value))


@check("repeated")
def repeated(subject: Subject) -> Iterator[Hit]:
    used = referenced(subject)
    for group in _groups(subject):
        if any(_means(entry) != _means(group[0]) for entry in group):
            continue
        for entry in group[1:]:
            fix = removed(entry, is_safe=entry.key == group[0].key or entry.key not in used)
            yield hit(entry, fix, first=group[0])
    yield from _repeated_items(subject)


def _repeated_items(subject: Subject) -> Iterator[Hit]:
    seen: dict[tuple[str, str, str | None], int] = {}
    for entry in subject.entries:
        is_list = entry.option is not None and entry.option.kind is Kind.LIST
        if not is_list or entry.is_conditional or entry.key in INCLUDES:
            continue
        earlier = seen.setdefault((entry.name, entry.value, entry.line.section), entry.number)
        if earlier != entry.number:
            message = f"line {earlier} already adds this value: {entry.key} has it twice"
            yield Hit(entry.number, message, removed(entry))
