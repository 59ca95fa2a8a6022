"""The formats: how each is chosen, read, and how it writes a setting."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from tuner.uwsgi.forms.json_values import read_json
from tuner.uwsgi.forms.reading import Malformed, Misread, Read
from tuner.uwsgi.forms.xml_pieces import read_xml
from tuner.uwsgi.forms.yaml_lines import read_yaml
from tuner.uwsgi.ini import SECTION

MOST_CHARS = 200_000
"""A real configuration is shorter. A longer text is refused."""


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
        return self._pattern.format(key=key, value=self.spelt(value))

    def spelt(self, value: str) -> str:
        """The value alone."""
        if self.name == "JSON" and not (value.isdecimal() or value in {"true", "false"}):
            return json.dumps(value, ensure_ascii=False)
        return f"<![CDATA[{value}]]>" if self.name == "XML" and re.search("[&<]", value) else value


def form_of(name: str) -> Form | None:
    """The format of a file by its suffix, as uWSGI chooses it; None for an ini."""
    return next((form for suffix, form in _SUFFIXES.items() if name.endswith(suffix)), None)


def option_for(name: str) -> str:
    """The option that includes a file of this name."""
    form = form_of(name)
    return form.name.lower() if form else "ini"


_YAML = Form("YAML", read_yaml, "{key}: {value}")
XML = Form("XML", read_xml, "<{key}>{value}</{key}>")
_JSON = Form("JSON", read_json, '"{key}": {value}')
_SUFFIXES = {".yaml": _YAML, ".yml": _YAML, ".xml": XML, ".json": _JSON, ".js": _JSON}
SUFFIXES = (".ini", *_SUFFIXES)
"""The endings of the files from which uWSGI reads options."""
