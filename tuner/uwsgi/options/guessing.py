"""Options of uWSGI, all those of one build, and the one that a wrong name most likely means."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Self

from tuner.nouns.plain import Danger
from tuner.uwsgi import knowledge

# ---- One option of uWSGI


class Kind(StrEnum):
    """How uWSGI reads the text after the `=`."""

    FLAG = "flag"  # true unless it is one of four words in any case: false, off, no, 0
    INTEGER = "integer"  # by C's atoi: `8 ; c` is 8, `abc`, `true` and nothing are 0
    TEXT = "text"
    LIST = "list"  # every line adds a value; for all other kinds the last line wins
    ACTION = "action"  # applied when it is read: `set`, `ini`, `print`, `if-env`, ...


class Takes(StrEnum):
    """What follows the option on a command line."""

    VALUE = "value"
    NOTHING = "nothing"
    MAYBE = "maybe"  # `--name=value` only: a word of its own is no value


class Advice(StrEnum):
    """What a tuner may do with it."""

    TUNE = "tune"  # changes speed, and nothing that the app can see
    SEMANTIC = "semantic"  # changes what the app or its users see: the owner decides
    NEVER = "never"  # commands, sockets, identity: a benchmark does not touch them


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option under its canonical name.

    `names` are all its spellings. `default` is in the form of a file; None when there is none or it
    is unknown. `since` is the first version that has the option, `until` the last; None when every
    version has it. `needs` is what the build needs (`pcre`, `ssl`, a plugin); empty for nothing.
    `rules` are constraints as sentences. A line with the option turns `forces` on, also with the
    value `false`. `sentence` says what it does. An `is_immediate` option is applied at its line,
    before `%(name)`, `$(NAME)` and `@(file)` are replaced: it sees them as plain text. `letter` is
    its short form on a command line; empty for none.
    """

    name: str
    names: tuple[str, ...]
    kind: Kind
    sentence: str = ""
    default: str | None = None
    since: str | None = None
    until: str | None = None
    needs: str = ""
    rules: tuple[str, ...] = ()
    forces: tuple[str, ...] = ()
    advice: Advice = Advice.SEMANTIC
    danger: Danger | None = None
    is_immediate: bool = False
    takes: Takes = Takes.VALUE
    letter: str = ""


# ---- All options of one build of uWSGI


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The options of one build; `version` is the one that uWSGI reports.

    `is_of_build` is true for the options that an image listed. Otherwise these are all options in
    the sources of that version, with all plugins and libraries.
    """

    version: str
    options: tuple[Option, ...]
    is_of_build: bool = False
    _by_name: Mapping[str, Option] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {name: option for option in self.options for name in option.names}
        object.__setattr__(self, "_by_name", names)

    @classmethod
    def of(cls, version: str, options: Iterable[Option], *, is_of_build: bool = False) -> Self:
        """From options in any order."""
        return cls(version, tuple(sorted(options, key=lambda o: o.name)), is_of_build)

    def find(self, name: str) -> Option | None:
        """The option with that spelling; None when this build has none."""
        return self._by_name.get(name)

    def of_letter(self, letter: str) -> Option | None:
        """The option with that letter on a command line; None when there is none."""
        return next((option for option in self.options if option.letter == letter), None)

    @property
    def spellings(self) -> Collection[str]:
        """Every name of every option."""
        return self._by_name.keys()


# ---- The option that a wrong name most likely means

_SHORT = 6
"""Shorter names may have one wrong letter, longer ones two."""

_SHORTEST = 4
"""Shorter names are similar to too many others."""

_MOST_MISSING = 3
"""Letters that may be missing at the end of a name."""


@cache
def _spellings() -> Mapping[str, Mapping[str, str]]:
    return knowledge.mapping("options/spellings.yaml")


def nearest(catalogue: Catalogue, name: str) -> str | None:
    """The spelling that is most likely meant; None when none is similar.

    It is one of the catalogue's, and not `name` itself.
    """
    spellings = tuple(catalogue.spellings)
    bare = name.strip().strip("-")
    if len(bare) == 1:
        of_letter = catalogue.of_letter(bare)
        return of_letter.name if of_letter and of_letter.kind is not Kind.ACTION else None
    wanted = bare.lower().replace("_", "-").strip("-")
    for guess in (_same_letters, _by_other_name, _same_words, _few_slips, _longer):
        found = guess(wanted, spellings)
        if found is not None and found != name:
            return found
    return None


def _same_letters(wanted: str, spellings: tuple[str, ...]) -> str | None:
    """`thunder_lock`, `wsgifile`, `py-callos-afterfork`: only hyphens and underscores are wrong."""
    letters = wanted.replace("-", "")
    return next((name for name in spellings if name.replace("-", "") == letters), None)


def _by_other_name(wanted: str, spellings: tuple[str, ...]) -> str | None:
    known = _spellings()["habits"].get(wanted)
    return known if known in spellings else None


def _same_words(wanted: str, spellings: tuple[str, ...]) -> str | None:
    """`timeout-http`: the same words in another order."""
    words = sorted(wanted.split("-"))
    if len(words) < 2:
        return None
    length = len(wanted)
    same_length = (name for name in spellings if len(name) == length)
    return next((name for name in same_length if sorted(name.split("-")) == words), None)


def _few_slips(wanted: str, spellings: tuple[str, ...]) -> str | None:
    """`vaccum`, `process`, `harakri`: additional, missing, wrong or swapped letters."""
    if len(wanted) < _SHORTEST:
        return None
    most = 1 if len(wanted) < _SHORT else 2
    ranked = (
        (slips, -_same_beginning(wanted, name), abs(len(name) - len(wanted)), name)
        for name in _alike(wanted, spellings, most)
        if (slips := _slips(wanted, name, most)) <= most
    )
    best = min(ranked, default=None)
    return best[-1] if best else None


def _same_beginning(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _alike(wanted: str, spellings: tuple[str, ...], most: int) -> Iterator[str]:
    """Names of nearly the same letters. Counting slips is slow, so other names are skipped."""
    letters, length = set(wanted), len(wanted)
    for name in spellings:
        if -most <= len(name) - length <= most and len(letters.symmetric_difference(name)) <= (
            2 * most
        ):
            yield name


def _slips(one: str, other: str, most: int) -> int:
    """The edit distance of two names; a swap of neighbours counts 1. It may stop above `most`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, match in enumerate(other, 1):
            cost = min(row[j - 1] + 1, before[j] + 1, before[j - 1] + (letter != match))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == match:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


def _longer(wanted: str, spellings: tuple[str, ...]) -> str | None:
    """`exec-pre`, `proces`: the first words of a name, or all but its last letters."""
    if len(wanted) < _SHORTEST:
        return None
    beginning = f"{wanted}-"
    found = min((n for n in spellings if n.startswith(beginning)), key=len, default=None)
    if found is not None or len(wanted) < _SHORT:
        return found
    most = len(wanted) + _MOST_MISSING
    cut = (n for n in spellings if n.startswith(wanted) and len(n) <= most)
    return min(cut, key=len, default=None)
