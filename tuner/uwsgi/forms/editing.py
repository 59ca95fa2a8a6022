"""Edits of YAML, XML and JSON: settings change where they stand, and all else stays as it is.

Every edit is proved: what uWSGI reads afterwards is what was wanted, or there is no edit.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.uwsgi.forms.form import Form
from tuner.uwsgi.forms.reading import Malformed, Read, Setting
from tuner.uwsgi.ini import SECTION, IniFile

_COMMENTS = {"YAML": "# {}", "XML": "<!-- {} -->"}
_WORDS = {"true": "1", "false": "0"}
_JSON_WORDS = {"1": ("true",), "0": ("false", "null")}
_NUMBER = re.compile(r"-?[0-9]+")

_Piece = tuple[int, int, str]
"""Where a text begins and ends, and what comes in its place."""


@dataclass(frozen=True, slots=True)
class Change:
    """Lines of a uwsgi.ini in place of the settings `first` to `last - 1`, from 0.

    Equal numbers insert the lines before that setting.
    """

    first: int
    last: int
    lines: tuple[str, ...]


def rewritten(text: str, form: Form, section: str, changes: Sequence[Change]) -> str | None:
    """The text with these changes; None where they cannot be made without another effect."""
    read = form.read(text, section)
    wanted, pieces = list(read.lines), list[_Piece]()
    for change in sorted(changes, key=lambda each: each.first, reverse=True):
        items = _items(change.lines)
        wanted[change.first : change.last] = [f"{key} = {value}" for key, value in items if key]
        try:
            pieces += _Place(text, form, section, read).pieces(change, items)
        except _NoPlace:
            return None
    new = text
    for start, end, replacement in sorted(pieces, reverse=True):
        new = new[:start] + replacement + new[end:]
    return new if _means(new, form, section, wanted, read) else None


def _items(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Each setting; a comment has no key."""
    parsed = IniFile.parse("".join(f"{line}\n" for line in lines)).lines
    return [(each.key or "", each.value or each.text.strip(" \t;#")) for each in parsed]


def _means(text: str, form: Form, section: str, wanted: list[str], before: Read) -> bool:
    try:
        after = form.read(text, section)
    except Malformed:
        return False
    known = {each.message for each in before.misread}
    is_read_well = all(each.message in known for each in after.misread)
    return is_read_well and _compared(after.lines, form) == _compared(wanted, form)


def _compared(lines: Sequence[str], form: Form) -> list[tuple[str, str]]:
    """Keys with values. An object of JSON has no order, but for the values of one key."""
    split = (line.partition(" = ") for line in lines)
    pairs = [(key, _WORDS.get(value, value)) for key, _, value in split]
    return sorted(pairs, key=lambda pair: pair[0]) if form.name == "JSON" else pairs


class _NoPlace(Exception):
    """A setting is not written in one of the usual ways, or something else is on its line."""


class _Place:
    """Where the settings of a text stand."""

    def __init__(self, text: str, form: Form, section: str, read: Read) -> None:
        self._text, self._form, self._section, self._read = text, form, section, read
        self._is_json = form.name == "JSON"
        self._ending = "\r\n" if "\r\n" in text else "\n"

    def pieces(self, change: Change, items: Sequence[tuple[str, str]]) -> Iterator[_Piece]:
        """What to replace for one change. Raises `_NoPlace`."""
        old = [
            (each, self._found(each)) for each in self._read.settings[change.first : change.last]
        ]
        if not old:
            yield self._inserted(change.first, items)
            return
        for _setting, found in old[1:] if items else old:
            yield from self._removed(found)
        if not items:
            return
        (setting, found), (key, value) = old[0], items[-1]
        if len(items) > 1:
            yield self._above(found.start(), items[:-1])
        if key == setting.key and found["value"] is not None:
            yield (*found.span("value"), self._form.spelt(value))
        elif value == setting.value and key:
            yield (*found.span(), _renamed(found[0], setting.key, key))
        else:
            yield (*found.span(), self._line_of(key, value))

    def _found(self, setting: Setting) -> re.Match[str]:
        """The element of a setting: it begins on its line. The value of a flag may be absent."""
        start = self._start_of(setting.line)
        for pattern in _patterns(self._form, setting):
            found = re.compile(pattern).search(self._text, start)
            if found and "\n" not in self._text[start : found.start()]:
                return found
        raise _NoPlace

    def _start_of(self, line: int) -> int:
        starts = [0, *(found.end() for found in re.finditer("\n", self._text))]
        return starts[line - 1]

    def _line_of(self, key: str, value: str) -> str:
        if key:
            return self._form.written(key, value)
        if self._is_json or "--" in value:
            raise _NoPlace
        return _COMMENTS[self._form.name].format(value)

    def _indent(self, at: int) -> str:
        """The blanks before a place, which must be all that its line has before it."""
        before = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        if before.strip(" \t"):
            raise _NoPlace
        return before

    def _above(self, at: int, items: Sequence[tuple[str, str]]) -> _Piece:
        comma = "," if self._is_json else ""
        indent = self._indent(at)
        lines = (f"{self._line_of(*item)}{comma}{self._ending}{indent}" for item in items)
        return (at, at, "".join(lines))

    def _inserted(self, number: int, items: Sequence[tuple[str, str]]) -> _Piece:
        settings = self._read.settings
        if not settings:
            raise _NoPlace
        if self._is_json or number == 0:
            return self._above(
                self._top() if self._is_json else self._found(settings[0]).start(), items
            )
        above = self._found(settings[number - 1])
        at, indent = above.end(), self._indent(above.start())
        if self._form.name == "YAML":  # behind the comment of the line
            at += len(self._text[at:].partition("\n")[0].rstrip("\r"))
        return (at, at, "".join(f"{self._ending}{indent}{self._line_of(*item)}" for item in items))

    def _top(self) -> int:
        """Where the first member of the object begins."""
        opening = rf'"{re.escape(self._section or SECTION)}"\s*:\s*\{{\s*'
        start = self._start_of(self._read.top)
        found = [each.end() for each in re.finditer(opening, self._text) if each.end() > start]
        if not found:
            raise _NoPlace
        return found[0]

    def _removed(self, found: re.Match[str]) -> Iterator[_Piece]:
        """The element with its comma, and its line if nothing else is there."""
        start, end, text = *found.span(), self._text
        if self._is_json:
            after = re.compile(r"\s*,").match(text, end)
            before = re.search(r",\s*\Z", text[:start])
            end = after.end() if after else end
            if before and not after:
                yield (before.start(), end, "")
                return
        line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end) + 1 or len(text)
        is_alone = not (text[line_start:start] + text[end:line_end]).strip()
        if is_alone:
            yield (line_start, line_end, "")
        else:
            yield (start, len(text) - len(text[end:].lstrip(" \t")), "")


def _renamed(element: str, old: str, new: str) -> str:
    """The element with another key, also where XML closes it."""
    return element.replace(old, new, 1).replace(f"</{old}", f"</{new}")


def _patterns(form: Form, setting: Setting) -> Iterator[str]:
    """How a form usually writes a setting."""
    key, value = re.escape(setting.key), re.escape(setting.value)
    if form.name == "YAML":
        yield rf"{key}[ \t]*:[ \t]+(?P<value>{value})"
    elif form.name == "XML":
        tag = rf"<{key}(?:\s[^<>]*)?"
        yield rf"{tag}(?<!/)>\s*(?P<value>(?:<!\[CDATA\[)?\s*{value}\s*(?:\]\]>)?)\s*</{key}\s*>"
        yield rf"{tag}/>(?P<value>(?!))?"
    else:
        words = {json.dumps(setting.value), json.dumps(setting.value, ensure_ascii=False)}
        numbers = _NUMBER.findall(setting.value)
        bare = (*numbers, *_JSON_WORDS.get(setting.value, ()))
        scalar = rf"(?P<value>{'|'.join(map(re.escape, (*sorted(words), *bare)))})"
        yield rf'"{key}"\s*:\s*{scalar}(?=\s*[,}}])'
        yield rf"(?<=[\[,\s]){scalar}(?=\s*[,\]])"
