"""The command that starts uWSGI: its options before and after the file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.uwsgi.command_line import Argument, arguments, is_file, words_for_uwsgi
from tuner.uwsgi.lint.subject import Subject
from tuner.uwsgi.options.catalogue import Catalogue

_FILES = frozenset({"ini", "xml", "xmlconfig", "yaml", "yml", "json", "js", "config"})


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
    words = words_for_uwsgi(subject.box.command)
    if words is None:
        return None
    return _split(list(_read(words, subject.catalogue)))


@dataclass(frozen=True, slots=True)
class _File:
    is_announced: bool


def _read(words: Sequence[str], catalogue: Catalogue) -> Iterator[Argument | _File | str]:
    for item in arguments(words, catalogue):
        if isinstance(item, str):
            yield _File(is_announced=False) if is_file(item) else item
        else:
            yield _File(is_announced=True) if item.name in _FILES else item


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
