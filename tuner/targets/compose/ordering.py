"""The words of one call of uWSGI in the order in which it reads them, and several files as one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tuner.targets.compose.supervisors import Read, Text
from tuner.uwsgi.command_line import Argument, file_of, ini_of, is_file
from tuner.uwsgi.converting import WRITERS, of_form
from tuner.uwsgi.forms import Malformed, form_of
from tuner.uwsgi.ini import CLOSES, INCLUDES, OPENS, SECTION, IniFile, Line, canonical
from tuner.uwsgi.ini.expansion import magic_of, with_magic
from tuner.uwsgi.options import Kind, known

_CONFIGS = frozenset({"ini", "yaml", "xml", "json", "config"})
_PASTES = frozenset({"ini-paste", "ini-paste-logged"})

Item = Argument | str
"""An option of a command, or a word that belongs to none."""


def in_order(items: Iterable[Item], folder: str) -> Iterator[Item]:
    """As uWSGI reads them: a file that no option announces comes after all options.

    `--ini-paste FILE` reads FILE, and takes it for the app too.
    """
    last: list[str] = []
    for item in items:
        if isinstance(item, str):
            if is_file(item):
                last.append(item)
            else:
                yield item
        elif item.name in _PASTES and item.value:
            place = PurePosixPath(folder, item.value)
            yield Argument("--ini", known().find("ini"), item.value)
            yield Argument("--paste", known().find("paste"), f"config:{place}")
            if item.name == "ini-paste-logged":
                yield Argument("--paste-logger", known().find("paste-logger"), None)
        else:
            yield item
    yield from last


def has_paste(items: Iterable[Item]) -> bool:
    """Whether one file is the configuration and the app."""
    return any(not isinstance(item, str) and item.name in _PASTES for item in items)


def config_of(item: Item) -> str | None:
    """The file of options that a word names."""
    word = item if isinstance(item, str) else item.value or ""
    is_config = isinstance(item, str) or item.name in _CONFIGS
    return word if is_config and is_file(word) else None


def words_of_item(item: Item) -> list[str]:
    """As the command line has it."""
    return [item] if isinstance(item, str) else item.words


def line_of(item: Argument) -> str:
    """The line of a file that means the same as an option."""
    (line,) = ini_of(["uwsgi", *item.words], known()).splitlines()[1:]
    return line


def can_move(item: Argument, ini: IniFile) -> bool:
    """Whether a line of the file means the same as the option."""
    option = item.option
    if option is None or option.kind in {Kind.LIST, Kind.ACTION} or "$" in (item.value or ""):
        return False
    names = {canonical(name) for name in option.names}
    held = (step for step in ini.read.steps if step.is_conditional and step.line.setting)
    return not any(canonical((step.line.setting or ("", ""))[0]) in names for step in held)


@dataclass(frozen=True, slots=True)
class Joined:
    """Several files and the options between them as one file; `left` stays in the command."""

    ini: str
    left: tuple[Item, ...]
    moved: bool


def joined(items: Sequence[Item], place: str, read: Callable[[str], str]) -> Joined:
    """One file in the order of the items, as a later line counts more; comments name the sources.

    `read` gives the text of a file, and `place` names the command.
    """
    texts = {name: body(read(name)) for item in items if (name := config_of(item)) is not None}
    all_of_it = IniFile.parse(file_of(texts.values()))
    lines, left, source = list[str](), list[Item](), ""
    for item in items:
        if (name := config_of(item)) is not None:
            new, text = name, texts[name].rstrip("\n")
        elif isinstance(item, str) or not can_move(item, all_of_it):
            left.append(item)
            continue
        else:
            new, text = place, line_of(item)
        lines += [text] if new == source else [f"; {new}", text]
        source = new
    moved = any(config_of(item) is None and item not in left for item in items)
    return Joined(file_of(lines), tuple(left), moved)


# ---- A configuration as one uwsgi.ini of one section: other forms, sections, and files it includes

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
