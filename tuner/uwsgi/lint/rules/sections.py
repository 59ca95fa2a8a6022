"""Section headers, and what is included where."""

from collections.abc import Iterator

from tuner.uwsgi.ini import SECTION, Problem
from tuner.uwsgi.lint.finding import Edit, Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, quoted
from tuner.uwsgi.lint.subject import Subject

_HEADER = f"[{SECTION}]"
_REFUSED = frozenset({"empty-include", "include-section", "include-variable"})
_ENDLESS = frozenset({"include-cycle", "include-depth"})


def _with_code(subject: Subject, *codes: str) -> Iterator[Problem]:
    return (problem for problem in subject.problems if problem.code in codes)


def _no_section(subject: Subject) -> Iterator[Hit]:
    """Keeps silent where something else that is found is the reason."""
    if any(_with_code(subject, "bom", "section-header", "joined-lines")):
        return
    for problem in _with_code(subject, "no-section"):
        yield Hit(line=None, message=problem.message, fix=_first_header(subject))


def _first_header(subject: Subject) -> Fix:
    sections = list(dict.fromkeys(line.section for line in subject.ini.lines if line.section))
    settings = [n for n, line in enumerate(subject.ini.lines, start=1) if line.key]
    if not sections and settings:
        edit = Edit(first=settings[0], last=settings[0] - 1, lines=(_HEADER,))
        return Fix(sentence=f"put {_HEADER} above the first option", edits=(edit,), is_safe=True)
    if sections:
        return Fix(sentence=f"rename a section, or start uWSGI with FILE:{sections[0]}")
    return Fix(sentence=f"write {_HEADER} and the options below it")


def _header_text(subject: Subject) -> Iterator[Hit]:
    for problem in _with_code(subject, "section-header"):
        number = problem.line or 1
        text = subject.ini.lines[number - 1].text.strip(" \t\r")
        name, bracket, rest = text.partition("]")
        comment = (rest.strip(),) if rest.strip()[:1] in (";", "#") else ()
        fix = Fix(sentence="end the line with the bracket")
        if bracket and (comment or not rest.strip()):
            edit = Edit(first=number, last=number, lines=(*comment, f"{name}]"))
            fix = Fix(sentence="put the comment above the header", edits=(edit,), is_safe=True)
        yield Hit(line=number, message=problem.message, fix=fix)


def _before_section(subject: Subject) -> Iterator[Hit]:
    lines = subject.ini.lines
    if any(_with_code(subject, "bom", "no-section")):
        return
    for number, line in enumerate(lines, start=1):
        if line.section is not None:
            return
        if line.key:
            message = f"{quoted(line.key)} stands above the first section: uWSGI does not read it"
            fix = Fix(sentence=f"move it below {_HEADER}")
            yield Hit(line=number, message=message, fix=fix)


def _unused(subject: Subject) -> Iterator[Hit]:
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
            message = f"[{section}] is another section than {_HEADER}: nothing reads it"
            yield Hit(line=number, message=message, severity=Severity.ERROR)
        else:
            message = f"nothing in this file includes [{section}]"
            fix = Fix(sentence=f"include it with `ini = :{section}`, or start with FILE:{section}")
            yield Hit(line=number, message=message, fix=fix)


def _missing(subject: Subject) -> Iterator[Hit]:
    for problem in _with_code(subject, "unknown-section"):
        fix = Fix(sentence="name a section of this file")
        yield Hit(line=problem.line, message=problem.message, fix=fix)


def _outside(subject: Subject) -> Iterator[Hit]:
    for problem in _with_code(subject, "include-outside"):
        yield Hit(line=problem.line, message=f"{problem.message}: it was not looked at")


def _endless(subject: Subject) -> Iterator[Hit]:
    for problem in _with_code(subject, *_ENDLESS):
        fix = Fix(sentence="leave out the include that leads back")
        yield Hit(line=problem.line, message=problem.message, fix=fix)


def _refused(subject: Subject) -> Iterator[Hit]:
    for problem in _with_code(subject, *_REFUSED):
        fix = Fix(sentence="name the file itself")
        yield Hit(line=problem.line, message=problem.message, fix=fix)


RULES = (
    Rule(
        id="U008",
        name="no-uwsgi-section",
        severity=Severity.ERROR,
        why="uWSGI reads the section [uwsgi] of a file, unless the command names another one, and "
        "starts without any option where there is none.",
        example=file_of("processes = 2").replace("[uwsgi]\n", ""),
        better=file_of("processes = 2"),
        evidence='2.0.31 says `Can\'t find section "uwsgi"` and goes on.',
        look=_no_section,
    ),
    Rule(
        id="U009",
        name="section-header-text",
        severity=Severity.ERROR,
        why="uWSGI takes the last character off a header, whatever it is. With a comment behind "
        "the bracket it is another section, and all that follows is not read.",
        example=file_of("processes = 2").replace("[uwsgi]", "[uwsgi] ; the app"),
        better=f"; the app\n{file_of('processes = 2')}",
        evidence="core/ini.c uwsgi_ini_config cuts the last character; 2.0.31 ignores the options "
        "below such a header.",
        look=_header_text,
    ),
    Rule(
        id="U010",
        name="above-the-section",
        severity=Severity.ERROR,
        why="What stands above the first header belongs to no section, so it is not read.",
        example=f"threads = 2\n{file_of('processes = 2')}",
        better=file_of("processes = 2", "threads = 2"),
        evidence="core/ini.c compares the section's name of each line with the one asked for.",
        look=_before_section,
    ),
    Rule(
        id="U011",
        name="unused-section",
        severity=Severity.NOTE,
        why="Of all sections only [uwsgi] is read, and what it includes. Others are for "
        "`uwsgi --ini FILE:section`, or forgotten.",
        example=file_of("processes = 2", "[development]", "py-autoreload = 1"),
        better=file_of("processes = 2", "ini = :logs", "[logs]", "log-5xx = true"),
        evidence="core/ini.c; `--show-config` of 2.0.31 shows options of [uwsgi] alone.",
        look=_unused,
    ),
    Rule(
        id="U012",
        name="missing-section",
        severity=Severity.ERROR,
        why="An include of a section that is not there brings nothing, and uWSGI starts without "
        "what it was to bring.",
        example=file_of("processes = 2", "ini = :logs"),
        better=file_of("processes = 2", "ini = :logs", "[logs]", "log-5xx = true"),
        evidence='2.0.31 says `Can\'t find section "nosuch"` and goes on.',
        look=_missing,
    ),
    Rule(
        id="U013",
        name="include-outside",
        severity=Severity.NOTE,
        why="The file takes options from a place that does not travel with it, so neither this "
        "tool nor a reader knows what counts.",
        example=file_of("processes = 2", "ini = ../common.ini"),
        better=file_of("processes = 2", "ini = %d/common.ini"),
        evidence="core/ini.c opens any path that it is given.",
        look=_outside,
    ),
    Rule(
        id="U014",
        name="include-cycle",
        severity=Severity.ERROR,
        why="uWSGI follows includes without counting: one that leads back to itself ends in a "
        "segmentation fault at the start.",
        example=file_of("processes = 2", "ini = :uwsgi"),
        better=file_of("processes = 2"),
        evidence="2.0.31 with `ini = :uwsgi` ends with exit code 139.",
        look=_endless,
    ),
    Rule(
        id="U044",
        name="include-refused",
        severity=Severity.ERROR,
        why="The include names nothing that uWSGI can open when it gets there, so uWSGI does not "
        "start: variables are put in later, and only `ini` takes a section.",
        example=file_of("processes = 2", "folder = /etc", "ini = %(folder)/common.ini"),
        better=file_of("processes = 2", "ini = %d/common.ini"),
        evidence="core/uwsgi.c marks `ini` and `include` as carried out at once; 2.0.31 ends at a "
        "file that it cannot find with exit code 1.",
        look=_refused,
    ),
)
