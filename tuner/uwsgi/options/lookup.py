"""All options of uWSGI 2.0.31, those of an earlier release, and those of one build."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from tuner.nouns.plain import Danger
from tuner.uwsgi import knowledge
from tuner.uwsgi.options import releases
from tuner.uwsgi.options.guessing import Advice, Catalogue, Kind, Option, Takes

# ---- Which options do more than serve the app: danger.yaml, read once


@cache
def dangers() -> Mapping[str, Danger]:
    """The danger of each option by its canonical name; a name that ends in `-` is a prefix."""
    table = knowledge.mapping("options/danger.yaml")
    return {name: Danger(danger) for danger, names in table.items() for name in names}


def danger_of(name: str) -> Danger | None:
    """What the option of that canonical name may do besides serving the app; None for nothing."""
    head, hyphen, _ = name.partition("-")
    return dangers().get(name) or dangers().get(f"{head}{hyphen}" if hyphen else "")


# ---- The options in the C source of uWSGI 2.0.31: known.tsv, read once

VERSION = "2.0.31"
"""The release of the table; tests/option_tables.py builds the table."""


def rows_of(lines: Iterable[str]) -> tuple[Option, ...]:
    """The options of a table; tests/option_tables.py names its columns."""
    return tuple(_option(line) for line in lines if line and not line.startswith("#"))


@cache
def rows() -> tuple[Option, ...]:
    """The table that comes with this package."""
    return rows_of(knowledge.table("options/known.tsv"))


def _option(line: str) -> Option:
    names, kind, needs, forces, when, takes, letter, *_ = [*line.split("\t"), *[""] * 5]
    spellings = tuple(names.split(" "))
    return Option(
        name=spellings[0],
        names=spellings,
        kind=Kind(kind),
        needs=needs,
        forces=tuple(forces.split()),
        is_immediate=bool(when),
        takes=Takes(takes or Takes.VALUE),
        letter=letter,
    )


# ---- Options of other releases that 2.0.31 does not have

_OPTIONS = (
    Option(
        name="thunder-lock-watchdog",
        names=("thunder-lock-watchdog",),
        kind=Kind.FLAG,
        sentence="Frees the thunder lock when its worker has died.",
        since="2.1",
        rules=("Only the unreleased 2.1 has it; every 2.0 silently ignores it.",),
        advice=Advice.NEVER,
    ),
)
_BY_NAME = {name: option for option in _OPTIONS for name in option.names}


def elsewhere(name: str) -> Option | None:
    """An option that 2.0.31 lacks; its `since` or `until` names the releases."""
    return _BY_NAME.get(name)


def later_release(name: str, version: str) -> str | None:
    """The first release with an option of that name, if it is later than `version`."""
    other = elsewhere(name)
    first = releases.first_releases().get(name) or (other.since if other else None)
    return first if first and releases.is_before(version, first) else None


_VALUES = frozenset({Kind.INTEGER, Kind.TEXT, Kind.LIST})


@cache
def notes() -> Mapping[str, Mapping[str, Any]]:
    """What we know of an option beyond the C source: fields of `Option` by its canonical name."""
    return knowledge.mapping("options/notes.yaml")


@cache
def known() -> Catalogue:
    """All options of 2.0.31, plugins and libraries included; `is_of_build` is False."""
    return Catalogue.of(VERSION, map(_noted, rows()))


@lru_cache(maxsize=8)
def of_release(version: str) -> Catalogue:
    """All options of that release, from 2.0.15 on; of a 2.0 after 2.0.31, those of 2.0.31."""
    missing, not_yet_at_once, alone = (
        releases.changed_after(version, what)
        for what in (releases.NEW, releases.AT_ONCE, releases.TAKES_VALUE)
    )
    options = (
        replace(
            option,
            name=names[0],
            names=names,
            is_immediate=option.is_immediate and option.name not in not_yet_at_once,
            takes=Takes.NOTHING if option.name in alone else option.takes,
        )
        for option in rows()
        if (names := tuple(name for name in option.names if name not in missing))
    )
    return Catalogue.of(version, map(_noted, options))


def of_build(version: str, names: Sequence[str]) -> Catalogue:
    """The options of one build: `names` is the output of its `--dump-options`.

    Options keep only the spellings that the build has. An unknown option is text.
    """
    return Catalogue.of(version, _of_build(names), is_of_build=True)


def _of_build(names: Iterable[str]) -> Iterator[Option]:
    present = dict.fromkeys(names)
    everything = known()
    for option in everything.options:
        spellings = tuple(name for name in option.names if name in present)
        if spellings == option.names:
            yield option
        elif spellings:
            yield replace(option, name=spellings[0], names=spellings)
    for name in present:
        if everything.find(name) is None:
            yield elsewhere(name) or _unknown(name)


def _unknown(name: str) -> Option:
    """An option of the build that we do not know."""
    return Option(
        name=name, names=(name,), kind=Kind.TEXT, advice=Advice.NEVER, danger=danger_of(name)
    )


def _noted(option: Option) -> Option:
    """An option of the table, with what we know beyond the C source."""
    note, danger = dict(notes().get(option.name, {})), danger_of(option.name)
    advice, rules = note.pop("advice", None), note.pop("rules", ())
    return replace(
        option,
        since=releases.first_releases().get(option.name),
        rules=(*rules, *_common_rules(option)),
        advice=Advice(advice) if advice else _advice(option, danger),
        danger=danger,
        **note,
    )


def _common_rules(option: Option) -> tuple[str, ...]:
    rules: tuple[str, ...] = ()
    if option.forces:
        rules += (f"Switches on {' and '.join(option.forces)}.",)
    if option.is_immediate and option.kind in _VALUES:
        rules += ("Applied at its line: `%(name)` and `$(NAME)` in its value are not replaced.",)
    return rules


def _advice(option: Option, danger: Danger | None) -> Advice:
    """The advice for an option without a note."""
    return Advice.NEVER if danger or option.kind is Kind.ACTION else Advice.SEMANTIC
