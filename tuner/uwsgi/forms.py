"""Configurations in YAML, XML and JSON, read as uWSGI 2.0.31 reads them: `key`, `value`, line.

.yaml .yml   a reader of lines of its own, no YAML: it stops at the first list, keeps quotes and
             cuts at every `#` (core/yaml.c; only a build with libyaml reads more)
.xml         expat: the first piece of text of an element is its value (core/xmlconf.c)
.json .js    jansson: lists repeat the option (core/json.c; pip builds it in where it finds it)
"""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from tuner.uwsgi.ini import SECTION, why_unwritable

MOST_CHARS = 200_000
"""A real configuration is shorter. A longer text is refused."""


@dataclass(frozen=True, slots=True)
class Setting:
    """An option as uWSGI takes it from the file; `line` counts from 1."""

    line: int
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Misread:
    """What uWSGI reads otherwise than the format means it."""

    line: int
    message: str


@dataclass(slots=True)
class Read:
    """What uWSGI takes from a file, and what it misreads."""

    settings: list[Setting] = field(default_factory=list)
    misread: list[Misread] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """The lines of a uwsgi.ini below its section: one for each setting."""
        return [f"{setting.key} = {setting.value}" for setting in self.settings]

    def add(self, line: int, key: str, value: str) -> None:
        """Take a setting. One that no line of a uwsgi.ini can contain is only named."""
        bare = value.strip()
        wrong = why_unwritable(key, bare)
        if value != bare and not bare.isdecimal():
            self.misread.append(Misread(line, f"uWSGI keeps the blanks around the value of {key}"))
        if wrong:
            self.misread.append(Misread(line, f"{key} was not checked: it {wrong}"))
        else:
            self.settings.append(Setting(line, key, bare))


class Malformed(ValueError):
    """A file that uWSGI refuses, or that nobody should read; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Form:
    """A format: its reader, and how it writes one setting."""

    name: str
    _reader: Callable[[str, str], Read]
    _pattern: str

    def read(self, text: str, section: str = "") -> Read:
        """The settings of a section; the format's own if it is empty. Raises `Malformed`."""
        if len(text) > MOST_CHARS:
            raise Malformed(1, f"it has more than {MOST_CHARS} characters")
        read = self._reader(text, section)
        if not read.settings and not read.misread:
            read.misread.append(Misread(1, f"uWSGI finds no option of {section or SECTION} in it"))
        return read

    def written(self, key: str, value: str) -> str:
        """A setting as a user of this format writes it."""
        if self.name == "JSON" and not (value.isdecimal() or value in {"true", "false"}):
            value = json.dumps(value, ensure_ascii=False)
        return self._pattern.format(key=key, value=value)


def form_of(name: str) -> Form | None:
    """The format of a file by its suffix, as uWSGI chooses it; None for an ini."""
    return next((form for suffix, form in _SUFFIXES.items() if name.endswith(suffix)), None)


# ---- YAML: uWSGI reads lines by their depth, and no structure

_LITERAL = re.compile(r"[|>][-+0-9]*|[&*]\w.*|!+\w* .*|\[.*|\{(?!\{).*")
_WORTH = re.compile(r"[^\s#]")
_STOPS = "uWSGI stops reading at this line"


def _yaml(text: str, section: str) -> Read:
    read, is_inside, top = Read(), False, 0
    numbered = list(enumerate(text.split("\n"), start=1))
    for number, raw in numbered:
        line, depth = raw.partition("#")[0], _depth(raw.partition("#")[0])
        if line and depth <= top and is_inside:
            break
        content = line.lstrip(" \t\r")
        if not content:
            continue
        if depth <= top:
            top = depth
        elif not is_inside:
            continue
        if is_inside:
            reason = _taken(read, number, raw, content)
            if reason:
                read.misread.append(_stopped(numbered, number, top, reason))
                break
        elif not content.startswith(("-", "[", "{")):
            is_inside = content.partition(":")[0] == (section or SECTION) and ":" in content
    return read


def _depth(line: str) -> int:
    blanks = line[: len(line) - len(line.lstrip(" \t\r"))]
    return sum(1 if blank == " " else 8 for blank in blanks)


def _taken(read: Read, number: int, raw: str, content: str) -> str | None:
    """Take the setting of one line; or the reason why uWSGI's reader ends there."""
    if content.startswith(("-", "[", "{")):
        return "it reads no lists; write the option once for each value"
    colon = re.search(r": ", content) or re.search(r":\t", content)
    if colon is None:
        return "it needs `key: value`, on one line"
    key, value = content[: colon.start()].rstrip(" \t"), content[colon.end() :].strip(" \t")
    comment = raw.find("#")
    if comment > 0 and raw[comment - 1] not in " \t":
        read.misread.append(Misread(number, "uWSGI cuts the value at `#`, also inside a word"))
    if value.endswith("\r"):
        if not read.settings:  # once for a file
            message = "the carriage return at the end of each line is a part of its value"
            read.misread.append(Misread(number, f"{message}: end lines with a newline alone"))
        value = value.rstrip("\r")
    if _LITERAL.fullmatch(value):
        message = f"uWSGI takes `{value}` literally, as the value of {key}: it is no YAML to it"
        read.misread.append(Misread(number, message))
    read.add(number, key, value)
    return None


def _stopped(numbered: list[tuple[int, str]], at: int, top: int, reason: str) -> Misread:
    """With the number of lines of the block that nobody reads."""
    below = 0
    for _number, raw in numbered[at:]:
        line = raw.partition("#")[0]
        if line.strip() and _depth(line) <= top:
            break
        below += bool(_WORTH.match(line.strip()))
    lost = f", and ignores {below} more below it" if below else ""
    built = "a build with libyaml reads on"
    return Misread(at, f"{_STOPS}{lost}: {reason} ({built})")


# ---- XML: the first piece of an element's text is the value; an entity or a new line ends a piece

_MOST_ELEMENTS = 20_000


class _Xml:
    """uWSGI's own three handlers, with places."""

    def __init__(self, wanted: str) -> None:
        self.read = Read()
        self._parser = parser = expat.ParserCreate()
        self._wanted, self._is_inside, self._key, self._count = wanted, False, "", 0
        self._last: tuple[int, str, str] | None = None
        parser.buffer_text, parser.ordered_attributes = False, True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype

    def parse(self, text: str) -> Read:
        try:
            self._parser.Parse(text.encode("utf-8", "surrogateescape"), True)
        except expat.ExpatError as error:
            # uWSGI reads up to the end of the first element, too.
            if error.code != expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]:
                raise Malformed(error.lineno, f"{expat.ErrorString(error.code)}") from error
        return self.read

    def _line(self) -> int:
        return self._parser.CurrentLineNumber

    def _doctype(self, *_: object) -> None:
        raise Malformed(self._line(), "it has a DOCTYPE, whose entities may grow without end")

    def _start(self, name: str, attributes: list[str]) -> None:
        self._count += 1
        if self._count > _MOST_ELEMENTS:
            raise Malformed(self._line(), f"it has more than {_MOST_ELEMENTS} elements")
        self._last = None
        if self._is_inside:
            self._key = name
        elif not self._wanted or attributes[:2] == ["id", self._wanted]:
            self._is_inside = name == SECTION

    def _text(self, text: str) -> None:
        if self._is_inside and self._key:
            self._last, self._key = (self._line(), self._key, text), ""
            if text.strip():
                self.read.add(*self._last)
        elif self._last and text.strip():
            self._cut(*self._last)

    def _cut(self, line: int, key: str, value: str) -> None:
        seen = f"`{value}`" if value.strip() else "white space"
        message = f"uWSGI takes {seen} alone as the value of {key}"
        why = "an entity or a new line ends it; write the text on one line, or in CDATA"
        self.read.misread.append(Misread(line, f"{message}: {why}"))
        self._last = None

    def _end(self, name: str) -> None:
        self._last = None
        if self._is_inside and name == SECTION:
            self._is_inside = False
        elif self._is_inside and self._key:
            self.read.add(self._line(), self._key, "1")
            self._key = ""


def _xml(text: str, section: str) -> Read:
    return _Xml(section).parse(text)


# ---- JSON: an object of words, whole numbers, true, false, null, and lists of these

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_LONGEST = 19  # digits of jansson's whole numbers
_INT_MAX = 2**31 - 1


def _json(text: str, section: str) -> Read:
    read = Read()
    wanted, found = section or SECTION, None
    try:
        # The whole is right; what follows only looks for places.
        json.loads(text, parse_int=_whole, parse_constant=_no_constant)
        for _at, key, start in _members(text, _BLANK.match(text).end()):  # type: ignore[union-attr]
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


_YAML = Form("YAML", _yaml, "{key}: {value}")
_XML = Form("XML", _xml, "<{key}>{value}</{key}>")
_JSON = Form("JSON", _json, '"{key}": {value}')
_SUFFIXES = {".yaml": _YAML, ".yml": _YAML, ".xml": _XML, ".json": _JSON, ".js": _JSON}
SUFFIXES = (".ini", *_SUFFIXES)
"""The endings of the files from which uWSGI reads options."""
