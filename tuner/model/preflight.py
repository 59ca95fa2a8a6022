"""What is known of a user's file before anything is measured with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Danger(StrEnum):
    """What an option may do besides serving the app; a trial goes without unless the job allows."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A line of a user's file that trials go without. `line` counts from 1.

    `file` is the name of one file among several of a comparison; empty where there is but one.
    """

    option: str
    line: int
    danger: Danger
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightFinding:
    """Something odd about a user's file that keeps nobody from running it.

    `rule` is the id of a lint rule, `strict` for what a strict uWSGI refuses, or `runs-anyway`;
    `severity` is a `uwsgi.lint.Severity` value. `line` is None where the whole file is meant.
    """

    rule: str
    severity: str
    line: int | None
    message: str
    file: str = ""


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
