"""Files derived from the user's: what a trial runs of it, and by which options two differ."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tuner.nouns.model import Danger, LeftOut
from tuner.uwsgi.ini import CLOSES, OPENS, IniFile, Line, as_int, canonical, effective, is_true
from tuner.uwsgi.ini.walking import Obstacle
from tuner.uwsgi.options import Catalogue, Kind, Option, known

# ---- The sanitised file: what a trial runs of the user's file
#
# A trial starts the file dozens of times. A cron job, a daemon or a subscription to a load balancer
# would act for real each time, and take CPU from the measurement. Lines that do this are commented
# out unless the job allows them. This is a guard and no sandbox: the image's own code, its command
# and its files still run.

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


# ---- The semantic diff of two files: the options by which uWSGI behaves differently
#
# These make no difference: comments, blanks, the spelling of a name, the order of unrelated
# options, scalars that a later line overrides, and the section of a line. These do: the order of
# one option's lines, and conditions and includes of other files around a line.

_INCLUDE = "(another file)"
_CHAINS = ("error-route", "response-route", "final-route", "route")
"""The rules of one chain run in the order of their lines, over all its options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionDifference:
    """The effective values of one option in two files, in order; empty when it is not set."""

    option: str
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Setting:
    """One line that may count. `includes` is the number of other files that are read before it."""

    value: str
    condition: str
    includes: int

    def __str__(self) -> str:
        return f"{self.value} [{self.condition}]" if self.condition else self.value


def semantic_diff(first: IniFile, second: IniFile) -> tuple[OptionDifference, ...]:
    """Every option that differs, by name."""
    ours, theirs = _effect(first), _effect(second)
    return tuple(
        OptionDifference(
            option=option,
            first=tuple(str(setting) for setting in ours.get(option, ())),
            second=tuple(str(setting) for setting in theirs.get(option, ())),
        )
        for option in sorted({*ours, *theirs})
        if ours.get(option) != theirs.get(option)
    )


def _effect(ini: IniFile) -> Mapping[str, tuple[_Setting, ...]]:
    """The lines that count, by option. A flag that is false by default and by its line has none."""
    found: dict[str, list[_Setting]] = {}
    for name, setting in _settings(ini):
        found.setdefault(name, []).append(setting)
    reduced = {name: _counting(name, settings) for name, settings in found.items()}
    return {name: settings for name, settings in reduced.items() if settings}


def _settings(ini: IniFile) -> Iterator[tuple[str, _Setting]]:
    """Every setting in uWSGI's order, with its value expanded as far as the text shows."""
    includes = 0
    for found in effective(ini):
        if found.is_include:
            yield _INCLUDE, _Setting(f"{found.option} = {found.value}", found.condition, includes)
            includes += 1
            continue
        name, value = _as_read(found.option, found.value)
        yield name, _Setting(value, found.condition, includes)


def _as_read(key: str, value: str) -> tuple[str, str]:
    """The name that a line is compared by, and its value as uWSGI reads it."""
    option = known().find(key)
    for chain in _CHAINS:
        if key == chain or key.startswith(f"{chain}-"):
            return chain, f"{key} = {value}"
    if option is None:
        return canonical(key), value
    if option.kind is Kind.FLAG:
        return option.name, "true" if is_true(value) else "false"
    if option.kind is Kind.INTEGER and not _has_placeholder(value):
        return option.name, str(as_int(value))
    return option.name, value


def _has_placeholder(value: str) -> bool:
    return any(opening in value for opening in ("%", "$(", "@("))


def _counting(name: str, settings: list[_Setting]) -> tuple[_Setting, ...]:
    """All lines of a list; otherwise the last unconditional line, and those below it."""
    option = known().find(name)
    if option is None or option.kind in (Kind.LIST, Kind.ACTION):
        return tuple(settings)
    plain = [at for at, setting in enumerate(settings) if not setting.condition]
    kept = settings[plain[-1] :] if plain else settings
    is_off = option.kind is Kind.FLAG and all(s.value == "false" and not s.includes for s in kept)
    # A line `log-master = false` still switches `master` on.
    return () if is_off and not option.forces else tuple(kept)
