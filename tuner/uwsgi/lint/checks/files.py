"""The file as a whole: is it text, is it an ini, can uWSGI see its lines?"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from tuner.uwsgi.ini import INCLUDES, OPENS, SECTION, as_int, is_true, refuse_other_formats
from tuner.uwsgi.ini.lines import MAX_CHARS
from tuner.uwsgi.lint.finding import Edit, Fix, Severity, quoted, removed
from tuner.uwsgi.lint.references import referenced
from tuner.uwsgi.lint.rule import Hit, check, hit, problem, with_code
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options.guessing import Kind
from tuner.uwsgi.templates import is_of_shell, placeholders, statement

_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
_INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u2060\u3000\ufeff]")
_BOM = "\ufeff"
_SCALARS = frozenset({Kind.FLAG, Kind.INTEGER, Kind.TEXT})


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
    for each in with_code(subject, "nul")[:1]:
        message = f"this is not text, or it is UTF-16: {each.message}"
        yield Hit(each.line, message, Fix("save it as UTF-8"))


@check("too-large")
def too_large(subject: Subject) -> Iterator[Hit]:
    if sum(len(line.raw) for line in subject.ini.lines) > MAX_CHARS:
        yield Hit(None, f"the file has more than {MAX_CHARS} characters and was not checked")


@check("other-format")
def other_format(subject: Subject) -> Iterator[Hit]:
    sentence = refuse_other_formats(subject.ini.dump())
    if sentence is not None:
        yield Hit(1, sentence)


@check("misread-form")
def misread_form(subject: Subject) -> Iterator[Hit]:
    for each in subject.box.misread:
        yield Hit(each.line, each.message)


@check("template-placeholder")
def placeholder(subject: Subject) -> Iterator[Hit]:
    """In lists, a dollar sign belongs to a shell or to a route of uWSGI."""
    for entry in subject.entries:
        if statement(entry.line.text) is not None:
            written = quoted(entry.line.text.strip())
            message = f"uWSGI does not run {written}: lines of its block may be left out"
            yield Hit(entry.number, message, Fix("lint the file that the template makes"))
            continue
        is_list = entry.option is None or entry.option.kind not in _SCALARS
        for written, name in placeholders(entry.value):
            if is_list and is_of_shell(written):
                continue
            own = f"; uWSGI itself fills `$({name})`" if is_of_shell(written) else ""
            fix = Fix(f"fill it before the lint with `--define {name}=VALUE`{own}")
            severity = Severity.WARNING if is_of_shell(written) else Severity.NOTE
            yield hit(entry, fix, severity, written=written)


@check("byte-order-mark")
def byte_order_mark(subject: Subject) -> Iterator[Hit]:
    for each in with_code(subject, "bom"):
        text = subject.ini.lines[0].text.removeprefix(_BOM)
        fix = _line(1, text, sentence="save the file without a byte order mark")
        yield Hit(1, each.message, fix)


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


# ---- Section headers, includes, and blocks. uWSGI has one state for blocks, and no stack

_HEADER = f"[{SECTION}]"

problem("missing-section", "unknown-section")
problem("include-outside", "include-outside")
problem("include-cycle", "include-cycle", "include-depth")
problem("include-refused", "empty-include", "include-section", "include-variable")
problem("unclosed-block", "unclosed-block")
problem("nested-block", "nested-block")


@check("stray-end")
def stray_end(subject: Subject) -> Iterator[Hit]:
    """Silent when a nested block is the reason for the additional end."""
    if any(entry.key in OPENS and entry.is_conditional for entry in subject.entries):
        return
    for found in with_code(subject, "stray-end"):
        line = found.line or 1
        yield Hit(line, found.message, Fix("remove the line", (Edit(line, line),), is_safe=True))


@check("no-uwsgi-section")
def no_section(subject: Subject) -> Iterator[Hit]:
    """Silent when another finding is the reason."""
    if subject.box.misread or with_code(subject, "bom", "section-header", "joined-lines"):
        return
    for found in with_code(subject, "no-section"):
        yield Hit(None, found.message, _first_header(subject))


def _first_header(subject: Subject) -> Fix:
    sections = list(dict.fromkeys(line.section for line in subject.ini.lines if line.section))
    settings = [n for n, line in enumerate(subject.ini.lines, start=1) if line.key]
    if subject.ini.section != SECTION:
        return Fix(f"write [{subject.ini.section}], or start uWSGI with a section of the file")
    if not sections and settings:
        edit = Edit(settings[0], settings[0] - 1, (_HEADER,))
        return Fix(f"put {_HEADER} above the first option", (edit,), is_safe=True)
    if sections:
        return Fix(f"rename a section, or start uWSGI with FILE:{sections[0]}")
    return Fix(f"write {_HEADER} and the options below it")


@check("section-header-text")
def header_text(subject: Subject) -> Iterator[Hit]:
    for found in with_code(subject, "section-header"):
        number = found.line or 1
        text = subject.ini.lines[number - 1].text.strip(" \t\r")
        name, bracket, rest = text.partition("]")
        comment = (rest.strip(),) if rest.strip()[:1] in (";", "#") else ()
        fix = Fix("end the line with the bracket")
        if bracket and (comment or not rest.strip()):
            edit = Edit(number, number, (*comment, f"{name}]"))
            fix = Fix("put the comment above the header", (edit,), is_safe=True)
        yield Hit(number, found.message, fix)


@check("above-the-section")
def above_section(subject: Subject) -> Iterator[Hit]:
    if with_code(subject, "bom", "no-section"):
        return
    for number, line in enumerate(subject.ini.lines, start=1):
        if line.section is not None:
            return
        if line.key:
            message = f"{quoted(line.key)} is above the first section: uWSGI does not read it"
            yield Hit(number, message, Fix(f"move it below {_HEADER}"))


@check("unused-section")
def unused(subject: Subject) -> Iterator[Hit]:
    read = {entry.line.section for entry in subject.entries}
    # Of a file with one section for each start, only one is asked for.
    if SECTION not in read or subject.ini.section != SECTION:
        return
    seen: set[str] = set()
    for number, line in enumerate(subject.ini.lines, start=1):
        section = line.section
        if section is None or section in read or section in seen or line.key is None:
            continue
        seen.add(section)
        if section.strip().lower() == SECTION:
            message = f"[{section}] is not {_HEADER}: nothing reads it"
            yield Hit(number, message, severity=Severity.ERROR)
        else:
            fix = Fix(f"include it with `ini = :{section}`, or start with FILE:{section}")
            yield Hit(number, f"nothing in this file includes [{section}]", fix)


# ---- Options that several lines set: of a scalar, the last line wins


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
