"""Nouns and words without pydantic: commands that need no others start quickly.

`tuner.nouns.model` and `tuner.nouns.wording` offer them too.
"""

from enum import StrEnum

BYTES_PER_MB = 2**20
"""A megabyte as Docker's `--memory 512m` and uWSGI's `reload-on-rss` have it: limits and what is
used of them are in the same unit."""


class Danger(StrEnum):
    """What an option may do besides serving. Trials leave it out unless the job allows it."""

    COMMANDS = "commands"  # starts programs
    FILES = "files"  # writes or removes files that it names
    NETWORK = "network"  # talks to others, or listens for others than clients
    PRIVILEGES = "privileges"  # namespaces, capabilities, mounts, other users
    CODE = "code"  # loads a plugin or a library

    @property
    def sentence(self) -> str:
        """What such an option does, for a person."""
        return _DOES[self]


_DOES = {
    Danger.COMMANDS: "it starts programs",
    Danger.FILES: "it writes or removes files",
    Danger.NETWORK: "it talks to others, or lets others in",
    Danger.PRIVILEGES: "it takes or asks for privileges",
    Danger.CODE: "it loads code into uWSGI",
}


class Priority(StrEnum):
    """Which jobs of a pool come first."""

    INTERACTIVE = "interactive"
    NIGHTLY = "nightly"  # when no interactive one waits


# ---- Words


def printable(text: str, keep: str = "") -> str:
    """The text with `�` for what a terminal would obey, and for marks that turn its direction."""
    return "".join(
        one if one.isprintable() or one in keep else "\N{REPLACEMENT CHARACTER}" for one in text
    )


def thousands(number: int) -> str:
    """`182 000`."""
    return f"{number:,}".replace(",", " ")


def count(number: int, noun: str) -> str:
    """`1 block`, `2 blocks`, `182 000 requests`."""
    return f"{thousands(number)} {noun}{'s' * (number != 1)}"
