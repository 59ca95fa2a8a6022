"""Section headers, includes, and blocks. uWSGI has one state for blocks, and no stack."""

from collections.abc import Iterator

from tuner.uwsgi.ini import OPENS, SECTION
from tuner.uwsgi.lint.checks.patterns import problem, with_code
from tuner.uwsgi.lint.edits import quoted
from tuner.uwsgi.lint.finding import Edit, Fix, Severity
from tuner.uwsgi.lint.rule import Hit, check
from tuner.uwsgi.lint.subject import Subject

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
    if with_code(subject, "bom", "section-header", "joined-lines"):
        return
    for found in with_code(subject, "no-section"):
        yield Hit(None, found.message, _first_header(subject))


def _first_header(subject: Subject) -> Fix:
    sections = list(dict.fromkeys(line.section for line in subject.ini.lines if line.section))
    settings = [n for n, line in enumerate(subject.ini.lines, start=1) if line.key]
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
    if SECTION not in read:
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
