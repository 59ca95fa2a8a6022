"""The options in the C source of uWSGI 2.0.31: known.tsv, read once."""

from collections.abc import Iterable
from functools import cache

from tuner.uwsgi import knowledge
from tuner.uwsgi.options.option import Kind, Option, Takes

VERSION = "2.0.31"
"""The release of the table; tests/option_tables.py builds the table."""


def rows_of(lines: Iterable[str]) -> tuple[Option, ...]:
    """The options of a table; tests/option_tables.py names its columns."""
    return tuple(_option(line) for line in lines if line and not line.startswith("#"))


@cache
def rows() -> tuple[Option, ...]:
    """The table that comes with this package."""
    return rows_of(knowledge.table("options/known.tsv"))


def _option(line: str) -> Option:
    names, kind, needs, forces, when, takes, letter, *_ = [*line.split("\t"), *[""] * 5]
    spellings = tuple(names.split(" "))
    return Option(
        name=spellings[0],
        names=spellings,
        kind=Kind(kind),
        needs=needs,
        forces=tuple(forces.split()),
        is_immediate=bool(when),
        takes=Takes(takes or Takes.VALUE),
        letter=letter,
    )
