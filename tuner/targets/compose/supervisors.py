"""The programs that a supervisor starts: supervisord's configuration, and a Procfile."""

import configparser
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol


class Text(Protocol):
    """A text of a container, and how a user calls its file."""

    @property
    def text(self) -> str:
        """All of it."""

    @property
    def name(self) -> str:
        """Its file."""


Read = Callable[[str], Text | None]
"""The text at a path of the container; None if it is not here."""

_PROCFILE = frozenset({"honcho", "foreman", "overmind", "hivemind"})
SUPERVISORS = frozenset({"supervisord", *_PROCFILE})
_PLACES = ("/etc/supervisord.conf", "/etc/supervisor/supervisord.conf", "supervisord.conf")
_MOST_LEVELS = 4


@dataclass(frozen=True, slots=True)
class Program:
    """A command for a shell; `at` is file and line. Without a `folder` it is the supervisor's."""

    command: str
    at: str
    folder: str = ""
    variables: tuple[tuple[str, str], ...] = ()


def programs_of(words: Sequence[str], read: Read) -> list[Program] | None:
    """The programs that the words start; None without a configuration."""
    if words[0].rpartition("/")[2] in _PROCFILE:
        found = read("Procfile")
        return None if found is None else list(_of_procfile(found))
    given = [after for word, after in pairwise(words) if word in ("-c", "--configuration")]
    texts = (read(path) for path in (*given, *_PLACES))
    found = next((text for text in texts if text is not None), None)
    return None if found is None else list(_of_supervisord(found, read, 0))


def _of_procfile(found: Text) -> Iterator[Program]:
    for number, line in enumerate(found.text.splitlines(), start=1):
        if process := re.fullmatch(r"\w+:\s*(.+)", line):
            yield Program(f"/bin/sh -c {shlex.quote(process[1])}", f"{found.name}:{number}")


def _of_supervisord(found: Text, read: Read, level: int) -> Iterator[Program]:
    parser = configparser.RawConfigParser(strict=False, inline_comment_prefixes=(";",))
    try:
        parser.read_string(found.text)
    except configparser.Error:
        return
    for section in parser.sections():
        options = dict(parser[section])
        if section.startswith("program:") and "command" in options:
            yield _program(options, found)
        elif section == "include" and level < _MOST_LEVELS:
            for path in options.get("files", "").split():
                if (included := read(path)) is not None:
                    yield from _of_supervisord(included, read, level + 1)


def _program(options: dict[str, str], found: Text) -> Program:
    first = options["command"].splitlines()[0] if options["command"] else ""
    line = found.text[: max(found.text.find(first), 0)].count("\n") + 1
    return Program(
        command=re.sub(r"%\(ENV_(\w+)\)s", r"${\1}", " ".join(options["command"].splitlines())),
        at=f"{found.name}:{line}",
        folder=options.get("directory", ""),
        variables=tuple(_pairs(options.get("environment", ""))),
    )


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """`A="b",C=d`."""
    for name, quoted, plain in re.findall(r"(\w+)=(?:[\"']([^\"']*)[\"']|([^,\s]*))", text):
        yield name, quoted or plain
