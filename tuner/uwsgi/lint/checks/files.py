"""The file as a whole: is it text, is it an ini, can uWSGI see its lines?"""

import re
import unicodedata
from collections.abc import Iterator

from tuner.uwsgi.ini import refuse_other_formats
from tuner.uwsgi.lint.checks.patterns import with_code
from tuner.uwsgi.lint.finding import Edit, Fix
from tuner.uwsgi.lint.rule import Hit, check
from tuner.uwsgi.lint.subject import MAX_CHARS, Subject

_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
_INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u2060\u3000\ufeff]")
_BOM = "\ufeff"


def _line(number: int, *lines: str, sentence: str) -> Fix:
    """A safe fix that replaces one line."""
    return Fix(sentence, (Edit(number, number, lines),), is_safe=True)


@check("not-utf-8")
def not_utf_8(subject: Subject) -> Iterator[Hit]:
    for number, line in enumerate(subject.ini.lines, start=1):
        if _NOT_UTF_8.search(line.raw):
            message = "the first line that is not UTF-8"
            yield Hit(number, message, Fix("save the file as UTF-8"))
            return


@check("binary")
def binary(subject: Subject) -> Iterator[Hit]:
    for problem in with_code(subject, "nul")[:1]:
        message = f"this is not text, or it is UTF-16: {problem.message}"
        yield Hit(problem.line, message, Fix("save it as UTF-8"))


@check("too-large")
def too_large(subject: Subject) -> Iterator[Hit]:
    if sum(len(line.raw) for line in subject.ini.lines) > MAX_CHARS:
        yield Hit(None, f"the file has more than {MAX_CHARS} characters and was not checked")


@check("other-format")
def other_format(subject: Subject) -> Iterator[Hit]:
    sentence = refuse_other_formats(subject.ini.dump())
    if sentence is not None:
        yield Hit(1, sentence)


@check("byte-order-mark")
def byte_order_mark(subject: Subject) -> Iterator[Hit]:
    for problem in with_code(subject, "bom"):
        text = subject.ini.lines[0].text.removeprefix(_BOM)
        fix = _line(1, text, sentence="save the file without a byte order mark")
        yield Hit(1, problem.message, fix)


@check("lone-carriage-returns")
def lone_carriage_returns(subject: Subject) -> Iterator[Hit]:
    for number, line in enumerate(subject.ini.lines, start=1):
        text = line.raw.removesuffix("\n").rstrip("\r")
        if "\r" in text and not line.joined:
            message = "a carriage return alone does not end a line: uWSGI reads all this as one"
            fix = _line(number, *text.split("\r"), sentence="end the lines with a newline")
            yield Hit(number, message, fix)


@check("invisible-character")
def invisible(subject: Subject) -> Iterator[Hit]:
    for number, line in enumerate(subject.ini.lines, start=1):
        text = line.text.removeprefix(_BOM) if number == 1 else line.text
        if text.isascii() or line.joined:
            continue
        found = _INVISIBLE.search(text)
        is_comment = line.key is None and text.lstrip(" \t")[:1] in ("", ";", "#")
        if found is None or is_comment:
            continue
        name = unicodedata.name(found.group(), "an invisible character").lower()
        message = f"U+{ord(found.group()):04X} ({name}) is no white space for uWSGI"
        fix = _line(number, _INVISIBLE.sub(_visible, text), sentence="use plain spaces, or none")
        yield Hit(number, message, fix)


def _visible(found: re.Match[str]) -> str:
    return " " if unicodedata.category(found.group()) == "Zs" else ""
