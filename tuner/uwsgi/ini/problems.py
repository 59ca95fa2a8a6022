"""Why uWSGI misreads a file: a list of problems, never an error."""

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.uwsgi.ini.effective import endless_reference
from tuner.uwsgi.ini.file import IniFile
from tuner.uwsgi.ini.lines import SECTION, Line
from tuner.uwsgi.ini.walking import Obstacle

_BOM = "\ufeff"
_MOST = 200  # of one kind; a file with more is not repaired line by line

_SENTENCES = {
    Obstacle.UNCLOSED: "`{key}` is never closed: its condition applies to everything below",
    Obstacle.STRAY_END: "`{key}` closes no block: blocks do not nest, and the first end closes",
    Obstacle.NESTED: "`{key}` is inside another block: uWSGI does not start",
    Obstacle.UNKNOWN_SECTION: "there is no section [{name}]: uWSGI goes on without it",
    Obstacle.CYCLE: "[{name}] includes itself: uWSGI crashes",
    Obstacle.TOO_DEEP: "sections include each other too often to follow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One problem. `line` counts from 1; it is None when the problem is the whole file.

    `code` is a stable name: bom, nul, joined-lines, section-header, no-section, unclosed-block,
    stray-end, nested-block, unknown-section, include-cycle, include-depth, empty-include,
    include-section, include-variable, include-outside, endless-reference.
    """

    line: int | None
    code: str
    message: str


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
        yield Problem(
            line=1,
            code="bom",
            message="a byte order mark precedes the first character; uWSGI reads it as text, so the"
            " first line is another one",
        )
    for number, line in enumerate(ini.lines, 1):
        if "\0" in line.raw:
            yield Problem(
                line=number, code="nul", message="a NUL byte: uWSGI drops the rest of the line"
            )
        if line.joined and (line.text.strip() or _is_content(ini.lines[number - 2])):
            yield Problem(
                line=number - 1,
                code="joined-lines",
                message="a single % at the end joins the next line to this one; write %%",
            )


def _is_content(line: Line) -> bool:
    return line.key is not None


def _of_sections(ini: IniFile) -> Iterator[Problem]:
    for number, line in enumerate(ini.lines, 1):
        text = line.raw.strip(" \t\r\n")
        if text.startswith("[") and not line.joined and not text.endswith("]"):
            yield Problem(
                line=number,
                code="section-header",
                message=f"uWSGI only drops the last character: this is section [{line.section}]",
            )
    if not any(line.section == SECTION and line.key is not None for line in ini.lines):
        yield Problem(
            line=None,
            code="no-section",
            message=f"[{SECTION}] is missing or empty: uWSGI reads nothing of this file",
        )


def _of_blocks(ini: IniFile) -> Iterator[Problem]:
    for index, obstacle in ini.read.obstacles:
        line = ini.lines[index]
        sentence = _SENTENCES[obstacle].format(key=line.key, name=line.own_section or line.section)
        yield Problem(line=index + 1, code=obstacle.value, message=sentence)


def _of_includes(ini: IniFile, directory: str) -> Iterator[Problem]:
    seen: set[int] = set()
    for step in ini.read.steps:
        is_load = step.is_foreign or step.line.key == "inherit"
        if not is_load or step.index in seen:
            continue
        seen.add(step.index)
        wrong = _wrong_with(step.line, directory)
        if wrong:
            yield Problem(line=step.index + 1, code=wrong[0], message=wrong[1])


def _of_references(ini: IniFile) -> Iterator[Problem]:
    if not any("%(" in line.value for line in ini.lines):
        return
    found = endless_reference(ini)
    if found is not None:
        yield Problem(
            line=found.line,
            code="endless-reference",
            message=f"{found.option} refers to itself without end: uWSGI hangs",
        )


def _wrong_with(line: Line, directory: str) -> tuple[str, str] | None:
    if not line.value:
        return "empty-include", "it names no file: uWSGI does not start"
    if line.key in {"include", "inherit"} and ":" in line.value and "://" not in line.value:
        return (
            "include-section",
            f"`{line.key}` takes no section: uWSGI does not start; use `ini = {line.value}`",
        )
    if line.key != "inherit" and any(sign in line.value for sign in ("%(", "$(", "@(")):
        return (
            "include-variable",
            "uWSGI opens the file before it replaces variables, and does not find it",
        )
    if _leaves(line.value, directory):
        return (
            "include-outside",
            f"{line.value} is outside {directory or 'the directory of this file'}",
        )
    return None


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
