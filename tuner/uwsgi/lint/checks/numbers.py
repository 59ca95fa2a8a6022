"""Numbers: uWSGI reads them up to the first character that is no digit."""

import re
from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.edits import comment_at, comment_moved_up, quoted, set_to
from tuner.uwsgi.lint.finding import Fix
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options.option import Kind

_NUMBER = re.compile(r"([+-]?)([0-9]+)(.*)", re.DOTALL)
_MAY_BE_NEGATIVE = frozenset({"prio"})
_IN_MEGABYTES = re.compile(r"(evil-)?reload-on-(as|rss)|limit-as")
_IN_16_BITS = frozenset({"buffer-size", "legion-scroll-max-size", "forkptyrouter-rows"})
_MOST_IN_16_BITS = 65_535
_FACTORS = {"k": 1024, "m": 1024**2, "g": 1024**3}
_SECONDS = frozenset({"s", "sec", "secs", "second", "seconds"})
_OF_OTHER_RULES = frozenset({"processes"})  # no-workers reports these


def _numbers(subject: Subject) -> Iterator[tuple[Entry, re.Match[str] | None]]:
    for entry in subject.entries:
        if entry.option and entry.option.kind is Kind.INTEGER and not entry.is_dynamic:
            yield entry, _NUMBER.match(entry.value)


@check("not-a-number")
def no_numbers(subject: Subject) -> Iterator[Hit]:
    for entry, number in _numbers(subject):
        if number is None and entry.name not in _OF_OTHER_RULES:
            yield hit(entry)


@check("number-with-unit")
def units(subject: Subject) -> Iterator[Hit]:
    for entry, number in _numbers(subject):
        rest = number.group(3).strip() if number else ""
        if number is None or not rest or rest[0] in ";#" or _is_own_unit(entry, rest):
            continue
        yield hit(entry, _converted(entry, number), rest=quoted(rest))


def _is_own_unit(entry: Entry, rest: str) -> bool:
    """Whether the number means the same with and without the unit."""
    unit = rest.lower()
    if _IN_MEGABYTES.fullmatch(entry.name):
        return unit in ("m", "mb", "mib")
    return unit in _SECONDS or (unit == "ms" and entry.name == "log-slow")


def _converted(entry: Entry, number: re.Match[str]) -> Fix:
    rest = number.group(3).strip().lower()
    unit = _FACTORS.get(rest[0]) if rest in (rest[0], f"{rest[0]}b", f"{rest[0]}ib") else None
    if unit is None or _IN_MEGABYTES.fullmatch(entry.name) or len(number.group(2)) > 9:
        return Fix("write the number with digits only")
    meant = str(int(number.group(2)) * unit)
    return set_to(entry, meant, f"write {meant}, if you mean that")


@check("comment-after-number")
def commented(subject: Subject) -> Iterator[Hit]:
    for entry, number in _numbers(subject):
        at = comment_at(entry.value, spaced=False)
        if number is None or at is None or number.group(3).strip()[:1] not in (";", "#"):
            continue
        yield hit(entry, comment_moved_up(entry, at))


@check("negative-number")
def negative(subject: Subject) -> Iterator[Hit]:
    for entry, number in _numbers(subject):
        is_below = number is not None and number.group(1) == "-" and as_int(entry.value) < 0
        if is_below and entry.name not in _MAY_BE_NEGATIVE:
            yield hit(entry)


@check("sixteen-bits")
def too_large(subject: Subject) -> Iterator[Hit]:
    for entry, _ in _numbers(subject):
        if entry.name in _IN_16_BITS and as_int(entry.value) > _MOST_IN_16_BITS:
            most = str(_MOST_IN_16_BITS)
            yield hit(entry, set_to(entry, most, f"write {most}", is_safe=True))
