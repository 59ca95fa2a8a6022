"""What a reader takes from a file: settings, and what uWSGI reads otherwise than it is meant."""

from dataclasses import dataclass, field

from tuner.uwsgi.ini import why_unwritable


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
    """What uWSGI takes from a file, and what it misreads; `top` is the line where it begins."""

    settings: list[Setting] = field(default_factory=list)
    misread: list[Misread] = field(default_factory=list)
    top: int = 1

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
