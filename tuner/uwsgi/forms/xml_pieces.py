"""XML: the first piece of an element's text is its value; an entity or a new line ends a piece.

This is uWSGI 2.0.31 with expat (core/xmlconf.c), as the package index's source builds.
"""

from xml.parsers import expat

from tuner.uwsgi.forms.reading import Malformed, Misread, Read
from tuner.uwsgi.ini import SECTION

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
        """The settings of the text. Raises `Malformed`."""
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
            if self._is_inside and not self.read.settings:
                self.read.top = self._line()

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


def read_xml(text: str, section: str) -> Read:
    """The settings of every `<uwsgi>`, or of those with this id. Raises `Malformed`."""
    return _Xml(section).parse(text)
