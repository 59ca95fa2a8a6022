"""The settings that uWSGI would use, as far as the text shows them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tuner.uwsgi.ini.expansion import Lookup, Options, magic_of, with_magic, with_references
from tuner.uwsgi.ini.file import IniFile
from tuner.uwsgi.ini.lines import CLOSES, IMMEDIATE, INCLUDES, OPENS, SECTION, Line, as_int
from tuner.uwsgi.ini.walking import Interpreter, Place, Turn

_SETS = frozenset({"set", "set-placeholder", "set-ph"})
_MOST_SETS = 8  # `set = set=set=processes=4` is a line that uWSGI takes
_MOST_MOVED = 20_000_000  # characters, by putting values into values


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One option at its turn. `option` is spelt as in the file; `value` is as far as it is known.

    `line` counts from 1 in the file `source`, which is empty for the first file. `is_conditional`
    when it is unknown whether it counts; `condition` then is the line that opens its block.
    """

    option: str
    value: str
    line: int
    source: str = ""
    is_conditional: bool = False
    condition: str = ""

    @property
    def is_include(self) -> bool:
        """Whether it includes a file that is unknown."""
        return self.option in INCLUDES or self.option == "inherit"


def effective(
    ini: IniFile,
    *,
    environ: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    path: str | None = None,
) -> tuple[Setting, ...]:
    """All settings in uWSGI's order: the last one of a scalar wins, a list has them all.

    Included sections are in their place, and so are `files`, by the names that the file uses.
    `environ` is the whole environment and `path` (absolute) the place of the file. None means
    unknown: values that depend on it stay as they are written. The lines that only direct the
    reading (`if-`, `for`, `ini`, `set`) are applied and not listed.
    """
    reader = _Reader(ini.lines, environ, files or {}, path)
    reader.enter(Place(ini.lines, path=path, section=ini.section))
    return reader.result()


def endless_reference(ini: IniFile) -> Setting | None:
    """The first value that refers to itself, as in `a = x%(a)`; None when there is none."""
    reader = _Reader(ini.lines, None, {}, None)
    reader.enter(Place(ini.lines, section=ini.section))
    reader.result()
    return next(iter(reader.endless), None)


class _Reader(Interpreter):
    """The interpreter with an environment, other files and a path, as far as they are known."""

    def __init__(
        self,
        lines: Sequence[Line],
        environ: Mapping[str, str] | None,
        files: Mapping[str, str],
        path: str | None,
    ) -> None:
        super().__init__(lines)
        self._environ, self._files, self._path = environ, files, path
        self._parsed: dict[str, IniFile] = {}
        self._settings: list[Setting] = []
        self._fixed: set[int] = set()  # settings that no pass changes, such as a placeholder's
        self._first: dict[str, str] = {}  # the first value of each key, which `%(key)` means
        self._unsure: set[str] = set()  # keys whose first value is uncertain
        self._is_blind = False  # after an unread file, which may have set any key first
        self._moved = 0  # characters
        self._of_magic: Place | None = None
        self._magic: Mapping[str, str] = {}  # of that place
        self.endless: list[Setting] = []  # the first one: uWSGI comes no further

    def result(self) -> tuple[Setting, ...]:
        """The passes over all values, and what `inherit` then adds, which no pass changes."""
        expanded = list(self._expanded())
        inherited = list(self._inherited(expanded))
        return (*(setting for setting in expanded if not self._is_read(setting)), *inherited)

    def _is_read(self, setting: Setting) -> bool:
        return setting.option == "inherit" and setting.value in self._files

    def _texts(self, place: Place, line: Line) -> tuple[str, str]:
        if place is not self._of_magic:
            asked_for = "" if place.section == SECTION else place.section
            self._of_magic = place
            self._magic = magic_of(place.path, asked_for, self._path)
        return with_magic(line.key or "", self._magic), with_magic(line.value, self._magic)

    def _file(self, name: str) -> Sequence[Line] | None:
        if name not in self._parsed and name in self._files:
            self._parsed[name] = IniFile.parse(self._files[name])
        found = self._parsed.get(name)
        return found.lines if found else None

    def _see(self, turn: Turn, target: Place | None) -> None:
        self._export(turn)
        if turn.key in _SETS:
            self._set(turn)
        elif turn.key in INCLUDES:
            self._is_blind |= target is None
            if target is None:
                self._settings.append(self._setting(turn))
        elif turn.key not in OPENS and turn.key not in CLOSES:
            self._settings.append(self._setting(turn))

    def _setting(self, turn: Turn) -> Setting:
        held_by = self._block if turn.is_conditional else None
        return Setting(
            option=turn.key,
            value=turn.value,
            line=turn.index + 1,
            source=turn.place.source,
            is_conditional=turn.is_conditional,
            condition=f"{held_by.key} = {held_by.value}" if held_by else "",
        )

    def _export(self, turn: Turn) -> None:
        if turn.key not in self._first:
            self._first[turn.key] = turn.value
            if turn.is_conditional or self._is_blind:
                self._unsure.add(turn.key)

    def _set(self, turn: Turn) -> None:
        for _ in range(_MOST_SETS):
            option, equals, value = turn.value.partition("=")
            if not equals:
                return
            is_fixed = turn.key != "set"
            turn = replace(turn, key=option, value=value)
            if is_fixed:
                self._export(turn)
                self._fixed.add(len(self._settings))
                self._settings.append(self._setting(turn))
                return
            if option not in _SETS:
                self._apply(turn)
                return

    def _rounds(self, opener: str, argument: str) -> Iterator[tuple[str | None, bool]]:
        name, equals, wanted = argument.partition("=")
        if opener == "for":
            yield from ((word, True) for word in _words(argument))
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
        if self.endless or self._moved > _MOST_MOVED:
            return setting
        value, has_ended, moved = with_references(setting.value, sign, lookup)
        if not has_ended:
            self.endless.append(setting)
            return setting
        self._moved += moved
        return replace(setting, value=value)

    def _inherited(self, settings: list[Setting]) -> Iterator[Setting]:
        for setting in settings:
            lines = self._file(setting.value) if setting.option == "inherit" else None
            if lines is not None:
                reader = _Reader(lines, self._environ, self._files, None)
                reader.enter(Place(lines, setting.value))
                yield from reader._settings


@lru_cache(maxsize=1)  # every line of a block asks
def _words(argument: str) -> tuple[str, ...]:
    return tuple(word for word in argument.split(" ") if word)


def _decided(
    opener: str, value: str | None, wanted: str | None
) -> Iterator[tuple[str | None, bool]]:
    holds = value is not None and wanted in (None, value)
    if holds != ("-not-" in opener):
        yield (value, True)


def _chomped(text: str | None) -> str | None:
    """A file's text less one line ending's last character, as `@(file)` gives it."""
    return text[:-1] if text and text[-1] in "\r\n" else text
