"""The command that starts uWSGI: its options before and after the file."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from tuner.uwsgi.lint.subject import Subject
from tuner.uwsgi.options.catalogue import Catalogue
from tuner.uwsgi.options.guessing import short_forms
from tuner.uwsgi.options.option import Kind, Option

_PROGRAMS = frozenset({"uwsgi", "uwsgi-core", "pyuwsgi"})
_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_ENDS = frozenset({";", "&", "&&", "|", "||", ">", ">>", "2>"})
_SHORT_FILES = {"x": "xml", "y": "yaml", "j": "json", "S": "set"}
_FILES = frozenset({"ini", "xml", "yaml", "yml", "json", "js", "config"})
_SUFFIXES = tuple(f".{suffix}" for suffix in sorted(_FILES - {"config"}))
_ALONE = frozenset({"chmod-socket", "http-keepalive", "log-master", "so-send-timeout"})
"""Options whose value cannot follow a blank on the command line. In a file they take one."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One option of the command, by its canonical name; `key` is its spelling there."""

    option: str
    key: str
    value: str | None

    @property
    def text(self) -> str:
        """As on the command line."""
        return self.key if self.value is None else f"{self.key} {self.value}"


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of uWSGI: it reads the options `before` before its files, and `after` after them.

    That is their order on the command, except that a file without `--ini` is read last. `stray` are
    the words that uWSGI takes for file names although they are none.
    """

    before: tuple[Argument, ...]
    after: tuple[Argument, ...]
    stray: tuple[str, ...]
    reads_file: bool

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """All of them."""
        return self.before + self.after


def invocation_of(subject: Subject) -> Invocation | None:
    """The box's command as uWSGI reads it; None without a command, or without uWSGI in it."""
    words = _words(subject.box.command)
    if words is None:
        return None
    return _split(list(_read(words, subject.catalogue)))


def _words(command: Sequence[str]) -> list[str] | None:
    """The words after the program, also inside `sh -c "..."`."""
    for at, word in enumerate(command):
        name = word.rpartition("/")[2]
        if name in _PROGRAMS:
            return list(takewhile(lambda w: w not in _ENDS, command[at + 1 :]))
        if name in _SHELLS and len(command) > at + 2 and command[at + 1].endswith("c"):
            return _words(_shell_words(command[at + 2]))
    return None


def _shell_words(text: str) -> list[str]:
    """Words and signs: `a.ini; next` is three. Empty when no shell would run the text."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a quote that is never closed
        return []


@dataclass(frozen=True, slots=True)
class _File:
    is_announced: bool


def _read(words: Sequence[str], catalogue: Catalogue) -> Iterator[Argument | _File | str]:
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word == "-":
            yield _File(is_announced=False) if _is_file(word) else word
            continue
        key, equals, inline = word.partition("=")
        if not word.startswith("--"):
            key, equals, inline = word[:2], word[2:3], word[2:]
        option = _option(key, catalogue)
        value: str | None = inline if equals else None
        if not equals and left and _takes_value(option, left[0]):
            value = left.pop(0)
        name = option.name if option else key.lstrip("-")
        yield _File(is_announced=True) if name in _FILES else Argument(name, key, value)


def _is_file(word: str) -> bool:
    return word.partition(".ini:")[0].endswith(_SUFFIXES) or ".ini:" in word


def _option(key: str, catalogue: Catalogue) -> Option | None:
    """The option of a key: getopt accepts every prefix that is unique."""
    name = (
        key.removeprefix("--")
        if key.startswith("--")
        else ({**short_forms(), **_SHORT_FILES}).get(key[1:2], "")
    )
    found = catalogue.find(name)
    if found or len(name) < 2:
        return found
    fitting = {o.name: o for o in catalogue.options if any(n.startswith(name) for n in o.names)}
    return next(iter(fitting.values())) if len(fitting) == 1 else None


def _takes_value(option: Option | None, following: str) -> bool:
    if option is None:
        return not following.startswith("-") and not _is_file(following)
    return option.kind is not Kind.FLAG and not _ALONE.intersection(option.names)


def _split(read: Sequence[Argument | _File | str]) -> Invocation:
    files = [at for at, item in enumerate(read) if isinstance(item, _File)]
    first, last = (files[0], files[-1]) if files else (len(read), len(read))
    if any(isinstance(item, _File) and not item.is_announced for item in read):
        first = last = len(read)
    return Invocation(
        before=tuple(item for item in read[:first] if isinstance(item, Argument)),
        after=tuple(item for item in read[last:] if isinstance(item, Argument)),
        stray=tuple(item for item in read if isinstance(item, str)),
        reads_file=bool(files),
    )
