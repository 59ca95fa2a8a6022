"""What is found when the words of a container are followed: calls of uWSGI, and what they need."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.targets.compose.expanding import Value


@dataclass(frozen=True, slots=True)
class Step:
    """What a script does before uWSGI, with file and line. `sure` unless a condition holds it."""

    command: str
    at: str
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A command that starts uWSGI, as its container runs it.

    The options of uWSGI begin at the word `first`. `at` is file and line, empty for the words of
    the container. `folder` is the working folder. `exports`, `steps` and `sourced` are what gets
    lost when only `words` run: variables with their values (None: only a run shows it) and places,
    commands, and files that a script reads.
    """

    words: tuple[str, ...]
    first: int
    folder: str
    at: str = ""
    values: tuple[Value, ...] = ()
    exports: Mapping[str, tuple[str | None, str]] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    sourced: tuple[Step, ...] = ()
    is_sure: bool = True
    is_uwsgi: bool = True  # else a program that takes `--ini FILE` for uWSGI
    filled: Mapping[str, str] = field(default_factory=dict)  # what a script makes a file of
    variables: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    of_arguments: int | None = None  # the word at which a script's own arguments begin

    @property
    def options(self) -> tuple[str, ...]:
        """The words of uWSGI."""
        return self.words[self.first :]


@dataclass(frozen=True, slots=True)
class Trail:
    """All calls that were found, and what could not be followed, with its place."""

    calls: tuple[Call, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command stands, and the values of the variables in it."""

    at: str
    values: tuple[Value, ...] = ()


@dataclass(slots=True)
class Lost:
    """What is lost when a script does not run: see `Call`."""

    exports: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    sourced: list[Step] = field(default_factory=list)

    def copy(self) -> "Lost":
        return Lost({**self.exports}, [*self.steps], [*self.sourced])
