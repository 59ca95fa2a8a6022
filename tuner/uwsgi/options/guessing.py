"""The option that a wrong name most likely means."""

from collections.abc import Iterator, Mapping
from functools import cache

from tuner.uwsgi import knowledge
from tuner.uwsgi.options.catalogue import Catalogue
from tuner.uwsgi.options.option import Kind

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
