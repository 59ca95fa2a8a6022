"""The file as a whole: is it text, is it an ini, can uWSGI see its lines?"""

import re
import unicodedata
from collections.abc import Iterator

from tuner.uwsgi.ini import refuse_other_formats
from tuner.uwsgi.lint.finding import Edit, Fix, Severity
from tuner.uwsgi.lint.linting import MAX_CHARS
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of
from tuner.uwsgi.lint.subject import Subject

_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
_INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u2060\u3000\ufeff]")
_BOM = "\ufeff"


def _not_utf_8(subject: Subject) -> Iterator[Hit]:
    for number, line in enumerate(subject.ini.lines, start=1):
        if _NOT_UTF_8.search(line.raw):
            fix = Fix(sentence="save the file as UTF-8")
            yield Hit(line=number, message="this line, as the first, is not UTF-8", fix=fix)
            return


def _binary(subject: Subject) -> Iterator[Hit]:
    for problem in subject.problems:
        if problem.code == "nul":
            message = f"this is no text, or text in UTF-16: {problem.message}"
            yield Hit(line=problem.line, message=message, fix=Fix(sentence="save it as UTF-8"))
            return


def _too_large(subject: Subject) -> Iterator[Hit]:
    if sum(len(line.raw) for line in subject.ini.lines) > MAX_CHARS:
        message = f"the file has more than {MAX_CHARS} characters: it was not looked at"
        yield Hit(line=None, message=message)


def _other_format(subject: Subject) -> Iterator[Hit]:
    sentence = refuse_other_formats(subject.ini.dump())
    if sentence is not None:
        yield Hit(line=1, message=sentence)


def _byte_order_mark(subject: Subject) -> Iterator[Hit]:
    for problem in subject.problems:
        if problem.code == "bom":
            text = subject.ini.lines[0].text.removeprefix(_BOM)
            edit = Edit(first=1, last=1, lines=(text,))
            fix = Fix(sentence="save without a byte order mark", edits=(edit,), is_safe=True)
            yield Hit(line=1, message=problem.message, fix=fix)


def _lone_carriage_returns(subject: Subject) -> Iterator[Hit]:
    for number, line in enumerate(subject.ini.lines, start=1):
        text = line.raw.removesuffix("\n").rstrip("\r")
        if "\r" in text and not line.joined:
            message = "carriage returns alone do not end a line: uWSGI reads all of this as one"
            edit = Edit(first=number, last=number, lines=tuple(text.split("\r")))
            fix = Fix(sentence="end the lines with a newline", edits=(edit,), is_safe=True)
            yield Hit(line=number, message=message, fix=fix)


def _invisible(subject: Subject) -> Iterator[Hit]:
    for number, line in enumerate(subject.ini.lines, start=1):
        text = line.text.removeprefix(_BOM) if number == 1 else line.text
        if text.isascii() or line.joined:
            continue
        found = _INVISIBLE.search(text)
        is_comment = line.key is None and text.lstrip(" \t")[:1] in ("", ";", "#")
        if found is None or is_comment:
            continue
        name = unicodedata.name(found.group(), "an invisible character").lower()
        lines = (_INVISIBLE.sub(_visible, text),)
        fix = Fix(
            sentence="put a plain space in its place, or nothing",
            edits=(Edit(first=number, last=number, lines=lines),),
            is_safe=True,
        )
        message = f"it holds U+{ord(found.group()):04X} ({name}), which is no white space to uWSGI"
        yield Hit(line=number, message=message, fix=fix)


def _visible(found: re.Match[str]) -> str:
    return " " if unicodedata.category(found.group()) == "Zs" else ""


RULES = (
    Rule(
        id="U001",
        name="not-utf-8",
        severity=Severity.NOTE,
        why="uWSGI hands the bytes on as they are, but Python and every tool that shows or "
        "changes the file expects UTF-8.",
        example=file_of("processes = 2", "; caf\udce9"),
        better=file_of("processes = 2", "; caf\u00e9"),
        evidence="core/ini.c compares bytes and knows no encodings.",
        look=_not_utf_8,
    ),
    Rule(
        id="U002",
        name="binary",
        severity=Severity.ERROR,
        why="To uWSGI a zero byte ends the line; a file of an editor that writes UTF-16 has one "
        "after every letter.",
        example=file_of("processes = 2", "chdir = /app\0/old"),
        better=file_of("processes = 2", "chdir = /app"),
        evidence="core/ini.c works on C strings.",
        look=_binary,
    ),
    Rule(
        id="U003",
        name="too-large",
        severity=Severity.ERROR,
        why="Files of that size are something else, given by mistake.",
        example=file_of("processes = 2", "; and so on, for more than 200000 characters"),
        better=file_of("processes = 2"),
        evidence="The longest file of the projects that were looked at has 4 KB.",
        look=_too_large,
    ),
    Rule(
        id="U004",
        name="other-format",
        severity=Severity.ERROR,
        why="uWSGI reads XML, YAML and JSON too, by the file's ending. This tool changes lines of "
        "ini files alone; uWSGI itself converts the others.",
        example="uwsgi:\n  http-socket: :8000\n  module: app\n",
        better=file_of("processes = 2"),
        evidence="core/config.c uwsgi_opt_load_config picks the reader by the file's ending.",
        look=_other_format,
    ),
    Rule(
        id="U005",
        name="byte-order-mark",
        severity=Severity.ERROR,
        why="Some editors put an invisible mark at the start of UTF-8 files. With it the first "
        "line is no section header, so uWSGI reads nothing at all.",
        example=f"{_BOM}{file_of('processes = 2')}",
        better=file_of("processes = 2"),
        evidence='2.0.31 says `Can\'t find section "uwsgi"` and goes on without the file.',
        look=_byte_order_mark,
    ),
    Rule(
        id="U006",
        name="lone-carriage-returns",
        severity=Severity.ERROR,
        why="Lines end at a newline. With carriage returns alone, as some exports have them, the "
        "lines run together into one.",
        example=file_of("processes = 2", "chdir = /app\rthreads = 2"),
        better=file_of("processes = 2", "chdir = /app", "threads = 2"),
        evidence="core/ini.c ini_get_line looks for newlines; 2.0.31 finds no section in a file "
        "with carriage returns alone.",
        look=_lone_carriage_returns,
    ),
    Rule(
        id="U007",
        name="invisible-character",
        severity=Severity.ERROR,
        why="Text copied from a web page may hold spaces that are none: they are part of the "
        "option's name or its value, and nobody sees them.",
        example=file_of("processes = 2", "\u00a0threads = 2"),
        better=file_of("processes = 2", "threads = 2"),
        evidence="core/ini.c strips space, tab and carriage return, and nothing else; 2.0.31 with "
        "--strict ends at such a key.",
        look=_invisible,
    ),
)
