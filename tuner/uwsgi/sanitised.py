"""What of a user's file a benchmark host does not run unless it is told that it may.

A trial starts the file dozens of times. A cron job, a daemon beside it or a subscription to a
load balancer would each time do for real what production does once, and would take CPU that the
figures are then short of. It is a guard against that and no sandbox: the image's own code runs
anyway, and so does what the image's command or a file of the image says.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tuner.model import Danger, LeftOut
from tuner.uwsgi.ini import CLOSES, OPENS, IniFile, Line
from tuner.uwsgi.ini.walking import Obstacle
from tuner.uwsgi.options import Catalogue, Option, known

_LOGGERS = frozenset({"logger", "req-logger", "worker-logger", "worker-req-logger", "alarm"})
_PIPE = re.compile(r"^(\S+\s+)?(pipe|cmd):")  # of loggers and of alarms, both may have a name
_RUN = "exec://"
"""Wherever uWSGI reads a file by its address, this one is a command: `@(exec://date)`."""

_TO_ITSELF = re.compile(r"^(:|/|@|127\.|localhost:|\[::1\]:|%\(|=)")
_BACKGROUND = frozenset({"daemonize", "daemonize2"})


@dataclass(frozen=True, slots=True)
class Sanitised:
    """A file less what trials go without, line for line the same, and what that is."""

    ini: IniFile
    left_out: tuple[LeftOut, ...]


def sanitised(
    ini: IniFile, allowed: Collection[Danger] = (), catalogue: Catalogue | None = None
) -> Sanitised:
    """The file with every line commented out that does what is not `allowed`.

    Lines keep their numbers. Conditional lines count too, and so do those of sections that the
    file includes. A condition that itself runs something goes with all that it encloses.
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
    """What a line may do besides serving the app; None where a trial may run it."""
    if line.key is None:
        return None
    key, value = line.setting or (line.key, line.value)
    if _RUN in line.value or (key in _LOGGERS and _PIPE.match(value)):
        return Danger.COMMANDS
    option = options.find(key)
    return None if option is None or _is_kept(option, value) else option.danger


def _is_kept(option: Option, value: str) -> bool:
    """Whether a trial is closer to the deployed app with it, and nobody else the worse for it."""
    match option.danger:
        case Danger.FILES:
            # A trial's files are thrown away with its container; in the background it would end.
            return option.name not in _BACKGROUND
        case Danger.CODE:
            # By name it is a part of the image's uWSGI that the app may not start without.
            return option.name != "dlopen" and "/" not in value
        case Danger.NETWORK:
            return option.name == "http-to" and _TO_ITSELF.match(value) is not None
        case _:
            return False


def _read(ini: IniFile) -> list[int]:
    """The places of all lines that uWSGI reads; of a file too entangled to tell, all lines."""
    if any(obstacle is Obstacle.TOO_DEEP for _, obstacle in ini.read.obstacles):
        return list(range(len(ini.lines)))
    return sorted({step.index for step in ini.read.steps})


def _block_at(lines: tuple[Line, ...], index: int) -> Iterator[int]:
    """The line itself; of one that opens a condition, all down to what closes it."""
    yield index
    if lines[index].key not in OPENS:
        return
    for following in range(index + 1, len(lines)):
        if lines[following].section != lines[index].section:
            return
        yield following
        if lines[following].key in CLOSES:
            return
