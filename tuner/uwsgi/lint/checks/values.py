"""Values that are not what they look like: quotes, words, comments, empty values."""

import re
from collections.abc import Iterator, Sequence

from tuner.uwsgi.ini import CLOSES, IMMEDIATE, INCLUDES, OPENS, as_int, is_true
from tuner.uwsgi.lint.finding import (
    Edit,
    Fix,
    Severity,
    comment_at,
    comment_moved_up,
    quoted,
    set_to,
    written_as,
)
from tuner.uwsgi.lint.references import (
    PLACEHOLDERS,
    REFERENCE,
    SETS,
    assigned,
    includes_others,
    referenced,
)
from tuner.uwsgi.lint.rule import Hit, check, hit, problem, with_code
from tuner.uwsgi.lint.subject import Entry, Subject, switched_on
from tuner.uwsgi.options.guessing import Kind

_BACKSLASH = "\\"
_QUOTES = "\"'"
_TRUE = frozenset({"", "true", "on", "yes", "1"})
_MEANS_NO = frozenset(
    {"disable", "disabled", "f", "n", "never", "nil", "none", "not", "null", "undefined", "00"}
)
_NEEDS_VALUE = frozenset(
    {
        "callable", "chdir", "daemonize", "env", "gid", "home", "http", "http-socket", "logto",
        "module", "mount", "pidfile", "plugins", "pythonpath", "socket", "static-map", "stats",
        "touch-reload", "uid", "wsgi-file",
    }
)  # fmt: skip
_MAY_HOLD_QUOTES = ("log-format", "route", "hook", "exec", "cron", "env")
_HOLDS_ANYTHING = (
    "add-header", "alarm", "attach", "cron", "env", "error-route", "exec", "final-route", "hook",
    "log-format", "response-route", "route", "smart-attach", "unique-cron",
)  # fmt: skip
"""Shell commands, headers and formats: `;` and `#` have their own meaning there."""


@check("comment-changes-value")
def comment_changes_value(subject: Subject) -> Iterator[Hit]:
    used = referenced(subject)
    for entry in subject.entries:
        at = _comment(entry)
        if at is None or (entry.option is None and entry.key not in used):
            continue
        message, severity = f"{entry.key} is {quoted(entry.value)}, comment included", None
        if entry.option and entry.option.kind is Kind.FLAG:
            message = _on_by_word(entry)
            severity = Severity.NOTE if is_true(entry.value[:at].rstrip()) else None
        yield Hit(entry.number, message, comment_moved_up(entry, at), severity)


def _on_by_word(entry: Entry) -> str:
    return f"{entry.key} is on: {quoted(entry.value)} is not false, off, no or 0"


def _comment(entry: Entry) -> int | None:
    """Where the comment begins, in a value that no comment can be part of."""
    kind = entry.option.kind if entry.option else Kind.TEXT
    if kind is Kind.INTEGER or entry.name.startswith(_HOLDS_ANYTHING):
        return None
    at = comment_at(entry.value, spaced=kind is not Kind.FLAG)
    if at is None or at == 0 or kind is Kind.FLAG:
        return at or None
    # A text with spaces can contain a semicolon; a path or a name does not.
    return at if len(entry.value[:at].split()) == 1 else None


@check("odd-boolean")
def odd_flags(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        word = entry.value.lower()
        is_flag = entry.option is not None and entry.option.kind is Kind.FLAG
        if not is_flag or entry.is_dynamic or word in _TRUE or not is_true(word):
            continue
        if comment_at(entry.value, spaced=False) is not None or _is_quoted(entry.value):
            continue  # other rules report these
        means_no = word in _MEANS_NO
        meant = "false" if means_no else "true"
        fix = set_to(entry, meant, f"write {meant}", is_safe=not means_no)
        severity = Severity.ERROR if means_no else Severity.NOTE
        yield Hit(entry.number, _on_by_word(entry), fix, severity)


def _is_quoted(value: str) -> bool:
    """Whether one pair of quotes encloses the value."""
    ends = len(value) >= 2 and value[0] in _QUOTES and value[0] == value[-1]
    return ends and value[0] not in value[1:-1]


@check("quoted-value")
def quotes(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if _is_quoted(entry.value) and not entry.name.startswith(_MAY_HOLD_QUOTES):
            fix = set_to(entry, entry.value[1:-1], "remove the quotes", is_safe=True)
            yield hit(entry, fix)


@check("backslash-continuation")
def continued(subject: Subject) -> Iterator[Hit]:
    """One hit for each run of continued lines."""
    entries = {entry.number: entry for entry in subject.entries}
    goes_on = {number for number, entry in entries.items() if entry.is_continued}
    for number in sorted(goes_on):
        if number - 1 in goes_on:
            continue
        last = number
        while last in goes_on:
            last += 1
        key = entries[number].key
        message = f"the backslash is part of {key}; the next line is a separate option"
        meant = [entries[at] for at in range(number, last + 1) if at in entries]
        yield Hit(number, message, _joined(meant, last))


def _joined(meant: Sequence[Entry], last: int) -> Fix:
    sentence = "write the value on one line"
    if meant[-1].number != last:
        return Fix(sentence)  # the next line is a comment, a header, or the end
    head = meant[0].line.text.rstrip().removesuffix(_BACKSLASH).rstrip()
    rest = (entry.line.text.strip().removesuffix(_BACKSLASH).rstrip() for entry in meant[1:])
    return Fix(sentence, (Edit(meant[0].number, last, (" ".join([head, *rest]),)),))


@check("empty-value")
def empty(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.value == "" and entry.name in _NEEDS_VALUE:
            yield hit(entry)


@check("tilde-in-path")
def tilde(subject: Subject) -> Iterator[Hit]:
    for entry in subject.named("chdir", "home", "logto", "pidfile", "pythonpath"):
        if entry.value.startswith("~/"):
            path = f"$(HOME){entry.value[1:]}"
            yield hit(entry, set_to(entry, path, f"write the whole path, or {quoted(path)}"))
        elif entry.value.startswith("~"):
            yield hit(entry, Fix("write the whole path"))


@check("blank-in-env")
def blank_in_env(subject: Subject) -> Iterator[Hit]:
    for entry in subject.named("env"):
        name, equals, value = entry.value.partition("=")
        if equals and name.endswith((" ", "\t")):
            meant = f"{name.rstrip()}={value.lstrip()}"
            fix = set_to(entry, meant, f"write {quoted(meant)}", is_safe=True)
            yield hit(entry, fix, name=quoted(name))


# ---- What uWSGI inserts for `%(...)` and `%x`, and what it drops

_ONE_VARIABLE = re.compile(r"\$\(([^()]+)\)")
_VARIABLES = ("%(", "$(", "@(")
_APPLIED_AT_ONCE = IMMEDIATE - OPENS - CLOSES - INCLUDES - SETS
_MAGIC = re.compile(r"%.", re.DOTALL)
_PARTS = re.compile(r"%.|[^%]+|%", re.DOTALL)
_NO_NAME = re.compile(r"[-+*/]+|\d+|%[0-9A-Za-z]")
_KNOWN_MAGIC = frozenset("(%[obpjisdcenvhtTVkuUgGx0123456789")
_OF_DATES = frozenset({"log-date"})
_OF_REQUESTS = ("log-format", "log-req-encoder", "req-log-encoder", "route", "log-encoder")
"""Options in which `%(...)` can also be a variable of the request."""

problem("endless-reference", "endless-reference")


@check("unresolved-placeholder")
def unresolved(subject: Subject) -> Iterator[Hit]:
    known = assigned(subject)
    if includes_others(subject):
        return
    for entry in subject.entries:
        if entry.name.startswith(_OF_REQUESTS) or "%(" not in entry.value:
            continue
        for inner in REFERENCE.findall(entry.value):
            missing = [name for name in _names_in(inner) if name not in known]
            if missing:
                outcome = "counts it as 0" if " " in inner else "stays as it is"
                yield hit(
                    entry,
                    name=missing[0],
                    quoted_name=quoted(missing[0]),
                    inner=inner,
                    outcome=outcome,
                )
                break


def _names_in(inner: str) -> list[str]:
    """The options of an expression such as `threads * 4`; `_` is the variable of a block."""
    words = [inner] if " " not in inner else inner.split()
    # uWSGI has replaced %k and the like before it reads the expression.
    return [word for word in words if word != "_" and not _NO_NAME.fullmatch(word)]


@check("wrong-placeholder")
def wrong_sets(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.key not in SETS:
            continue
        name, equals, _ = entry.value.partition("=")
        if not equals:
            message = f"{entry.key} needs name=value: uWSGI does not start"
            yield Hit(entry.number, message, Fix("write name=value"))
        elif entry.key in PLACEHOLDERS and subject.catalogue.find(name) is not None:
            message = f"{quoted(name)} is an option, not a placeholder: uWSGI does not start"
            yield Hit(entry.number, message, Fix("give the placeholder another name"))


@check("percent-sign-lost")
def vanishing(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        lost = [pair for pair in _MAGIC.findall(entry.value) if _is_lost(entry, pair)]
        if not lost:
            continue
        gone = [pair for pair in lost if pair[1] not in _KNOWN_MAGIC]
        message = (
            f"uWSGI drops {quoted(gone[0])} from the value"
            if gone
            else f"uWSGI replaces {quoted(lost[0])} by a value of its own: it is no date here"
        )
        parts = _PARTS.findall(entry.value)
        doubled = "".join(f"%{part}" if part in lost else part for part in parts)
        fix = set_to(entry, doubled, "double the percent sign", is_safe=True)
        yield Hit(entry.number, message, fix)


def _is_lost(entry: Entry, pair: str) -> bool:
    is_date = entry.name in _OF_DATES and pair[1] not in "%("
    return pair[1] not in _KNOWN_MAGIC or is_date


@check("percent-swallows-line")
def swallows_line(subject: Subject) -> Iterator[Hit]:
    for found in with_code(subject, "joined-lines"):
        line = found.line or 1
        text = subject.ini.lines[line - 1].raw.removesuffix("\n")
        fix = Fix("double the percent sign", (Edit(line, line, (f"{text}%",)),), is_safe=True)
        yield Hit(line, found.message, fix)


@check("variable-too-early")
def too_early(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        is_at_once = entry.key in _APPLIED_AT_ONCE and (
            entry.option is None or entry.option.is_immediate  # `listen` since 2.0.18
        )
        if is_at_once and any(sign in entry.value for sign in _VARIABLES):
            yield hit(entry)


@check("strict-refuses-placeholder")
def refused_placeholder(subject: Subject) -> Iterator[Hit]:
    """In strict mode only `set-placeholder` may make a name of one's own."""
    if not switched_on(subject, "strict"):
        return
    used = referenced(subject)
    for entry in subject.entries:
        if entry.option is None and entry.key in used and entry.key not in OPENS | CLOSES:
            line = f"set-placeholder = {entry.key}={entry.value}"
            yield hit(entry, written_as(entry, line, f"write {quoted(line)}", is_safe=True))


@check("variable-not-set")
def variable_not_set(subject: Subject) -> Iterator[Hit]:
    """In a file only of processes: without them, nothing serves. In a command of every option."""
    words = subject.box.words
    typed = (entry for entry in subject.entries if words and words[entry.number - 2])
    for entry in typed if words else subject.named("processes"):
        found = _ONE_VARIABLE.fullmatch(entry.value)
        if found and found[1] not in subject.box.environ:
            yield _swallowing(subject, entry, found[1]) or hit(entry, variable=found[1])


def _swallowing(subject: Subject, entry: Entry, variable: str) -> Hit | None:
    """In a command an option without its value takes the next word; None in a file."""
    words = subject.box.words
    if not words:
        return None
    rest = [each for each in words[entry.number - 1 :] if each]
    taken = f"takes the next word, `{rest[0].split()[0]}`" if rest else "has no value"
    message = f"where the shell has no {variable}, {entry.key} {taken}: uWSGI does not start, or "
    message += "starts with other settings"
    return Hit(entry.number, message, Fix(f"set {variable}, or write its value"))


# ---- Numbers: uWSGI reads them up to the first character that is no digit

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
            is_buffer = entry.name == "buffer-size"
            what = "; it is the size of the headers, not of the body" if is_buffer else ""
            yield hit(entry, set_to(entry, most, f"write {most}", is_safe=True), what=what)
