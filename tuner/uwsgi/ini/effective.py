"""What uWSGI would run with, as far as text can tell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.uwsgi.ini.expansion import Lookup, Options, magic_of, with_magic, with_references
from tuner.uwsgi.ini.file import IniFile
from tuner.uwsgi.ini.lines import CLOSES, IMMEDIATE, INCLUDES, OPENS, SECTION, Line
from tuner.uwsgi.ini.values import as_int

_SETS = frozenset({"set", "set-placeholder", "set-ph"})
_MOST_DEPTH = 32
_MOST_SETS = 8  # `set = set=set=processes=4` is a line that uWSGI takes
_MOST_GROWTH = 4_000_000  # characters, by putting values into values
_MOST_SETTINGS = 20_000  # beyond one for each line: `for-times = 1000000000` is one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One option as uWSGI meets it. `option` is spelt as in the file, `value` as far as is known.

    `line` counts from 1, in the file `source`; an empty one is the file that was asked about.
    `is_conditional` where nobody can tell whether it counts.
    """

    option: str
    value: str
    line: int
    source: str = ""
    is_conditional: bool = False

    @property
    def is_include(self) -> bool:
        """Whether it stands for a file that was not given."""
        return self.option in INCLUDES or self.option == "inherit"


def effective(
    ini: IniFile,
    *,
    environ: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    path: str | None = None,
) -> tuple[Setting, ...]:
    """All settings in uWSGI's order: of a scalar the last one counts, lists have them all.

    Own sections stand where they are included, and so do `files`, by the names under which the
    file calls them. `environ` is the whole environment, `path` (absolute) where the file is; of
    what is None nothing is known, and what depends on it stays as it is written. What a file says
    of itself alone (`if-`, `for`, `ini`, `set`) is carried out and not listed.
    """
    reader = _Reader(environ, files or {}, path)
    reader.read(ini)
    return reader.result()


def endless_reference(ini: IniFile) -> Setting | None:
    """The first value that refers to itself without end, as in `a = x%(a)`; None without one."""
    reader = _Reader(None, {}, None)
    reader.read(ini)
    reader.result()
    return next(iter(reader.endless), None)


@dataclass(frozen=True, slots=True)
class _Place:
    """A section of a file that is being read."""

    ini: IniFile
    source: str
    path: str | None
    section: str
    within: tuple[tuple[str, str], ...]
    is_enclosed: bool = False  # by a block of whoever includes it
    is_conditional: bool = False


class _Reader:
    def __init__(
        self, environ: Mapping[str, str] | None, files: Mapping[str, str], path: str | None
    ) -> None:
        self._environ, self._files, self._path = environ, files, path
        self._parsed: dict[str, IniFile] = {}
        self._sections: dict[str, dict[str | None, list[tuple[int, Line]]]] = {}
        self._settings: list[Setting] = []
        self._fixed: set[int] = set()  # which settings no pass looks at, as a placeholder's
        self._first: dict[str, str] = {}  # the first value of each key, which `%(key)` means
        self._unsure: set[str] = set()  # keys whose first value may be another
        self._is_blind = False  # an unread file came by: it may have set anything first
        self._block: tuple[str, str] | None = None
        self._last: tuple[IniFile, str, str | None] | None = None  # what `ini = :section` is of
        self._room = _MOST_SETTINGS
        self._growth = 0  # characters
        self.endless: list[Setting] = []  # the first one, for uWSGI would come no further

    def read(self, ini: IniFile) -> None:
        self._room += len(ini.lines)
        self._enter(_Place(ini, "", self._path, SECTION, ()))

    def result(self) -> tuple[Setting, ...]:
        """The passes over all values, and what `inherit` then adds, which no pass sees."""
        expanded = list(self._expanded())
        inherited = list(self._inherited(expanded))
        return (*(setting for setting in expanded if not self._is_read(setting)), *inherited)

    def _is_read(self, setting: Setting) -> bool:
        return setting.option == "inherit" and setting.value in self._files

    def _enter(self, place: _Place) -> None:
        self._last = (place.ini, place.source, place.path)
        asked_for = "" if place.section == SECTION else place.section
        magic = magic_of(place.path, asked_for, self._path)
        for number, line in self._lines_of(place):
            if self._room <= 0:
                return
            self._room -= 1
            key, value = with_magic(line.key or "", magic), with_magic(line.value, magic)
            self._visit(place, Setting(option=key, value=value, line=number))

    def _lines_of(self, place: _Place) -> Sequence[tuple[int, Line]]:
        """The numbered lines of a section that have a key; each file is sorted once."""
        if place.source not in self._sections:
            sections = self._sections.setdefault(place.source, {})
            for number, line in enumerate(place.ini.lines, 1):
                if line.key is not None:
                    sections.setdefault(line.section, []).append((number, line))
        return self._sections[place.source].get(place.section, ())

    def _visit(self, place: _Place, found: Setting) -> None:
        found = replace(found, source=place.source, is_conditional=place.is_conditional)
        if place.is_enclosed:
            self._add(place, found, is_enclosed=True)
            return
        if found.option in CLOSES:
            self._block = None
        if self._block is None:
            self._add(place, found, is_enclosed=False)
            return
        for stands_for, is_sure in self._rounds(*self._block):
            if self._room <= 0:
                return
            self._room -= 1
            value = _standing_for(found.value, stands_for)
            again = replace(found, value=value, is_conditional=not is_sure)
            self._add(place, again, is_enclosed=True)

    def _add(self, place: _Place, found: Setting, *, is_enclosed: bool) -> None:
        self._export(found)
        if found.option in OPENS:
            if not is_enclosed:
                self._block = (found.option, found.value)
        elif found.option in _SETS:
            self._set(place, found, is_enclosed=is_enclosed)
        elif found.option in INCLUDES:
            self._include(place, found, is_enclosed=is_enclosed)
        elif found.option not in CLOSES:
            self._settings.append(found)

    def _export(self, found: Setting) -> None:
        if found.option not in self._first:
            self._first[found.option] = found.value
            if found.is_conditional or self._is_blind:
                self._unsure.add(found.option)

    def _set(self, place: _Place, found: Setting, *, is_enclosed: bool) -> None:
        for _ in range(_MOST_SETS):
            option, equals, value = found.value.partition("=")
            if not equals:
                return
            is_fixed = found.option != "set"
            found = replace(found, option=option, value=value)
            if is_fixed:
                self._export(found)
                self._fixed.add(len(self._settings))
                self._settings.append(found)
                return
            if option not in _SETS:
                self._add(place, found, is_enclosed=is_enclosed)
                return

    def _include(self, place: _Place, found: Setting, *, is_enclosed: bool) -> None:
        inner = self._target(place, found)
        if inner is None:
            self._settings.append(found)
            self._is_blind = True
            self._last = None
            return
        within = (*place.within, (place.source, place.section))
        if (inner.source, inner.section) in within or len(within) > _MOST_DEPTH:
            return
        self._enter(
            replace(
                inner,
                within=within,
                is_enclosed=is_enclosed,
                is_conditional=found.is_conditional,
            )
        )

    def _target(self, place: _Place, found: Setting) -> _Place | None:
        """The section that an include means; None where its file was not given."""
        name, colon, section = found.value.rpartition(":")
        if found.option != "ini" or not colon or "://" in found.value:
            name, section = found.value, ""
        section = section or SECTION
        if found.option == "ini" and not name and colon:
            return _Place(*self._last, section, ()) if self._last else None
        if name in {"%p", place.path}:
            return _Place(place.ini, place.source, place.path, section, ())
        ini = self._file(name)
        if ini is None or not (found.option == "ini" or name.endswith(".ini")):
            return None
        return _Place(ini, name, name, section, ())

    def _file(self, name: str) -> IniFile | None:
        if name not in self._parsed and name in self._files:
            self._parsed[name] = IniFile.parse(self._files[name])
        return self._parsed.get(name)

    def _rounds(self, opener: str, argument: str) -> Iterator[tuple[str | None, bool]]:
        """What `%(_)` is each time that a line of the block counts, and whether that is sure."""
        name, equals, wanted = argument.partition("=")
        if opener == "for":
            yield from ((word, True) for word in argument.split(" ") if word)
        elif opener == "for-times":
            yield from ((str(number), True) for number in range(1, as_int(argument) + 1))
        elif opener in {"if-env", "ifenv", "if-not-env"} and self._environ is not None:
            value = self._environ.get(name)
            yield from _decided(opener, value, wanted if equals else None)
        elif opener in {"if-opt", "if-not-opt"} and not self._is_unsure(name):
            yield from _decided(opener, self._first.get(name), wanted if equals else None)
        else:
            yield (None, False)

    def _is_unsure(self, name: str) -> bool:
        return name in self._unsure or (self._is_blind and name not in self._first)

    def _expanded(self) -> Iterator[Setting]:
        options = Options(self._first, self._is_unsure, self._environ is not None)
        passes: tuple[tuple[str, Lookup], ...] = (
            ("$", (self._environ or {}).get),
            ("@", lambda name: _chomped(self._files.get(name))),
        )
        settings = self._settings
        for sign, lookup in passes:
            settings = [
                setting if turn in self._fixed else self._referring(setting, sign, lookup)
                for turn, setting in enumerate(settings)
            ]
        for setting in reversed(settings):
            if setting.option in self._first:
                self._first[setting.option] = setting.value
        left = {setting.option for setting in settings}
        for turn, setting in enumerate(settings):
            done = setting
            if turn not in self._fixed:
                done = self._referring(setting, "%", options)
            if setting.option in left:
                left.discard(setting.option)
                if setting.option not in self._unsure:
                    self._first[setting.option] = done.value
            yield done

    def _referring(self, setting: Setting, sign: str, lookup: Lookup) -> Setting:
        if f"{sign}(" not in setting.value or setting.option in IMMEDIATE:
            return setting
        if self.endless or self._growth > _MOST_GROWTH:
            return setting
        value, has_ended = with_references(setting.value, sign, lookup)
        if not has_ended:
            self.endless.append(setting)
            return setting
        self._growth += max(0, len(value) - len(setting.value))
        return replace(setting, value=value)

    def _inherited(self, settings: list[Setting]) -> Iterator[Setting]:
        for setting in settings:
            ini = self._file(setting.value) if setting.option == "inherit" else None
            if ini is not None:
                reader = _Reader(self._environ, self._files, None)
                reader._enter(_Place(ini, setting.value, None, SECTION, ()))
                yield from reader._settings


def _decided(
    opener: str, value: str | None, wanted: str | None
) -> Iterator[tuple[str | None, bool]]:
    holds = value is not None and wanted in (None, value)
    if holds != ("-not-" in opener):
        yield (value, True)


def _standing_for(value: str, stands_for: str | None) -> str:
    return value if stands_for is None else value.replace("%(_)", stands_for)


def _chomped(text: str | None) -> str | None:
    """A file's text less one line ending's last character, as `@(file)` gives it."""
    return text[:-1] if text and text[-1] in "\r\n" else text
