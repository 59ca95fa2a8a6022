"""What is known of a user's file before anything is measured with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from tuner.nouns.model.base import about


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


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A line of a file that trials leave out; the recommended file still has it."""

    option: Annotated[str, about("in the file's spelling")]
    line: Annotated[int, about("of the file, from 1")]
    danger: Annotated[Danger, about("what the option may do; `allow` of the request permits it")]
    file: Annotated[str, about("the file of a comparison; empty: there is only one")] = ""


@dataclass(frozen=True, kw_only=True)
class PreflightFinding:
    """Something odd about a file. It can be measured nevertheless."""

    rule: Annotated[
        str, about("a rule of `tuner lint`; or strict, which uWSGI refuses; or runs-anyway")
    ]
    severity: Annotated[str, about("error, warning or note")]
    line: Annotated[int | None, about("of the file, from 1; null: the file as a whole")]
    message: Annotated[str, about("what is odd")]
    file: Annotated[str, about("the file of a comparison; empty: there is only one")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What a host saw before the first trial.

    `somaxconn` is net.core.somaxconn as uWSGI reads it inside; None where it could not be read.
    """

    somaxconn: int | None = None
    findings: tuple[PreflightFinding, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def options_of(left_out: Sequence[LeftOut]) -> str:
    """`attach-daemon, cron and exec-asap`, each once; empty for none."""
    names = list(dict.fromkeys(line.option for line in left_out))
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
