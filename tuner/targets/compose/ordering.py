"""The words of one call of uWSGI in the order in which it reads them, and several files as one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tuner.targets.compose.whole import body
from tuner.uwsgi.command_line import Argument, file_of, ini_of, is_file
from tuner.uwsgi.ini import IniFile, canonical
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
