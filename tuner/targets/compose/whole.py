"""A configuration as one uwsgi.ini of one section: other forms, sections, and files it includes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tuner.targets.compose.supervisors import Read, Text
from tuner.uwsgi.converting import WRITERS, of_form
from tuner.uwsgi.forms import Malformed, form_of
from tuner.uwsgi.ini import CLOSES, INCLUDES, OPENS, SECTION, IniFile, Line
from tuner.uwsgi.ini.expansion import magic_of, with_magic
from tuner.uwsgi.options import known

_MOST_LEVELS = 8


@dataclass(slots=True)
class Whole:
    """The text that means the same. `files` are those that it has now; `lost` says what it lacks.

    `is_same` when it is the text of the first file, letter by letter.
    """

    text: str = ""
    files: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    is_same: bool = True


def whole(found: Text, path: str, section: str, folder: str, read: Read) -> Whole:
    """The whole of a file at a path of the container; uWSGI starts in `folder`.

    A copy of a file has another path: what `%d` and the like mean in it is written out.
    """
    result = Whole(files=[found.name])
    text = _as_ini(found, path, section, result)
    wanted = (section if form_of(path) is None else "") or SECTION
    lines = "".join(_Merger(result, folder, read, path).lines(text, path, wanted, 0))
    result.is_same = result.is_same and wanted == SECTION and text == found.text
    result.text = text if result.is_same else f"[{SECTION}]\n{lines}"
    return result


def _as_ini(found: Text, path: str, section: str, result: Whole) -> str:
    form = form_of(path)
    if form is None:
        return found.text
    try:
        pieces = of_form(found.text, form, section)
    except Malformed as error:
        result.lost.append(f"{found.name}:{error.line}: no {form.name}: {error}")
        return found.text
    text = WRITERS["ini"](pieces, known())
    result.lost += [f"{found.name}: {lost}" for lost in pieces.lost]
    return text


@dataclass(slots=True)
class _Merger:
    result: Whole
    folder: str
    read: Read
    first: str  # the path of the first file

    def lines(self, text: str, path: str, section: str, level: int) -> Iterator[str]:
        """The lines of one section, with those that it includes in their place."""
        ini = IniFile.parse(text, section)
        asked = "" if section == SECTION else section
        magic = magic_of(path, asked, self.first if self.first.startswith("/") else None)
        known_magic = {key: value for key, value in magic.items() if key.isalnum()}
        block = False
        for line in ini.lines:
            if not _is_inside(line, section):
                continue
            block = (block or line.key in OPENS) and line.key not in CLOSES
            if line.key in INCLUDES and level < _MOST_LEVELS:
                value = with_magic(line.value, known_magic)
                yield from self._included(line, value, text, path, block, level)
            else:
                raw = _ended(line)
                new = with_magic(raw, known_magic) if line.key and path.startswith("/") else raw
                self.result.is_same = self.result.is_same and new == raw
                yield new

    def _included(
        self, line: Line, value: str, text: str, path: str, block: bool, level: int
    ) -> Iterator[str]:
        name, colon, section = value.rpartition(":")
        if line.key != "ini" or not colon:
            name, section = value, SECTION
        inner, place = text, path
        if name:
            place = str(PurePosixPath(self.folder, name))
            found = self.read(place) if form_of(place) is None else None
            if found is None:
                self.result.lost.append(f"`{line.text.strip()}`: {place} is not here as an ini")
                yield _ended(line)
                return
            inner = found.text
            self.result.files.append(found.name)
            self.result.is_same = False
        lines = list(self.lines(inner, place, section or SECTION, level + 1))
        if block and any(key in text for text in lines for key in (*OPENS, *CLOSES)):
            self.result.lost.append(f"`{line.text.strip()}`: a block in a block cannot be merged")
            yield _ended(line)
            return
        yield from lines


def body(text: str) -> str:
    """The lines of the section that uWSGI reads, without its title."""
    return "".join(_ended(line) for line in IniFile.parse(text).lines if _is_inside(line, SECTION))


def _is_inside(line: Line, section: str) -> bool:
    return line.section == section and not line.text.lstrip().startswith("[")


def _ended(line: Line) -> str:
    return line.raw if line.ending else f"{line.raw}\n"
