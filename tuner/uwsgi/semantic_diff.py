"""The semantic diff of two files: the options by which uWSGI behaves differently.

These make no difference: comments, blanks, the spelling of a name, the order of unrelated options,
scalars that a later line overrides, and the section of a line. These do: the order of one option's
lines, and conditions and includes of other files around a line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tuner.uwsgi.ini import IniFile, as_int, canonical, effective, is_true
from tuner.uwsgi.options import Kind, known

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
