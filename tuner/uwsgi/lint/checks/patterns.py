"""Checks that several rules share, with the option as data."""

from collections.abc import Callable, Iterator

from tuner.uwsgi.ini import Problem
from tuner.uwsgi.lint.finding import Fix, added, removed, set_to, top_of
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Entry, Subject, is_absent, is_off, switched_off

Find = Callable[..., Entry | None]
"""`positive` or `switched_on`: how an option is on."""


def advised(
    rule: str,
    find: Callable[..., Entry | tuple[Entry, ...] | None],
    *options: str,
    when: Callable[[Subject, Entry], bool] | None = None,
    fix: Callable[[Entry], Fix] | None = None,
) -> None:
    """The entries that `find` gives, if `when` holds; without `fix`, the page has the advice."""

    def hits(subject: Subject) -> Iterator[Hit]:
        found = find(subject, *options)
        entries = found if isinstance(found, tuple) else (found,) if found else ()
        chosen = (entry for entry in entries if when is None or when(subject, entry))
        return (hit(entry, fix and fix(entry)) for entry in chosen)

    check(rule)(hits)


def discouraged(rule: str, find: Find, option: str) -> None:
    """The option is on, and should not be; the page's advice says why to remove it."""

    advised(rule, find, option, fix=lambda entry: removed(entry, ""))


def needs(rule: str, find: Find, option: str, *partners: str) -> None:
    """The option is on, and all its partners are off; the fix adds the first one."""

    def hits(subject: Subject) -> Iterator[Hit]:
        entry = find(subject, option)
        if entry and all(is_off(subject, partner) for partner in partners):
            yield hit(entry, added(subject, f"{partners[0]} = true"))

    check(rule)(hits)


def missing(rule: str, option: str, applies: Callable[[Subject], bool]) -> None:
    """A flag that is off or absent, and should be on."""

    def hits(subject: Subject) -> Iterator[Hit]:
        off = switched_off(subject, option)
        if not applies(subject) or not (off or is_absent(subject, option)):
            return
        fix = set_to(off, "true", "turn it on") if off else added(subject, f"{option} = true")
        yield Hit(off.number if off else top_of(subject), fix=fix)

    check(rule)(hits)


def problem(rule: str, *codes: str) -> None:
    """The reader reports one of these problems."""
    check(rule)(lambda subject: (Hit(p.line, p.message) for p in with_code(subject, *codes)))


def with_code(subject: Subject, *codes: str) -> list[Problem]:
    """The problems of these kinds that the reader reports, by line."""
    return [problem for problem in subject.problems if problem.code in codes]
