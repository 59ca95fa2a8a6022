"""Keys that are no option: why not, as far as it shows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from tuner.uwsgi.ini import CLOSES, OPENS
from tuner.uwsgi.lint.rules.parts import is_continued
from tuner.uwsgi.lint.rules.placeholders import referenced
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options import elsewhere, known
from tuner.uwsgi.options.catalogue import Catalogue

_DECLARES = ("declare-option", "declare-option2")
_OTHERWISE_SAID = re.compile("[\r\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u2060\u3000\ufeff]")
_COLON = re.compile(r"([^\s:=]+)[ \t]*:[ \t]*(.*)", re.DOTALL)
_WORDS = re.compile(r"([^\s=]+)[ \t]+(.+)", re.DOTALL)


class Why(Enum):
    """What a key that is no option may be instead."""

    COLON = auto()  # `processes: 4`
    NO_EQUALS = auto()  # `processes 4`
    SPELLING = auto()  # `--thunder_lock`
    OTHER_BUILD = auto()
    OTHER_RELEASE = auto()
    SLIP = auto()  # near to `meant`
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Stranger:
    """A key that is no option. `meant` is the option, `value` what it was to be set to."""

    entry: Entry
    why: Why
    meant: str = ""
    value: str = ""


def strangers(subject: Subject, *, guess: bool = False) -> Iterator[Stranger]:
    """All keys that nothing explains: no option, no placeholder that is used, no rest of a line.

    Only with `guess` near names are looked for; without, `Why.NOTHING` stands for both.
    """
    return _guessed(subject) if guess else _certain(subject)


def _certain(subject: Subject) -> Iterator[Stranger]:
    explained = referenced(subject) | _declared(subject) | OPENS | CLOSES
    continued = {e.number + 1 for e in subject.entries if is_continued(e)}
    for entry in subject.entries:
        is_plain = entry.option is None and entry.key not in explained
        if is_plain and entry.number not in continued and not _OTHERWISE_SAID.search(entry.key):
            yield _looked_at(entry, subject.catalogue)


def _guessed(subject: Subject) -> Iterator[Stranger]:
    for stranger in _certain(subject):
        is_open = stranger.why is Why.NOTHING
        meant = subject.nearest(stranger.entry.key) if is_open else None
        yield Stranger(stranger.entry, Why.SLIP, meant) if meant else stranger


def _declared(subject: Subject) -> frozenset[str]:
    """Options that the file makes up itself."""
    values = (entry.value for entry in subject.entries if entry.key in _DECLARES)
    return frozenset(value.partition("=")[0] for value in values)


def _looked_at(entry: Entry, catalogue: Catalogue) -> Stranger:
    key = entry.key
    for pattern, why in ((_COLON, Why.COLON), (_WORDS, Why.NO_EQUALS)):
        split = pattern.fullmatch(key)
        if split and catalogue.find(split.group(1)):
            return Stranger(entry, why, split.group(1), _rest_of(entry, split.group(2)))
    plain = key.lstrip("-").lower().replace("_", "-")
    if plain != key and catalogue.find(plain):
        return Stranger(entry, Why.SPELLING, plain, entry.value)
    if catalogue.is_of_build and known().find(key):
        return Stranger(entry, Why.OTHER_BUILD)
    return Stranger(entry, Why.OTHER_RELEASE if elsewhere(key) else Why.NOTHING)


def _rest_of(entry: Entry, text: str) -> str:
    """What stood behind the name: `env: A=b` has been split at its `=`."""
    return f"{text}={entry.value}" if "=" in entry.line.raw else text
