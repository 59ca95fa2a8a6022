"""All options of uWSGI 2.0.31, and those of one build."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from tuner.uwsgi import knowledge
from tuner.uwsgi.options import table
from tuner.uwsgi.options.catalogue import Catalogue
from tuner.uwsgi.options.danger import danger_of
from tuner.nouns.model import Danger
from tuner.uwsgi.options.option import Advice, Kind, Option
from tuner.uwsgi.options.other_releases import elsewhere

_VALUES = frozenset({Kind.INTEGER, Kind.TEXT, Kind.LIST})


@cache
def notes() -> Mapping[str, Mapping[str, Any]]:
    """What we know of an option beyond the C source: fields of `Option` by its canonical name."""
    return knowledge.mapping("options/notes.yaml")


@cache
def known() -> Catalogue:
    """All options of 2.0.31, plugins and libraries included; `is_of_build` is False."""
    return Catalogue.of(table.VERSION, map(_noted, table.rows()))


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
