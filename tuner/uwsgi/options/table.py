"""The options in the C source of uWSGI 2.0.31: known.tsv, read once."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from tuner.uwsgi import knowledge
from tuner.uwsgi.options.option import Kind

VERSION = "2.0.31"
"""The release of the table; tests/option_tables.py builds the table."""

_KINDS = {kind.value: kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class Row:
    """One option. The fields mean the same as in `Option`."""

    names: tuple[str, ...]
    kind: Kind
    needs: str = ""
    forces: tuple[str, ...] = ()
    is_immediate: bool = False


def rows_of(lines: Iterable[str]) -> tuple[Row, ...]:
    """The rows of a table: names, kind, needs, forced options, when; separated by tabs."""
    return tuple(_row(line) for line in lines if line and not line.startswith("#"))


@cache
def rows() -> tuple[Row, ...]:
    """The table that comes with this package."""
    return rows_of(knowledge.table("options/known.tsv"))


def _row(line: str) -> Row:
    names, kind, needs, forces, when, *_ = [*line.split("\t"), "", "", ""]
    return Row(tuple(names.split(" ")), _KINDS[kind], needs, tuple(forces.split()), bool(when))
