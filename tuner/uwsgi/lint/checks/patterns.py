"""Checks that several rules share, with the option and the message as data.

A message may contain `{key}`, the option as the file spells it, and `{value}`.
"""

from collections.abc import Callable, Iterator

from tuner.uwsgi.lint.certainty import is_absent, is_off, switched_off
from tuner.uwsgi.lint.edits import added, removed, set_to, top_of
from tuner.uwsgi.lint.finding import Fix
from tuner.uwsgi.lint.rule import Check, Hit, check
from tuner.uwsgi.lint.subject import Entry, Subject

Find = Callable[..., Entry | None]
"""`positive` or `switched_on`: how an option is on."""


def discouraged(rule: str, find: Find, option: str, message: str, advice: str) -> None:
    """The option is on, and should not be."""

    def hits(subject: Subject) -> Iterator[Hit]:
        entry = find(subject, option)
        if entry:
            said = message.format(key=entry.key, value=entry.value)
            yield Hit(entry.number, said, removed(entry, advice))

    check(rule)(hits)


def needs(rule: str, find: Find, option: str, partners: tuple[str, ...], message: str) -> None:
    """The option is on, and all its partners are off; the fix adds the first one."""

    def hits(subject: Subject) -> Iterator[Hit]:
        entry = find(subject, option)
        if entry and all(is_off(subject, partner) for partner in partners):
            fix = added(subject, f"{partners[0]} = true")
            yield Hit(entry.number, message.format(key=entry.key), fix)

    check(rule)(hits)


def missing(rule: str, option: str, applies: Callable[[Subject], bool], message: str) -> None:
    """A flag that is off or absent, and should be on."""

    def hits(subject: Subject) -> Iterator[Hit]:
        off = switched_off(subject, option)
        if not applies(subject) or not (off or is_absent(subject, option)):
            return
        fix = set_to(off, "true", "turn it on") if off else added(subject, f"{option} = true")
        yield Hit(off.number if off else top_of(subject), message, fix)

    check(rule)(hits)


def problem(rule: str, *codes: str, advice: str = "") -> Check:
    """The reader reports one of these problems."""

    def hits(subject: Subject) -> Iterator[Hit]:
        fix = Fix(advice) if advice else None
        return (Hit(p.line, p.message, fix) for p in subject.problems if p.code in codes)

    return check(rule)(hits)
