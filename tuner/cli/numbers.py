"""Numbers on the command line, in a file, or in a column of a CSV file."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from tuner.cli.files import STANDARD_INPUT, text_of
from tuner.nouns.errors import InvalidInput

_DELIMITERS = ("\t", ";", ",")


def numbers_of(words: Iterable[str], column: str | None = None) -> list[float]:
    """The numbers in the words, or in the files that the words name.

    `column` picks a column of a file by its heading or by its place from 1. Raises `InvalidInput`.
    """
    found: list[float] = []
    for word in words:
        plain = [_number(part) for part in word.replace(",", " ").split()]
        if plain and all(number is not None for number in plain):
            found += [number for number in plain if number is not None]
        else:
            found += numbers_in(_text_of(word), source=word, column=column)
    return found


def numbers_in(text: str, *, source: str, column: str | None = None) -> list[float]:
    """The numbers of a text: lines, words or one column of a table. Raises `InvalidInput`.

    A first row that holds other text than numbers is a heading. A table with several columns and
    rows needs `column`.
    """
    rows = _rows_of(text)
    if not rows:
        raise _mistake(source, "holds no numbers")
    headings = rows[0][1] if any(_number(field) is None for field in rows[0][1]) else None
    body = rows[1:] if headings else rows
    widest = max((len(fields) for _, fields in body), default=0)
    if column is not None:
        place = _place_of(column, headings, widest, source)
        chosen = [(line, fields[place : place + 1]) for line, fields in body]
    elif widest > 1 and (headings or (len(body) > 1 and _delimiter_of(text))):
        names = ", ".join(headings) if headings else f"1 to {widest}"
        raise _mistake(source, f"has several columns; pick one with --column ({names})")
    else:
        chosen = body
    return [_read(field, source, line) for line, fields in chosen for field in fields if field]


def _text_of(word: str) -> str:
    """The text of a file, without a byte order mark. Raises `InvalidInput`."""
    if word != STANDARD_INPUT and not Path(word).exists():
        raise _mistake(word, "is neither a number nor a file")
    return text_of(word).removeprefix("\ufeff")


def _rows_of(text: str) -> list[tuple[int, list[str]]]:
    """Line numbers and fields of all lines except empty ones."""
    delimiter = _delimiter_of(text)
    lines = text.splitlines()
    rows = csv.reader(lines, delimiter=delimiter) if delimiter else (line.split() for line in lines)
    stripped = ([field.strip() for field in row] for row in rows)
    return [(line, row) for line, row in enumerate(stripped, 1) if any(row)]


def _delimiter_of(text: str) -> str | None:
    return next((delimiter for delimiter in _DELIMITERS if delimiter in text), None)


def _place_of(column: str, headings: Sequence[str] | None, widest: int, source: str) -> int:
    if headings and column in headings:
        return headings.index(column)
    if column.isdecimal() and 1 <= int(column) <= widest:
        return int(column) - 1
    known = ", ".join(headings) if headings else f"1 to {widest}"
    raise _mistake(source, f"has no column '{column}'; it has {known}")


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _read(field: str, source: str, line: int) -> float:
    number = _number(field)
    if number is None:
        raise _mistake(source, f"line {line}: '{field}' is not a number")
    return number


def _mistake(source: str, message: str) -> InvalidInput:
    named = "standard input" if source == STANDARD_INPUT else source
    return InvalidInput.at(named, message)
