"""A parsed file: its lines, its effective values, and changes to it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tuner.uwsgi.ini.lines import MARK, SECTION, Line, read_lines
from tuner.uwsgi.ini.patching import ending_of, with_option
from tuner.uwsgi.ini.values import as_comment, as_int, canonical, is_true, why_unwritable
from tuner.uwsgi.ini.walking import Walk, walk


@dataclass(frozen=True, slots=True)
class IniFile:
    """A parsed file: `dump()` returns exactly the parsed text.

    `read` is how uWSGI goes through it, from `[uwsgi]` on and through its own included sections.
    """

    lines: tuple[Line, ...]
    read: Walk = field(init=False, repr=False, compare=False)
    _plain: Mapping[str, list[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        read, plain = walk(self.lines), dict[str, list[str]]()
        for step in read.steps:
            setting = None if step.is_conditional else step.line.setting
            if setting is not None:
                plain.setdefault(canonical(setting[0]), []).append(setting[1])
        object.__setattr__(self, "read", read)
        object.__setattr__(self, "_plain", plain)

    @classmethod
    def parse(cls, text: str) -> "IniFile":
        """Read any text."""
        return cls(read_lines(text))

    def dump(self) -> str:
        """The file's text."""
        return "".join(line.raw for line in self.lines)

    @property
    def has_section(self) -> bool:
        """Whether uWSGI finds a section to read."""
        return any(line.section == SECTION for line in self.lines)

    def values(self, option: str) -> list[str]:
        """All unconditional values of an option, in any spelling, in uWSGI's order."""
        return list(self._plain.get(canonical(option), ()))

    def get(self, option: str) -> str | None:
        """The last value, which decides; None when the option is not set."""
        values = self._plain.get(canonical(option))
        return values[-1] if values else None

    def integer(self, option: str, default: int) -> int:
        """The option as a number."""
        value = self.get(option)
        return default if value is None else as_int(value)

    def flag(self, option: str) -> bool:
        """The option as a boolean; False when it is not set."""
        value = self.get(option)
        return value is not None and is_true(value)

    def patch(
        self, changes: Mapping[str, str | None], notes: Mapping[str, str] | None = None
    ) -> "IniFile":
        """Set each option so that its value decides, or take it out (None); nothing else changes.

        `notes` puts one of our comments above the line of an option and replaces an older one.
        A second patch with the same values and notes changes nothing. A patch cannot override
        `inherit`, which uWSGI reads last. Raises `ValueError` for an option or a value that no
        line can contain.
        """
        file = self
        for option, value in changes.items():
            wrong = why_unwritable(option, value or "")
            if wrong:
                raise ValueError(f"{option} {wrong}")
            note = (notes or {}).get(option)
            lines = with_option(file.lines, file.read, option, value, note)
            file = file if lines == file.lines else IniFile(lines)
        return file

    def annotate(self, comments: Iterable[str]) -> "IniFile":
        """Put our comment lines on top; they replace earlier ones."""
        ending = ending_of(self.lines)
        ours = tuple(Line(f"{MARK}{as_comment(text)}{ending}", None) for text in comments)
        return IniFile(ours + tuple(line for line in self.lines if not self._is_header(line)))

    @staticmethod
    def _is_header(line: Line) -> bool:
        return line.section is None and not line.joined and line.raw.startswith(MARK)
