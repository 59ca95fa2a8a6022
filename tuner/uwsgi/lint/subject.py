"""What rules look at: a file, and what is known about the place where it runs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tuner.uwsgi.ini import IniFile, Line, Problem, problems
from tuner.uwsgi.options import nearest
from tuner.uwsgi.options.catalogue import Catalogue
from tuner.uwsgi.options.option import Option

MAX_CHARS = 200_000
"""A real uwsgi.ini is shorter. Only this much of a longer text is read."""

MOST_GUESSES = 50
_LONGEST = 60  # characters of a name that may be a misspelt option
_BLANKS = " \t\r"
_DYNAMIC = re.compile(r"[%$@]\(|%[0-9A-Za-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Where the file will run. None means unknown; rules that need the fact then find nothing.

    `command` is ENTRYPOINT and CMD of the image, or the job's own command. `environ` is the image's
    environment. `memory_per_process_mb` is measured or guessed.
    """

    cpus: float | None = None
    memory_mb: int | None = None
    somaxconn: int | None = None
    nofile: int | None = None
    memory_per_process_mb: float | None = None
    command: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    clients_keep: bool = False  # clients want to send several requests on one connection


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that uWSGI reads as `key = value`. `number` counts from 1.

    `option` is None when no option has that name: a mistake, or a placeholder of the user.
    """

    number: int
    line: Line
    key: str
    option: Option | None
    is_conditional: bool

    @property
    def value(self) -> str:
        """The text after the `=`, stripped."""
        return self.line.value

    @property
    def name(self) -> str:
        """The option's canonical name."""
        return self.option.name if self.option else self.key

    @property
    def is_dynamic(self) -> bool:
        """Whether uWSGI replaces the value, or a part of it, before it uses it."""
        return is_dynamic(self.value)

    @property
    def is_continued(self) -> bool:
        """Whether the author wants the line to go on in the next one, which uWSGI does not do."""
        return self.line.text.rstrip(_BLANKS).endswith("\\")


def is_dynamic(value: str) -> bool:
    """Whether a value contains a variable: `%(name)`, `$(NAME)`, `@(file)` or `%k`."""
    return _DYNAMIC.search(value) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Everything that a rule can look at.

    `entries` are the lines that uWSGI reads, in the file's order, included sections too.
    `problems` are the reasons why uWSGI misreads the file. Both are computed once for all rules.
    """

    ini: IniFile
    catalogue: Catalogue
    box: Box = Box()
    entries: tuple[Entry, ...] = field(init=False, repr=False, compare=False)
    problems: tuple[Problem, ...] = field(init=False, repr=False, compare=False)
    _by_name: Mapping[str, list[Entry]] = field(init=False, repr=False, compare=False)
    _nearest: dict[str, str | None] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        entries, by_name = tuple(_entries(self.ini, self.catalogue)), dict[str, list[Entry]]()
        for entry in entries:
            by_name.setdefault(entry.name, []).append(entry)
        object.__setattr__(self, "entries", entries)
        object.__setattr__(self, "problems", problems(self.ini, most=None))
        object.__setattr__(self, "_by_name", by_name)

    def named(self, *options: str) -> tuple[Entry, ...]:
        """The entries that set one of these options, in any spelling, by line."""
        known = (self.catalogue.find(option) for option in options)
        names = {found.name if found else own for found, own in zip(known, options, strict=True)}
        found = [entry for name in names for entry in self._by_name.get(name, ())]
        return tuple(sorted(found, key=lambda entry: entry.number))

    def nearest(self, name: str) -> str | None:
        """The option that a wrong name most likely means; cached, because the search is slow.

        None for names after the first `MOST_GUESSES` of a file.
        """
        if name not in self._nearest and len(self._nearest) < MOST_GUESSES:
            is_short = len(name) <= _LONGEST
            self._nearest[name] = nearest(self.catalogue, name) if is_short else None
        return self._nearest.get(name)


def subject_of(text: str, catalogue: Catalogue, box: Box | None = None) -> Subject:
    """A subject of any text. The time is bounded, also for a text that is too long.

    Bytes that are not UTF-8 are expected as `surrogateescape` decodes them.
    """
    return Subject(ini=IniFile.parse(text[: MAX_CHARS + 1]), catalogue=catalogue, box=box or Box())


def _entries(ini: IniFile, catalogue: Catalogue) -> Iterator[Entry]:
    steps = {step.index: step for step in ini.read.steps}
    for index in sorted(steps):
        line = steps[index].line
        key = line.key or ""
        yield Entry(index + 1, line, key, catalogue.find(key), steps[index].is_conditional)
