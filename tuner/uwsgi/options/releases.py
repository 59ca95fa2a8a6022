"""What each release of uWSGI brought: releases.tsv, and versions as numbers.

tests/option_tables.py makes the file from the sources of every 2.0.x since 2.0.15.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from tuner.uwsgi import knowledge

OLDEST = "2.0.15"
"""The first release whose options are known."""

NEW = "new"
AT_ONCE = "at once"
TAKES_VALUE = "takes a value"


@dataclass(frozen=True, slots=True)
class Change:
    """What a release changed for some spellings of options.

    `what` is `NEW`: no earlier release has them; `AT_ONCE`: earlier ones replace the variables in
    their values; or `TAKES_VALUE`: for earlier ones they are words alone on a command line.
    """

    release: str
    what: str
    names: frozenset[str]


@cache
def changes() -> tuple[Change, ...]:
    """All changes, the oldest first. No release since 2.0.15 has removed an option."""
    lines = (line for line in knowledge.table("options/releases.tsv") if not line.startswith("#"))
    return tuple(
        Change(release, what, frozenset(names.split(" ")))
        for release, what, names in (line.split("\t") for line in lines)
    )


def changed_after(version: str, what: str) -> frozenset[str]:
    """The spellings that changed so only in releases after that version."""
    later = (c.names for c in changes() if c.what == what and is_before(version, c.release))
    return frozenset[str]().union(*later)


@cache
def first_releases() -> dict[str, str]:
    """The first release that has a spelling, for those that 2.0.15 does not have."""
    return dict(_first_releases())


def _first_releases() -> Iterator[tuple[str, str]]:
    for change in changes():
        if change.what == NEW:
            yield from ((name, change.release) for name in change.names)


@lru_cache(maxsize=64)  # each rule asks
def numbers_of(version: str) -> tuple[int, ...]:
    """`2.0.31` and `2.0.31-debian` as (2, 0, 31); empty for a text without a version."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def is_before(version: str, other: str) -> bool:
    """Whether a version is certainly older than another one; an unknown one is not."""
    numbers = numbers_of(version)
    return bool(numbers) and numbers < numbers_of(other)
