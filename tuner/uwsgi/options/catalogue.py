"""All options of one build of uWSGI."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from tuner.uwsgi.options.option import Option


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The options of one build; `version` is the one that uWSGI reports.

    `is_of_build` is true for the options that an image listed. Otherwise these are all options in
    the sources of that version, with all plugins and libraries.
    """

    version: str
    options: tuple[Option, ...]
    is_of_build: bool = False
    _by_name: Mapping[str, Option] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = {name: option for option in self.options for name in option.names}
        object.__setattr__(self, "_by_name", names)

    @classmethod
    def of(cls, version: str, options: Iterable[Option], *, is_of_build: bool = False) -> Self:
        """From options in any order."""
        return cls(version, tuple(sorted(options, key=lambda o: o.name)), is_of_build)

    def find(self, name: str) -> Option | None:
        """The option with that spelling; None when this build has none."""
        return self._by_name.get(name)

    def of_letter(self, letter: str) -> Option | None:
        """The option with that letter on a command line; None when there is none."""
        return next((option for option in self.options if option.letter == letter), None)

    @property
    def spellings(self) -> Collection[str]:
        """Every name of every option."""
        return self._by_name.keys()
