"""How uWSGI is called: which options stand on the command, before and after the file."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from tuner.uwsgi.lint.subject import Subject
from tuner.uwsgi.options.catalogue import Catalogue
from tuner.uwsgi.options.option import Kind, Option

_PROGRAMS = frozenset({"uwsgi", "uwsgi-core", "pyuwsgi"})
_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_ENDS = frozenset({";", "&", "&&", "|", "||", ">", ">>", "2>"})
_SHORT = {
    "s": "socket", "p": "processes", "t": "harakiri", "l": "listen", "b": "buffer-size",
    "m": "memory-report", "a": "abstract-socket", "C": "chmod-socket", "T": "enable-threads",
    "i": "single-interpreter", "M": "master", "R": "max-requests", "z": "socket-timeout",
    "w": "module", "H": "virtualenv", "L": "disable-logging", "O": "optimize", "d": "daemonize",
    "x": "xml", "y": "yaml", "j": "json", "S": "set",
}  # fmt: skip
_FILES = frozenset({"ini", "xml", "yaml", "yml", "json", "js", "config"})
_SUFFIXES = tuple(f".{suffix}" for suffix in sorted(_FILES - {"config"}))
_ALONE = frozenset({"chmod-socket", "http-keepalive", "log-master", "so-send-timeout"})
"""Options that take no value behind a blank on the command, whatever they take in a file."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One option of the command, under its own name; `key` is how it is spelt there."""

    option: str
    key: str
    value: str | None

    @property
    def text(self) -> str:
        """As one would write it."""
        return self.key if self.value is None else f"{self.key} {self.value}"


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of uWSGI: `before` are the options that it reads before its files, `after` the rest.

    That is their order on the command, but that a file which no `--ini` announces is read at the
    very end. `stray` is what uWSGI would take for the name of a file to load, and is none.
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
    """The box's command as uWSGI reads it; None where there is none, or no uWSGI in it."""
    words = _words(subject.box.command)
    if words is None:
        return None
    return _split(list(_read(words, subject.catalogue)))


def _words(command: Sequence[str]) -> list[str] | None:
    """What stands behind the program, be it within `sh -c "..."`."""
    for at, word in enumerate(command):
        name = word.rpartition("/")[2]
        if name in _PROGRAMS:
            return list(takewhile(lambda w: w not in _ENDS, command[at + 1 :]))
        if name in _SHELLS and len(command) > at + 2 and command[at + 1].endswith("c"):
            return _words(_shell_words(command[at + 2]))
    return None


def _shell_words(text: str) -> list[str]:
    """Words and signs, so that `a.ini; next` is three; none where no shell would run it."""
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
    """The option that is meant: getopt takes every beginning that only one option has."""
    name = key.removeprefix("--") if key.startswith("--") else _SHORT.get(key[1:2], "")
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
