"""uWSGI's ini dialect: read without losing a byte, patch without touching what is not asked for.

It is not the ini of Python's configparser: there are no inline comments, no quotes and no
continuation lines; a section header loses its last character whatever that is; of a repeated
scalar the last one wins; a key without `=` is legal. (uWSGI 2.0.31: core/ini.c, core/config.c.)
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

SECTION = "uwsgi"
MARK = "; uwsgi-tuner: "
"""Starts every comment line that is ours, so that a second patch replaces the first one's."""

_ALIASES = (
    ("processes", "workers"),
    ("thread-stacksize", "threads-stacksize", "thread-stack-size"),
    ("offload-threads", "offload-thread"),
    ("http-processes", "http-workers"),
    ("tcp-fast-open", "tcp-fastopen"),
    ("log-format", "logformat"),
)
_CANONICAL = {alias: group[0] for group in _ALIASES for alias in group}
_OPENS = re.compile(r"^(if-|for$|for-)")
_CLOSES = frozenset({"endif", "endfor"})
_INCLUDES = frozenset({"ini", "include", "inherit"})
_INT_MAX = 2**31 - 1
_FALSE = frozenset({"false", "off", "no", "0"})


def canonical(key: str) -> str:
    """The one name under which uWSGI keeps an option that has several."""
    return _CANONICAL.get(key, key)


def is_true(value: str) -> bool:
    """How uWSGI reads a boolean option: everything but four words is true, even `false  # x`."""
    return value not in _FALSE


def as_int(value: str) -> int:
    """How uWSGI reads a number: like C's atoi, so `8 ; c` is 8 and `abc` or nothing is 0.

    What does not fit a C int, where atoi is undefined, is the largest one.
    """
    match = re.match(r"\s*([+-]?)0*([0-9]+)", value)
    if match is None:
        return 0
    digits = match.group(2)
    number = int(digits) if len(digits) <= len(str(_INT_MAX)) else _INT_MAX
    return min(number, _INT_MAX) * (-1 if match.group(1) == "-" else 1)


def as_text(value: bool | int | str) -> str:
    """How a value of ours is written in the file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its line ending; `key` is None for sections, comments and blank lines."""

    raw: str
    section: str | None
    key: str | None = None
    value: str = ""
    conditional: bool = False

    @property
    def ending(self) -> str:
        """The line's own ending; empty for a last line without one."""
        return self.raw[len(self.raw.rstrip("\r\n")) :]

    @property
    def is_plain(self) -> bool:
        """Whether it is content of our section that no condition encloses."""
        opens = self.key is not None and _OPENS.match(self.key) is not None
        return (
            self.section == SECTION and bool(self.raw.strip()) and not (opens or self.conditional)
        )

    def with_value(self, value: str) -> "Line":
        """The same line, indentation and spacing kept, with another value."""
        head, equals, _ = self.raw.partition("=")
        if not equals:
            head, space = f"{self.raw.rstrip()} ", " "
        else:
            space = " " if head.endswith(" ") else ""
        return replace(self, raw=f"{head}={space}{value}{self.ending}", value=value)

    def commented_out(self) -> "Line":
        """The same text as a comment of ours."""
        text = f"{MARK}was: {self.raw.strip()}{self.ending}"
        return replace(self, raw=text, key=None, value="")


@dataclass(frozen=True, slots=True)
class IniFile:
    """A parsed file: `dump()` gives back exactly what was parsed."""

    lines: tuple[Line, ...]

    @classmethod
    def parse(cls, text: str) -> "IniFile":
        """Read any text; what uWSGI would not understand is kept as it is."""
        section: str | None = None
        depth = 0
        lines: list[Line] = []
        for raw in re.findall(r"[^\n]*\n|[^\n]+\Z", text):
            content = raw.strip(" \t\r\n")
            if content.startswith("["):
                section, depth = content[1:-1], 0
                lines.append(Line(raw, section))
            elif not content or content[0] in ";#":
                lines.append(Line(raw, section, conditional=depth > 0))
            else:
                key, _, value = (part.strip(" \t\r") for part in content.partition("="))
                if key in _CLOSES:
                    depth = max(0, depth - 1)
                lines.append(Line(raw, section, key, value, conditional=depth > 0))
                if _OPENS.match(key):
                    depth += 1
        return cls(tuple(lines))

    def dump(self) -> str:
        """The file's text."""
        return "".join(line.raw for line in self.lines)

    @property
    def has_section(self) -> bool:
        """Whether uWSGI would find anything to read."""
        return any(line.section == SECTION for line in self.lines)

    def values(self, option: str) -> list[str]:
        """All unconditional values of an option under any of its names, in the file's order."""
        wanted = canonical(option)
        return [
            line.value
            for line in self._options()
            if canonical(line.key or "") == wanted and not line.conditional
        ]

    def get(self, option: str) -> str | None:
        """The value that counts, which is the last; None where the option is not set."""
        values = self.values(option)
        return values[-1] if values else None

    def integer(self, option: str, default: int) -> int:
        """The option as a number."""
        value = self.get(option)
        return default if value is None else as_int(value)

    def flag(self, option: str) -> bool:
        """The option as a boolean, False where it is not set."""
        value = self.get(option)
        return value is not None and is_true(value)

    def patch(self, changes: Mapping[str, str]) -> "IniFile":
        """Set each option so that its value is the one that counts; nothing else changes.

        Patching twice with the same values is the same as patching once.
        """
        file = self
        for option, value in changes.items():
            if file.get(option) != value or file._overridden(option):
                file = file._set(option, value)
        return file

    def annotate(self, comments: Iterable[str]) -> "IniFile":
        """Put comment lines of ours on top, in place of those of an earlier time."""
        ending = "\r\n" if any(line.ending == "\r\n" for line in self.lines) else "\n"
        ours = tuple(Line(f"{MARK}{comment}{ending}", None) for comment in comments)
        return IniFile(ours + tuple(line for line in self.lines if not self._is_header(line)))

    @staticmethod
    def _is_header(line: Line) -> bool:
        return line.section is None and line.raw.startswith(MARK)

    def _options(self) -> list[Line]:
        return [line for line in self.lines if line.section == SECTION and line.key is not None]

    def _places(self, option: str) -> list[int]:
        return [
            index
            for index, line in enumerate(self.lines)
            if line.section == SECTION and line.key and canonical(line.key) == canonical(option)
        ]

    def _overridden(self, option: str) -> bool:
        """Whether something below the last plain occurrence may set the option again."""
        plain = [index for index in self._places(option) if not self.lines[index].conditional]
        if not plain:
            return bool(self._places(option))
        copies = self._places(option)[-1] > plain[-1]
        # An include that a never closed condition holds cannot be overtaken by any line of ours.
        within_reach = self.lines[plain[-1] + 1 : self._end() + 1]
        return copies or any(
            line.section == SECTION and line.key in _INCLUDES for line in within_reach
        )

    def _end(self) -> int:
        """Where the last line of our section is that always counts: a new one goes below it.

        A condition that is never closed reaches to the end of the file, so that is above it.
        """
        return max(index for index, line in enumerate(self.lines) if line.is_plain)

    def _set(self, option: str, value: str) -> "IniFile":
        lines = list(self.lines)
        places = self._places(option)
        if places and not self._overridden(option):
            lines[places[-1]] = lines[places[-1]].with_value(value)
            return IniFile(tuple(lines))
        for index in places:
            lines[index] = lines[index].commented_out()
        return IniFile(tuple(lines))._append(option, value)

    def _append(self, option: str, value: str) -> "IniFile":
        lines, at = list(self.lines), self._end()
        ending = lines[at].ending
        if not ending:
            ending = "\n"
            lines[at] = replace(lines[at], raw=lines[at].raw + ending)
        lines.insert(at + 1, Line(f"{option} = {value}{ending}", SECTION, option, value))
        return IniFile(tuple(lines))


def overlay(changes: Mapping[str, str], comments: Iterable[str] = ()) -> str:
    """A file of its own for a second `--ini`, which wins over the first."""
    lines = [f"{MARK}{comment}" for comment in comments]
    lines += [f"[{SECTION}]", *(f"{option} = {value}" for option, value in changes.items())]
    return "\n".join(lines) + "\n"
