"""Do two files make uWSGI do the same? Compared is what counts of each, not how it is written.

Comments, blanks, spelling of a name, the order of unrelated options, scalars that a later line
overrides, and from where in the file they come make no difference. The order of one option's own
lines does, and what a condition or the include of another file stands before.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tuner.uwsgi.ini import OPENS, IniFile, as_int, canonical, effective, is_true
from tuner.uwsgi.ini.walking import walk
from tuner.uwsgi.options import Kind, Option, known

_INCLUDE = "(another file)"
_CHAINS = ("error-route", "response-route", "final-route", "route")
"""Rules of one chain run in the order of their lines, whichever options those are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionDifference:
    """What counts of one option in each of two files, in order; empty where it is not set."""

    option: str
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Setting:
    """One line that may count. `includes` is how many other files were read before it."""

    value: str
    condition: str
    includes: int

    def __str__(self) -> str:
        return f"{self.value} [{self.condition}]" if self.condition else self.value


def same_effect(first: IniFile, second: IniFile) -> bool:
    """Whether uWSGI runs alike with both, as far as text can tell."""
    return not semantic_diff(first, second)


def semantic_diff(first: IniFile, second: IniFile) -> tuple[OptionDifference, ...]:
    """Every option by which the two differ, by name."""
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
    """What counts, option by option; nothing of a flag that is false, as it is anyway."""
    found: dict[str, list[_Setting]] = {}
    for name, setting in _settings(ini):
        found.setdefault(name, []).append(setting)
    reduced = {name: _counting(name, settings) for name, settings in found.items()}
    return {name: settings for name, settings in reduced.items() if settings}


def _settings(ini: IniFile) -> Iterator[tuple[str, _Setting]]:
    """Every setting in uWSGI's order, its value expanded as far as text can tell."""
    conditions, includes = _conditions(ini), 0
    for found in effective(ini):
        held_by = conditions.get(found.line, "a condition") if found.is_conditional else ""
        if found.is_include:
            yield _INCLUDE, _Setting(f"{found.option} = {found.value}", held_by, includes)
            includes += 1
            continue
        name, value = _as_read(found.option, found.value)
        yield name, _Setting(value, held_by, includes)


def _conditions(ini: IniFile) -> Mapping[int, str]:
    """What opened the block in which a line stands, by the line's number from 1."""
    opener, found = "", {}
    for step in walk(ini.lines).steps:
        key = step.line.key or ""
        if not step.is_conditional:
            opener = f"{key} = {step.line.value}" if key in OPENS else ""
        elif opener:
            found[step.index + 1] = opener
    return found


def _as_read(key: str, value: str) -> tuple[str, str]:
    """The name under which a line is compared, and its value as uWSGI reads it."""
    option = _option(key)
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
    """All lines of a list; of everything else the last one that no condition holds, and below."""
    option = _option(name)
    if option is None or option.kind in (Kind.LIST, Kind.ACTION):
        return tuple(settings)
    plain = [at for at, setting in enumerate(settings) if not setting.condition]
    kept = settings[plain[-1] :] if plain else settings
    is_off = option.kind is Kind.FLAG and all(s.value == "false" and not s.includes for s in kept)
    # A line `log-master = false` still switches `master` on.
    return () if is_off and not option.forces else tuple(kept)


def _option(name: str) -> Option | None:
    return known().find(name)
