"""The sanitised file: what a trial runs of the user's file.

A trial starts the file dozens of times. A cron job, a daemon or a subscription to a load balancer
would act for real each time, and take CPU from the measurement. Lines that do this are commented
out unless the job allows them. This is a guard and no sandbox: the image's own code, its command
and its files still run.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tuner.nouns.model import Danger, LeftOut
from tuner.uwsgi.ini import CLOSES, OPENS, IniFile, Line
from tuner.uwsgi.ini.walking import Obstacle
from tuner.uwsgi.options import Catalogue, Option, known

_LOGGERS = frozenset({"logger", "req-logger", "worker-logger", "worker-req-logger", "alarm"})
_PIPE = re.compile(r"^(\S+\s+)?(pipe|cmd):")  # loggers and alarms can have a name in front
_RUN = "exec://"
"""In any address of a file, this prefix runs a command: `@(exec://date)`."""

_TO_ITSELF = re.compile(r"^(:|/|@|127\.|localhost:|\[::1\]:|%\(|=)")
_BACKGROUND = frozenset({"daemonize", "daemonize2"})


@dataclass(frozen=True, slots=True)
class Sanitised:
    """The file that trials run, with the same line numbers, and the lines that are left out."""

    ini: IniFile
    left_out: tuple[LeftOut, ...]


def sanitised(
    ini: IniFile, allowed: Collection[Danger] = (), catalogue: Catalogue | None = None
) -> Sanitised:
    """The file with every dangerous line commented out that is not `allowed`.

    Lines keep their numbers. This includes conditional lines and included sections. A condition
    that runs a command is commented out together with its block.
    """
    options = catalogue or known()
    found: dict[int, LeftOut] = {}
    gone: set[int] = set()
    for index in _read(ini):
        line = ini.lines[index]
        danger = None if index in gone else danger_of(line, options)
        if danger is None or danger in allowed:
            continue
        option, _ = line.setting or (line.key or "", "")
        found[index] = LeftOut(option=option, line=index + 1, danger=danger)
        gone.update(_block_at(ini.lines, index))
    if not gone:
        return Sanitised(ini, ())
    lines = (
        line.commented_out() if index in gone and line.key is not None else line
        for index, line in enumerate(ini.lines)
    )
    return Sanitised(IniFile(tuple(lines)), tuple(found.values()))


def danger_of(line: Line, options: Catalogue) -> Danger | None:
    """What a line may do besides serving the app; None when a trial can run it."""
    if line.key is None:
        return None
    key, value = line.setting or (line.key, line.value)
    if _RUN in line.value or (key in _LOGGERS and _PIPE.match(value)):
        return Danger.COMMANDS
    option = options.find(key)
    return None if option is None or _is_kept(option, value) else option.danger


def _is_kept(option: Option, value: str) -> bool:
    """Whether the line makes a trial more like production and harms no other system."""
    match option.danger:
        case Danger.FILES:
            # A trial's files end with its container. In the background the container would end.
            return option.name not in _BACKGROUND
        case Danger.CODE:
            # A plugin by name is part of the image's uWSGI; the app may need it to start.
            return option.name != "dlopen" and "/" not in value
        case Danger.NETWORK:
            return option.name == "http-to" and _TO_ITSELF.match(value) is not None
        case _:
            return False


def _read(ini: IniFile) -> list[int]:
    """The indexes of all lines that uWSGI reads; all lines when the includes are too deep."""
    if any(obstacle is Obstacle.TOO_DEEP for _, obstacle in ini.read.obstacles):
        return list(range(len(ini.lines)))
    return sorted({step.index for step in ini.read.steps})


def _block_at(lines: tuple[Line, ...], index: int) -> Iterator[int]:
    """The line itself; for a line that opens a block, the whole block."""
    yield index
    if lines[index].key not in OPENS:
        return
    for following in range(index + 1, len(lines)):
        if lines[following].section != lines[index].section:
            return
        yield following
        if lines[following].key in CLOSES:
            return
