"""What is looked at: a file, and as much as is known of where it runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tuner.uwsgi.ini import IniFile, Line, Problem, problems
from tuner.uwsgi.options import nearest
from tuner.uwsgi.options.catalogue import Catalogue
from tuner.uwsgi.options.option import Option

MOST_GUESSES = 50
_LONGEST = 60  # characters of a name that may be a slip of some option's


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Where the file will run; None for what nobody said: rules about it then keep silent.

    `command` is the image's ENTRYPOINT and CMD in one, or the job's own command; `environ` the
    image's environment. `memory_per_process_mb` is measured or guessed.
    """

    cpus: float | None = None
    memory_mb: int | None = None
    somaxconn: int | None = None
    nofile: int | None = None
    memory_per_process_mb: float | None = None
    command: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that uWSGI reads as `key = value`. `number` counts from 1.

    `option` is None where no option has that name, be it a mistake or a placeholder of the user's.
    """

    number: int
    line: Line
    key: str
    option: Option | None
    is_conditional: bool

    @property
    def value(self) -> str:
        """What stands behind the `=`, stripped."""
        return self.line.value

    @property
    def name(self) -> str:
        """The option's own name, whichever of its spellings is used here."""
        return self.option.name if self.option else self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """All that a rule may look at.

    `entries` are the lines that count, in the file's order, those of included sections among them;
    `problems` is what keeps the file from being read as it is meant. Both are found once, for all
    rules.
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
        """The entries that set one of these options, by whichever of its spellings, by line."""
        known = (self.catalogue.find(option) for option in options)
        names = {found.name if found else own for found, own in zip(known, options, strict=True)}
        found = [entry for name in names for entry in self._by_name.get(name, ())]
        return tuple(sorted(found, key=lambda entry: entry.number))

    def nearest(self, name: str) -> str | None:
        """The option most likely meant by a name that is none; looked for once, for it takes long.

        None for the names beyond the first `MOST_GUESSES`: such a file is beyond guessing.
        """
        if name not in self._nearest and len(self._nearest) < MOST_GUESSES:
            is_short = len(name) <= _LONGEST
            self._nearest[name] = nearest(self.catalogue, name) if is_short else None
        return self._nearest.get(name)


def _entries(ini: IniFile, catalogue: Catalogue) -> Iterator[Entry]:
    steps = {step.index: step for step in ini.read.steps}
    for index in sorted(steps):
        line = steps[index].line
        key = line.key or ""
        yield Entry(index + 1, line, key, catalogue.find(key), steps[index].is_conditional)
