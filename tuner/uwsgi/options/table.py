"""What the C source of uWSGI 2.0.31 says of its options, as facts: known.tsv, read once."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tuner.uwsgi.options.option import Kind

VERSION = "2.0.31"
"""The release that the table was made from; tests/option_tables.py makes it anew."""

_KINDS = {kind.value: kind for kind in Kind}


@dataclass(frozen=True, slots=True)
class Row:
    """One option: its spellings, how it is read, what the build needs, what it switches on.

    `is_immediate` is what it is in `Option`.
    """

    names: tuple[str, ...]
    kind: Kind
    needs: str = ""
    forces: tuple[str, ...] = ()
    is_immediate: bool = False


def rows_of(lines: Iterable[str]) -> tuple[Row, ...]:
    """The rows of a table: names, kind, needs, what is switched on, when; tabs between them."""
    return tuple(_row(line) for line in lines if line and not line.startswith("#"))


@cache
def rows() -> tuple[Row, ...]:
    """The table that comes with this package."""
    text = files("tuner.uwsgi.options").joinpath("known.tsv").read_text(encoding="utf-8")
    return rows_of(text.splitlines())


def _row(line: str) -> Row:
    names, kind, needs, forces, when, *_ = [*line.split("\t"), "", "", ""]
    return Row(tuple(names.split(" ")), _KINDS[kind], needs, tuple(forces.split()), bool(when))
