"""Why uWSGI misreads a file: a list of problems, never an error."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tuner.uwsgi.ini.effective import endless_reference
from tuner.uwsgi.ini.file import IniFile
from tuner.uwsgi.ini.lines import Line
from tuner.uwsgi.ini.walking import Obstacle

# ---- Configurations in other formats: which one, and how to convert it

_HEADER = re.compile(r"^[ \t\r]*\[", re.MULTILINE)
_YAML_TOP = re.compile(r"^(---|%YAML|uwsgi[ \t]*:[ \t]*(#.*)?\r?$)", re.MULTILINE)
# Possessive: where a line is no YAML, nothing is tried a second time.
_YAML_LINE = re.compile(r"^[ \t-]*+[\w.][\w.-]*+[ \t]*+:([ \t].*)?$")
_LOOKED_AT = 65_536  # characters; the beginning shows the format


def refuse_other_formats(text: str) -> str | None:
    """A sentence with the format and the command that converts it; None for an ini."""
    name = _format_of(text.removeprefix("\ufeff").lstrip())
    if name is None:
        return None
    command = (
        f"uwsgi --show-config --no-server --{name} FILE 2>&1"
        " | sed -n '/^\\[uwsgi\\]/,/^;end/p'"
        f" | grep -vE '^(show-config|no-server|{name}) = ' > uwsgi.ini"
    )
    needs = " (with a uWSGI that was built with libjansson)" if name == "json" else ""
    return f"this is {name.upper()}, not ini; convert it{needs}: {command}"


def _format_of(text: str) -> str | None:
    if text.startswith("<"):
        return "xml"
    if text.startswith("{"):
        return "json"
    if text.startswith("[") and _is_json(text):
        return "json"
    head = text[:_LOOKED_AT]
    return "yaml" if not _HEADER.search(head) and _is_yaml(head) else None


def _is_json(text: str) -> bool:
    """Whether a text that begins like a section header is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_yaml(head: str) -> bool:
    if _YAML_TOP.search(head):
        return True
    lines = [line.rstrip() for line in head.splitlines()]
    told = [line for line in lines if line and not line.lstrip().startswith(("#", ";"))]
    return bool(told) and all(_YAML_LINE.match(line) for line in told)


_BOM = "\ufeff"
_MOST = 200  # of one kind; a file with more is not repaired line by line

_SENTENCES = {
    "bom": "a byte order mark precedes the first character; uWSGI reads it as text, so the first"
    " line is another one",
    "nul": "a NUL byte: uWSGI drops the rest of the line",
    "joined-lines": "a single % at the end joins the next line to this one; write %%",
    "section-header": "uWSGI only drops the last character: this is section [{section}]",
    "no-section": "[{section}] is missing or empty: uWSGI reads nothing of this file",
    Obstacle.UNCLOSED: "`{key}` is never closed: its condition applies to everything below",
    Obstacle.STRAY_END: "`{key}` closes no block: blocks do not nest, and the first end closes",
    Obstacle.NESTED: "`{key}` is inside another block: uWSGI does not start",
    Obstacle.UNKNOWN_SECTION: "there is no section [{name}]: uWSGI goes on without it",
    Obstacle.CYCLE: "[{name}] includes itself: uWSGI crashes",
    Obstacle.TOO_DEEP: "sections include each other too often to follow",
    "empty-include": "it names no file: uWSGI does not start",
    "include-section": "`{key}` takes no section: uWSGI does not start; use `ini = {value}`",
    "include-variable": "uWSGI opens the file before it replaces variables, and does not find it",
    "include-outside": "{value} is outside {directory}",
    "endless-reference": "{option} refers to itself without end: uWSGI hangs",
}
"""What happens, by the code of the problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem. `line` counts from 1; it is None when the problem is the whole file.

    `code` is a stable name, a key of `_SENTENCES`.
    """

    line: int | None
    code: str
    message: str

    @classmethod
    def of(cls, line: int | None, code: str, **facts: object) -> "Problem":
        """The problem with its sentence, which may contain `facts`."""
        return cls(line=line, code=code, message=_SENTENCES[code].format_map(facts))


def problems(ini: IniFile, *, directory: str = "", most: int | None = _MOST) -> tuple[Problem, ...]:
    """All problems of a file, top to bottom, in time linear in its size.

    Includes must stay in `directory` (absolute; empty for the directory of the file). At most
    `most` problems of each kind are returned.
    """
    found = [
        *(*_of_text(ini), *_of_sections(ini), *_of_blocks(ini)),
        *(*_of_includes(ini, directory), *_of_references(ini)),
    ]
    told = found if most is None else _no_more_than(most, found)
    return tuple(sorted(told, key=lambda p: p.line or 0))


def _no_more_than(most: int, found: list[Problem]) -> Iterator[Problem]:
    counts: dict[str, int] = {}
    for problem in found:
        counts[problem.code] = counts.get(problem.code, 0) + 1
        if counts[problem.code] <= most:
            yield problem


def _of_text(ini: IniFile) -> Iterator[Problem]:
    if ini.lines and ini.lines[0].raw.startswith(_BOM):
        yield Problem.of(1, "bom")
    for number, line in enumerate(ini.lines, 1):
        if "\0" in line.raw:
            yield Problem.of(number, "nul")
        if line.joined and (line.text.strip() or ini.lines[number - 2].key is not None):
            yield Problem.of(number - 1, "joined-lines")


def _of_sections(ini: IniFile) -> Iterator[Problem]:
    for number, line in enumerate(ini.lines, 1):
        text = line.raw.strip(" \t\r\n")
        if text.startswith("[") and not line.joined and not text.endswith("]"):
            yield Problem.of(number, "section-header", section=line.section)
    if not any(line.section == ini.section and line.key is not None for line in ini.lines):
        yield Problem.of(None, "no-section", section=ini.section)


def _of_blocks(ini: IniFile) -> Iterator[Problem]:
    for index, obstacle in ini.read.obstacles:
        line = ini.lines[index]
        name = line.own_section or line.section
        yield Problem.of(index + 1, obstacle.value, key=line.key, name=name)


def _of_includes(ini: IniFile, directory: str) -> Iterator[Problem]:
    seen: set[int] = set()
    for step in ini.read.steps:
        is_load = step.is_foreign or step.line.key == "inherit"
        if not is_load or step.index in seen:
            continue
        seen.add(step.index)
        code, line = _wrong_with(step.line, directory), step.line
        if code:
            place = directory or "the directory of this file"
            facts = {"key": line.key, "value": line.value, "directory": place}
            yield Problem.of(step.index + 1, code, **facts)


def _of_references(ini: IniFile) -> Iterator[Problem]:
    if not any("%(" in line.value for line in ini.lines):
        return
    found = endless_reference(ini)
    if found is not None:
        yield Problem.of(found.line, "endless-reference", option=found.option)


def _wrong_with(line: Line, directory: str) -> str | None:
    """The code of what is wrong with an include."""
    if not line.value:
        return "empty-include"
    if line.key in {"include", "inherit"} and ":" in line.value and "://" not in line.value:
        return "include-section"
    if line.key != "inherit" and any(sign in line.value for sign in ("%(", "$(", "@(")):
        return "include-variable"
    return "include-outside" if _leaves(line.value, directory) else None


def _leaves(value: str, directory: str) -> bool:
    """Whether a path is outside; `%d` is the directory of the file, with a slash."""
    if "://" in value:
        return True
    path = value[2:].lstrip("/") if value.startswith("%d") else value
    base = directory.rstrip("/")
    if path.startswith("/"):
        if not base or not path.startswith(f"{base}/"):
            return True
        path = path[len(base) :]
    depth = 0
    for part in path.split("/"):
        depth += {"": 0, ".": 0, "..": -1}.get(part, 1)
        if depth < 0:
            return True
    return False
