"""Numbers, which uWSGI reads as far as there are digits."""

import re
from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import comment_at, file_of, is_dynamic, quoted, set_to
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options.option import Kind

_NUMBER = re.compile(r"([+-]?)([0-9]+)(.*)", re.DOTALL)
_MAY_BE_NEGATIVE = frozenset({"prio"})
_IN_MEGABYTES = re.compile(r"(evil-)?reload-on-(as|rss)|limit-as")
_IN_16_BITS = frozenset({"buffer-size", "legion-scroll-max-size", "forkptyrouter-rows"})
_MOST_IN_16_BITS = 65_535
_FACTORS = {"k": 1024, "m": 1024**2, "g": 1024**3}
_SECONDS = frozenset({"s", "sec", "secs", "second", "seconds"})
_NO_NUMBER = frozenset({"processes"})  # the rules on workers say what this does to them


def _numbers(subject: Subject) -> Iterator[tuple[Entry, re.Match[str] | None]]:
    for entry in subject.entries:
        if entry.option and entry.option.kind is Kind.INTEGER and not is_dynamic(entry.value):
            yield entry, _NUMBER.match(entry.value)


def _no_numbers(subject: Subject) -> Iterator[Hit]:
    for entry, number in _numbers(subject):
        if number is not None or entry.name in _NO_NUMBER:
            continue
        said = quoted(entry.value) if entry.value else "no value"
        message = f"{entry.key} wants a number: {said} counts as 0"
        yield Hit(line=entry.number, message=message, fix=Fix(sentence="write the number"))


def _units(subject: Subject) -> Iterator[Hit]:
    for entry, number in _numbers(subject):
        rest = number.group(3).strip() if number else ""
        if number is None or not rest or rest[0] in ";#" or _is_own_unit(entry, rest):
            continue
        read = as_int(entry.value)
        message = f"{entry.key} is {read}: uWSGI reads digits and drops {quoted(rest)}"
        yield Hit(line=entry.number, message=message, fix=_worked_out(entry, number))


def _is_own_unit(entry: Entry, rest: str) -> bool:
    """Whether the number means the same with the unit as without."""
    unit = rest.lower()
    if _IN_MEGABYTES.fullmatch(entry.name):
        return unit in ("m", "mb", "mib")
    return unit in _SECONDS or (unit == "ms" and entry.name == "log-slow")


def _worked_out(entry: Entry, number: re.Match[str]) -> Fix:
    rest = number.group(3).strip().lower()
    unit = _FACTORS.get(rest[0]) if rest in (rest[0], f"{rest[0]}b", f"{rest[0]}ib") else None
    if unit is None or _IN_MEGABYTES.fullmatch(entry.name) or len(number.group(2)) > 9:
        return Fix(sentence="write the number in digits alone")
    meant = str(int(number.group(2)) * unit)
    return set_to(entry, meant, f"write {meant}, if that is meant", is_safe=False)


def _commented(subject: Subject) -> Iterator[Hit]:
    from tuner.uwsgi.lint.rules.parts import comment_moved_up

    for entry, number in _numbers(subject):
        at = comment_at(entry.value, spaced=False)
        if number is None or at is None or number.group(3).strip()[:1] not in (";", "#"):
            continue
        read = as_int(entry.value)
        message = f"{entry.key} is {read} all the same, but the comment is part of the value"
        yield Hit(line=entry.number, message=message, fix=comment_moved_up(entry, at))


def _negative(subject: Subject) -> Iterator[Hit]:
    for entry, number in _numbers(subject):
        is_below = number is not None and number.group(1) == "-" and as_int(entry.value) < 0
        if not is_below or entry.name in _MAY_BE_NEGATIVE:
            continue
        fix = Fix(sentence="give a number from 0, or leave the option out")
        yield Hit(line=entry.number, message=f"{entry.key} may not be negative", fix=fix)


def _too_large(subject: Subject) -> Iterator[Hit]:
    for entry, _ in _numbers(subject):
        if entry.name not in _IN_16_BITS or as_int(entry.value) <= _MOST_IN_16_BITS:
            continue
        message = f"{entry.key} is 65535: it has 16 bits, and no more is said when it is cut"
        fix = set_to(entry, str(_MOST_IN_16_BITS), "write what it is", is_safe=True)
        yield Hit(line=entry.number, message=message, fix=fix)


RULES = (
    Rule(
        id="U028",
        name="comment-after-number",
        severity=Severity.NOTE,
        why="There are no inline comments. A number survives one, for reading stops at the first "
        "character that is no digit; the same habit changes the value of other options, and "
        "%(option) elsewhere takes the comment along.",
        example=file_of("processes = 2 ; one for each core"),
        better=file_of("; one for each core", "processes = 2"),
        evidence="core/uwsgi.c uwsgi_opt_set_int uses atoi; `--show-config` of 2.0.31 shows the "
        "comment as part of the value.",
        look=_commented,
    ),
    Rule(
        id="U029",
        name="not-a-number",
        severity=Severity.ERROR,
        why="Where uWSGI wants a number, a word or nothing at all is 0, without a message: "
        "`http-keepalive = true` switches keep-alive off.",
        example=file_of("processes = 2", "harakiri = true"),
        better=file_of("processes = 2", "harakiri = 30"),
        evidence="core/uwsgi.c uwsgi_opt_set_int uses atoi, which is 0 for what has no digits; in "
        "an ini file the value is never missing but empty (core/ini.c).",
        look=_no_numbers,
    ),
    Rule(
        id="U030",
        name="number-with-unit",
        severity=Severity.ERROR,
        why="uWSGI reads the digits at the start and drops the rest: `32k` is 32, `5,000` is 5 "
        "and `5m` is 5 seconds.",
        example=file_of("processes = 2", "buffer-size = 32k"),
        better=file_of("processes = 2", "buffer-size = 32768"),
        evidence="atoi and strtoul in core/uwsgi.c; 2.0.31 with `buffer-size = 32k` refuses every "
        "request as larger than 32 bytes.",
        look=_units,
    ),
    Rule(
        id="U031",
        name="negative-number",
        severity=Severity.ERROR,
        why="uWSGI refuses to start with most negative numbers; the options of 16 and 64 bits "
        "turn them into the largest ones instead.",
        example=file_of("processes = 2", "harakiri = -1"),
        better=file_of("processes = 2", "harakiri = 30"),
        evidence='2.0.31 ends with exit code 1: `invalid value for option "threads": must be > 0`.',
        look=_negative,
    ),
    Rule(
        id="U032",
        name="sixteen-bits",
        severity=Severity.WARNING,
        why="The option is kept in 16 bits: a larger number becomes 65535, and uWSGI says nothing.",
        example=file_of("processes = 2", "buffer-size = 131072"),
        better=file_of("processes = 2", "buffer-size = 65535"),
        evidence="core/uwsgi.c uwsgi_opt_set_16bit.",
        look=_too_large,
    ),
)
