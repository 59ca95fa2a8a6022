"""JSON: an object of texts, whole numbers, true, false, null, and lists of these.

This is uWSGI with jansson (core/json.c).
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from tuner.uwsgi.forms.reading import Malformed, Misread, Read
from tuner.uwsgi.ini import SECTION

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_LONGEST = 19  # digits of jansson's whole numbers
_INT_MAX = 2**31 - 1


def read_json(text: str, section: str) -> Read:
    """The settings of an object at the top, `uwsgi` if `section` is empty. Raises `Malformed`."""
    read = Read()
    wanted, found = section or SECTION, None
    try:
        # The whole is right; what follows only looks for places.
        json.loads(text, parse_int=_whole, parse_constant=_no_constant)
        for _at, key, start in _members(text, _after_blanks(text, 0)):
            found = start if key == wanted else found
        if found is None or text[found] != "{":
            raise Malformed(1, f"it has no object {wanted}")
        _of_object(text, found, read)
    except json.JSONDecodeError as error:
        raise Malformed(error.lineno, error.msg) from error
    except RecursionError as error:
        raise Malformed(1, "it is too deep") from error
    return read


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > _LONGEST:
        raise Malformed(1, f"{digits[:_LONGEST]}... is too large a number")
    return int(digits)


def _no_constant(name: str) -> None:
    raise Malformed(1, f"{name} is no JSON")


def _of_object(text: str, start: int, read: Read) -> None:
    """A key that is there twice counts once, with its last value, as in jansson."""
    members: dict[str, tuple[int, int]] = {}
    line_of = _lines(text)
    read.top = line_of(start)
    for at, key, value_at in _members(text, start):
        if key in members:
            message = f"{key} is there twice: uWSGI uses the last value; a list adds values"
            read.misread.append(Misread(line_of(at), message))
        members[key] = (at, value_at)
    for key, (at, value_at) in members.items():
        for place, value in _values(text, at, value_at):
            words = _word(value)
            if words is None:
                kind = "an object or a list" if isinstance(value, (dict, list)) else "a fraction"
                message = f"uWSGI ignores {key}: its value is {kind}"
                read.misread.append(Misread(line_of(place), message))
                continue
            if isinstance(value, int) and abs(value) > _INT_MAX:
                message = f"uWSGI cuts the number of {key} to 32 bits: write it as a text"
                read.misread.append(Misread(line_of(place), message))
            read.add(line_of(place), key, words)


def _members(text: str, start: int) -> Iterator[tuple[int, str, int]]:
    """Where each key of an object begins, the key, and where its value begins."""
    if text[start] != "{":
        return
    at = _after_blanks(text, start + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        value_at = _after_blanks(text, _after_blanks(text, end) + 1)
        yield at, key, value_at
        at = _after_comma(text, _DECODER.raw_decode(text, value_at)[1])


def _values(text: str, key_at: int, start: int) -> Iterator[tuple[int, object]]:
    """The value with the place of its key; the values of a list, each with its own place."""
    if text[start] != "[":
        yield key_at, _DECODER.raw_decode(text, start)[0]
        return
    at = _after_blanks(text, start + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield at, value
        at = _after_comma(text, end)


def _after_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _after_comma(text: str, end: int) -> int:
    at = _after_blanks(text, end)
    return _after_blanks(text, at + 1) if text[at] == "," else at


def _word(value: object) -> str | None:
    """As uWSGI writes it for the option; None for what it ignores."""
    if isinstance(value, bool) or value is None:
        return "1" if value else "0"
    return str(value) if isinstance(value, (int, str)) else None


def _lines(text: str) -> Callable[[int], int]:
    """The line of a place, from 1; a long file is counted once."""
    ends = [found.start() for found in re.finditer("\n", text)]
    return lambda place: bisect_left(ends, place) + 1
