"""A parsed file: its lines, its effective values, and changes to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tuner.uwsgi.ini.lines import (
    MARK,
    SECTION,
    Line,
    as_comment,
    as_int,
    canonical,
    eats_newline,
    inline_comment,
    is_true,
    read_lines,
    why_unwritable,
)
from tuner.uwsgi.ini.walking import Step, Walk, walk

# ---- The changes as a second file, which uWSGI reads after the user's


def overlay(
    changes: Mapping[str, str],
    comments: Iterable[str] = (),
    notes: Mapping[str, str] | None = None,
) -> str:
    """A file for a second `--ini`, which overrides the first.

    It adds to lists and cannot replace them. `%(option)` in the first file still means the first
    file's value. `notes` are comments on options. Raises `ValueError` for an option or a value that
    no line can contain.
    """
    lines = [f"{MARK}{as_comment(comment)}" for comment in comments]
    lines.append(f"[{SECTION}]")
    for option, value in changes.items():
        wrong = why_unwritable(option, value)
        if wrong:
            raise ValueError(f"{option} {wrong}")
        if notes and option in notes:
            lines.append(f"{MARK}{as_comment(notes[option])}")
        lines.append(f"{option} = {value}")
    return "\n".join(lines) + "\n"


# ---- Set one option so that it decides, and change nothing else
#
# set without a condition   its last line gets the value, in place
#   later copies            become comments
#   a later include         may set it too: the line moves below the include
# not set, or only on a condition: a new line at the end of the section's last block
# taken out (None)          all its lines become comments, those on a condition too

_Edits = dict[int, list[str]]  # raw lines that replace the one at that index


def with_option(
    lines: Sequence[Line], read: Walk, option: str, value: str | None, note: str | None
) -> tuple[Line, ...]:
    """The lines with `option` at `value` or without it, and `note` as our only comment on it.

    Without a note, an older one is removed when the value changes. `read` is the walk through
    `lines`.
    """
    wanted = canonical(option)
    places = [
        (turn, step) for turn, step in enumerate(read.steps) if _option_of(step.line) == wanted
    ]
    plain = [(turn, step) for turn, step in places if not step.is_conditional]
    if value is None:
        edits = _taken_out(lines, [step for _, step in places], note)
    elif plain and not _is_overtaken(read, plain[-1][0]):
        turn, last = plain[-1]
        edits = _out_of(lines, (s for t, s in places if t > turn and s.index != last.index))
        edits |= _in_place(lines, last.index, value, note)
    else:
        moved = [plain[-1][1]] if plain else []
        edits = _out_of(lines, [*moved, *(s for t, s in places if t >= read.done)])
        edits = _appended(lines, read, edits, f"{option} = {value}", note)
    changed = {i: raws for i, raws in edits.items() if "".join(raws) != _raw_at(lines, i)}
    if not changed:
        return tuple(lines)
    return read_lines(
        "".join("".join(changed.get(i, (line.raw,))) for i, line in enumerate(lines))
        + "".join(changed.get(len(lines), ()))
    )


def ending_of(lines: Sequence[Line]) -> str:
    """The ending of a new line: CRLF when any line of the file has it."""
    return "\r\n" if any(line.ending == "\r\n" for line in lines) else "\n"


def _raw_at(lines: Sequence[Line], index: int) -> str:
    return lines[index].raw if index < len(lines) else ""


def _option_of(line: Line) -> str | None:
    return canonical(line.setting[0]) if line.setting else None


def _is_overtaken(read: Walk, turn: int) -> bool:
    """Whether uWSGI reads another file after that turn and before a new line of ours.

    No line of ours can follow an include inside a block that is never closed.
    """
    return any(step.is_foreign for step in read.steps[turn + 1 : read.done])


def _out_of(lines: Sequence[Line], steps: Iterable[Step]) -> _Edits:
    """The lines as comments; their joined lines stay part of the comment."""
    edits: _Edits = {}
    for step in steps:
        edits[step.index] = [lines[step.index].commented_out().raw]
        edits |= _without_note(lines, step.index)
    return edits


def _taken_out(lines: Sequence[Line], steps: Sequence[Step], note: str | None) -> _Edits:
    edits = _out_of(lines, steps)
    if steps and note is not None:
        line = lines[steps[0].index]
        ours = _note(note, line.indent, line.ending or ending_of(lines))
        edits[steps[0].index].insert(0, ours)
    return edits


def _in_place(lines: Sequence[Line], index: int, value: str, note: str | None) -> _Edits:
    line = lines[index]
    ending = line.ending or ending_of(lines)
    above: list[str] = []
    if line.setting is None or line.setting[1] == value:
        raw, edits = line.raw, _Edits()
    else:
        raw, edits = line.with_value(value).raw, _without_joined(lines, index)
        comment = inline_comment(line.setting[1])
        above = [f"{line.indent}{as_comment(comment)}{ending}"] if comment else []
    if note is None and raw == line.raw:
        return edits
    above += [] if note is None else [_note(note, line.indent, ending)]
    return {**edits, **_without_note(lines, index), index: [*above, raw]}


def _without_joined(lines: Sequence[Line], index: int) -> _Edits:
    """The lines that were joined to the old value and would now be lines of their own."""
    edits: _Edits = {}
    for after in range(index + 1, _last_joined(lines, index) + 1):
        if lines[after].text.strip():
            edits[after] = [lines[after].commented_out().raw]
    return edits


def _without_note(lines: Sequence[Line], index: int) -> _Edits:
    return {index - 1: []} if index > 0 and lines[index - 1].is_note else {}


def _appended(
    lines: Sequence[Line], read: Walk, edits: _Edits, text: str, note: str | None
) -> _Edits:
    """A new line below the last unconditional one; a new section when there is none."""
    at = _end(lines, read)
    new = [text] if at is not None else [f"[{SECTION}]", text]
    if note is not None:
        new.insert(-1, _note(note, "", ""))
    after = _last_joined(lines, len(lines) - 1 if at is None else at)
    ending = (lines[after].ending if lines else "") or ending_of(lines)
    fresh = [f"{line}{ending}" for line in new]
    if not lines:
        return {0: fresh}
    raws = edits.get(after, [lines[after].raw])
    return {**edits, after: [*_ended(raws, lines[after], ending), *fresh]}


def _ended(raws: list[str], line: Line, ending: str) -> list[str]:
    """`raws` with an ending, so that the next line is separate."""
    missing = "" if line.ending else ending
    if eats_newline(line.raw.removesuffix("\n")):
        missing += ending
    return [*raws, missing] if missing else raws


def _end(lines: Sequence[Line], read: Walk) -> int | None:
    """The line above a new one: the last unconditional line, with its comments.

    A block that is never closed reaches to the end of the file, so the place is above it.
    """
    first = -1 if read.end is None else read.end
    found = read.end
    for index in range(first + 1, len(lines)):
        line = lines[index]
        if line.section != SECTION or line.joined:
            continue
        if line.key is not None:
            break
        if line.raw.strip():
            found = index
    return found


def _last_joined(lines: Sequence[Line], index: int) -> int:
    while index + 1 < len(lines) and lines[index + 1].joined:
        index += 1
    return index


def _note(text: str, indent: str, ending: str) -> str:
    return f"{indent}{MARK}{as_comment(text)}{ending}"


@dataclass(frozen=True, slots=True)
class IniFile:
    """A parsed file: `dump()` returns exactly the parsed text.

    `read` is how uWSGI goes through it, from `section` on and through its own included sections.
    """

    lines: tuple[Line, ...]
    section: str = SECTION
    read: Walk = field(init=False, repr=False, compare=False)
    _plain: Mapping[str, list[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        read, plain = walk(self.lines, self.section), dict[str, list[str]]()
        for step in read.steps:
            setting = None if step.is_conditional else step.line.setting
            if setting is not None:
                plain.setdefault(canonical(setting[0]), []).append(setting[1])
        object.__setattr__(self, "read", read)
        object.__setattr__(self, "_plain", plain)

    @classmethod
    def parse(cls, text: str, section: str = SECTION) -> "IniFile":
        """Read any text, as uWSGI does that is asked for this section of it."""
        return cls(read_lines(text), section)

    def dump(self) -> str:
        """The file's text."""
        return "".join(line.raw for line in self.lines)

    @property
    def has_section(self) -> bool:
        """Whether uWSGI finds a section to read."""
        return any(line.section == self.section for line in self.lines)

    def values(self, option: str) -> list[str]:
        """All unconditional values of an option, in any spelling, in uWSGI's order."""
        return list(self._plain.get(canonical(option), ()))

    def get(self, option: str) -> str | None:
        """The last value, which decides; None when the option is not set."""
        values = self._plain.get(canonical(option))
        return values[-1] if values else None

    def integer(self, option: str, default: int) -> int:
        """The option as a number."""
        value = self.get(option)
        return default if value is None else as_int(value)

    def flag(self, option: str) -> bool:
        """The option as a boolean; False when it is not set."""
        value = self.get(option)
        return value is not None and is_true(value)

    def patch(
        self, changes: Mapping[str, str | None], notes: Mapping[str, str] | None = None
    ) -> "IniFile":
        """Set each option so that its value decides, or take it out (None); nothing else changes.

        `notes` puts one of our comments above the line of an option and replaces an older one.
        A second patch with the same values and notes changes nothing. A patch cannot override
        `inherit`, which uWSGI reads last. Raises `ValueError` for an option or a value that no
        line can contain.
        """
        file = self
        for option, value in changes.items():
            wrong = why_unwritable(option, value or "")
            if wrong:
                raise ValueError(f"{option} {wrong}")
            note = (notes or {}).get(option)
            lines = with_option(file.lines, file.read, option, value, note)
            file = file if lines == file.lines else IniFile(lines)
        return file

    def annotate(self, comments: Iterable[str]) -> "IniFile":
        """Put our comment lines on top; they replace earlier ones."""
        ending = ending_of(self.lines)
        ours = tuple(Line(f"{MARK}{as_comment(text)}{ending}", None) for text in comments)
        return IniFile(ours + tuple(line for line in self.lines if not self._is_header(line)))

    @property
    def header(self) -> list[str]:
        """The texts of our comment lines on top."""
        ours = (line for line in self.lines if self._is_header(line))
        return [line.text.removeprefix(MARK) for line in ours]

    @staticmethod
    def _is_header(line: Line) -> bool:
        return line.section is None and not line.joined and line.raw.startswith(MARK)
