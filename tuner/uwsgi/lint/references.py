"""Names behind `%(...)`: which ones a file uses, and which ones it sets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from tuner.uwsgi.ini import CLOSES, OPENS
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options import known, later_release
from tuner.uwsgi.options.guessing import Catalogue
from tuner.uwsgi.templates import statement

REFERENCE = re.compile(r"%\(([^()]*)\)")
PLACEHOLDERS = frozenset({"set-placeholder", "set-ph"})
SETS = PLACEHOLDERS | {"set"}
_CONDITIONS = frozenset({"if-opt", "if-not-opt"})


def referenced(subject: Subject) -> frozenset[str]:
    """Every name that a `%(...)` or a condition of the file uses, in any section."""
    found: set[str] = set()
    for line in subject.ini.lines:
        if line.key is None:
            continue
        if line.key in _CONDITIONS:
            found.add(line.value.partition("=")[0])
        if "%(" in line.value:
            for inner in REFERENCE.findall(line.value):
                found.update((inner, *inner.split(" ")))
    return frozenset(found)


def assigned(subject: Subject) -> frozenset[str]:
    """Every name that the file sets, directly or by `set`."""
    found = {entry.key for entry in subject.entries}
    for entry in subject.entries:
        if entry.key in SETS or entry.key == "resolve":
            found.add(entry.value.partition("=")[0])
    return frozenset(found)


def includes_others(subject: Subject) -> bool:
    """Whether uWSGI reads another file too, which may use and set the same names."""
    steps = subject.ini.read.steps
    return any(step.is_foreign or step.line.key == "inherit" for step in steps)


# ---- Keys that are no option, and why, as far as the file shows it

_DECLARES = ("declare-option", "declare-option2")
_OF_OTHER_RULES = re.compile("[\r\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u2060\u3000\ufeff]")
_COLON = re.compile(r"([^\s:=]+)[ \t]*:[ \t]*(.*)", re.DOTALL)
_WORDS = re.compile(r"([^\s=]+)[ \t]+(.+)", re.DOTALL)


class Why(Enum):
    """Why a key is no option."""

    COLON = auto()  # `processes: 4`
    NO_EQUALS = auto()  # `processes 4`
    SPELLING = auto()  # `--thunder_lock`
    OTHER_BUILD = auto()
    OTHER_RELEASE = auto()
    MISSPELT = auto()  # `meant` is similar
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key that is no option. `meant` is the option, `value` the intended value."""

    entry: Entry
    why: Why
    meant: str = ""
    value: str = ""


def unknown_keys(subject: Subject, *, guess: bool = False) -> Iterator[UnknownKey]:
    """All keys that are no option, no used placeholder, and no continuation of a line.

    Similar names are searched only with `guess`; otherwise `Why.NOTHING` covers both.
    """
    return _with_guesses(subject) if guess else _without_guesses(subject)


def _without_guesses(subject: Subject) -> Iterator[UnknownKey]:
    explained = referenced(subject) | _declared(subject) | OPENS | CLOSES
    for above, entry in zip((None, *subject.entries), subject.entries, strict=False):
        if entry.option or entry.key in explained or _is_of_other_rules(entry):
            continue
        if not (above and above.is_continued and above.number + 1 == entry.number):
            yield _explained(entry, subject.catalogue)


def _is_of_other_rules(entry: Entry) -> bool:
    return bool(_OF_OTHER_RULES.search(entry.key)) or statement(entry.line.text) is not None


def _with_guesses(subject: Subject) -> Iterator[UnknownKey]:
    for found in _without_guesses(subject):
        is_open = found.why is Why.NOTHING
        meant = subject.nearest(found.entry.key) if is_open else None
        yield UnknownKey(found.entry, Why.MISSPELT, meant) if meant else found


def _declared(subject: Subject) -> frozenset[str]:
    """Options that the file declares itself."""
    values = (entry.value for entry in subject.entries if entry.key in _DECLARES)
    return frozenset(value.partition("=")[0] for value in values)


def _explained(entry: Entry, catalogue: Catalogue) -> UnknownKey:
    key = entry.key
    for pattern, why in ((_COLON, Why.COLON), (_WORDS, Why.NO_EQUALS)):
        split = pattern.fullmatch(key)
        if split and catalogue.find(split.group(1)):
            return UnknownKey(entry, why, split.group(1), _rest_of(entry, split.group(2)))
    plain = key.lstrip("-").lower().replace("_", "-")
    if plain != key and catalogue.find(plain):
        return UnknownKey(entry, Why.SPELLING, plain, entry.value)
    if later_release(key, catalogue.version):
        return UnknownKey(entry, Why.OTHER_RELEASE)
    is_of_others = catalogue.is_of_build and known().find(key)
    return UnknownKey(entry, Why.OTHER_BUILD if is_of_others else Why.NOTHING)


def _rest_of(entry: Entry, text: str) -> str:
    """The text after the name: `env: A=b` has been split at its `=`."""
    return f"{text}={entry.value}" if "=" in entry.line.raw else text
