"""Files that a configuration includes: their settings stand where uWSGI reads them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tuner.uwsgi.forms.form import SUFFIXES, Form, form_of, option_for
from tuner.uwsgi.forms.reading import Malformed, Misread
from tuner.uwsgi.ini import INCLUDES, IniFile

Files = Callable[[str], str | None]
"""The text of a file by the name that the configuration has for it; None if it cannot be read."""

_MOST_FILES = 32
_MOST_LINES = 20_000
_OF_INI = "ini"
_BY_NAME = "include"
_FORMS = {
    **dict.fromkeys(("xml", "xmlconfig"), ".xml"),
    **dict.fromkeys(("yaml", "yml"), ".yaml"),
    **dict.fromkeys(("json", "js"), ".json"),
}
"""`ini` reads every file as an ini, whatever its suffix; `include` goes by the suffix."""


@dataclass(slots=True)
class Whole:
    """A uwsgi.ini with the lines of the included files in the place of their includes.

    `origins` has for each line the number of the line in the configuration itself, and `file:line`
    where it is from another file, else nothing. `misread` counts lines as the configuration does.
    """

    lines: list[str] = field(default_factory=list)
    origins: list[tuple[int, str]] = field(default_factory=list)
    misread: list[Misread] = field(default_factory=list)

    @property
    def has_others(self) -> bool:
        """Whether another file is included, and read."""
        return bool(self.misread) or any(where for _number, where in self.origins)


def whole_of(text: str, section: str, files: Files) -> Whole:
    """A configuration, as a uwsgi.ini, with what it includes; unreadable includes stay."""
    ini, reader, whole = IniFile.parse(text, section), _Reader(files), Whole()
    included = {step.index: step.line for step in ini.read.steps if step.is_foreign}
    for number, line in enumerate(ini.lines, start=1):
        found = included.get(number - 1)
        inner = reader.settings(found.key or "", found.value, ()) if found else None
        if inner is None:
            whole.lines.append(line.raw)
            whole.origins.append((number, ""))
        else:
            whole.lines += [f"{setting}\n" for _where, setting in inner]
            whole.origins += [(number, where) for where, _setting in inner]
        whole.misread += [Misread(number, message) for message in reader.misread]
        reader.misread.clear()
    return whole


class _Reader:
    """Reads includes of includes, within bounds; no file includes itself."""

    def __init__(self, files: Files) -> None:
        self._files, self._left, self._room = files, _MOST_FILES, _MOST_LINES
        self.misread: list[str] = []

    def settings(
        self, key: str, value: str, within: tuple[tuple[str, str], ...]
    ) -> list[tuple[str, str]] | None:
        """Each line of a uwsgi.ini with its `file:line`; None for a file that is not read."""
        name, section = _target(value)
        is_form = key in _FORMS or (key == _BY_NAME and form_of(name) is not None)
        form = form_of(_FORMS.get(key, name)) if is_form else None
        is_known = is_form or key in {_OF_INI, _BY_NAME}
        if not is_known or (name, section) in within or not self._left or self._room < 0:
            return None
        text = self._files(name)
        if text is None:
            return None
        self._left -= 1
        try:
            entries = list(_entries(text, form, section))
        except Malformed:
            return None
        if not entries and key == _OF_INI and form_of(name) is not None:
            advice = f"write `{option_for(name)} = {value}`"
            self.misread.append(f"`ini` reads {name} as an ini, and finds no option: {advice}")
        self._room -= len(entries)
        return list(self._inner(name, entries, (*within, (name, section))))

    def _inner(
        self,
        name: str,
        entries: Sequence[tuple[int, str, str]],
        within: tuple[tuple[str, str], ...],
    ) -> Iterator[tuple[str, str]]:
        for line, key, value in entries:
            deeper = self.settings(key, value, within) if key in INCLUDES else None
            yield from [(f"{name}:{line}", f"{key} = {value}")] if deeper is None else deeper


def _target(value: str) -> tuple[str, str]:
    """The file and the section of an include; `%d` is the folder of the file."""
    name = value[2:].lstrip("/") if value.startswith("%d") else value
    file, colon, section = name.rpartition(":")
    return (file, section) if colon and file.endswith(SUFFIXES) else (name, "")


def _entries(text: str, form: Form | None, section: str) -> Iterator[tuple[int, str, str]]:
    """Line, key and value of each setting. Raises `Malformed`."""
    if form is not None:
        for setting in form.read(text, section).settings:
            yield setting.line, setting.key, setting.value
        return
    ini = IniFile.parse(text, section) if section else IniFile.parse(text)
    for step in ini.read.steps:
        if step.line.own_section is None and step.line.key:
            yield step.index + 1, step.line.key, step.line.value
