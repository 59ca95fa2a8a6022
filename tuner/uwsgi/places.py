"""Changed options whose home is no file: each is a variable, or a key of a chart's values."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.uwsgi.converting import variable_of, why_no_variable, why_unquotable
from tuner.uwsgi.ini import canonical
from tuner.uwsgi.options import Kind, known

T = TypeVar("T")

Tree = dict[str, "int | str | Tree"]
REST = "*"
"""Stands for all options that have no place of their own."""

_DOT = re.compile(r"(?<!\\)\.")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,5}")
"""Helm prints a number from 1 000 000 on as 1e+06, which uWSGI reads as 1: such a one is a text."""


@dataclass(frozen=True, slots=True)
class Change:
    """A changed option; None in `value`: it is taken out; in `was`: it was not set."""

    option: str
    value: str | None
    was: str | None = None

    @property
    def is_flag(self) -> bool:
        """Whether uWSGI reads it as on or off."""
        option = known().find(self.option)
        return option is not None and option.kind is Kind.FLAG

    @property
    def adds(self) -> bool:
        """Whether a second line of it adds to the first, instead of replacing it."""
        option = known().find(self.option)
        return option is None or option.kind in {Kind.LIST, Kind.ACTION}


@dataclass(frozen=True, slots=True)
class Places:
    """The place of each option by its canonical name, and that of all others."""

    own: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""

    @classmethod
    def parse(cls, texts: Iterable[str], option: str) -> "Places":
        """`processes=web.processes,*=web.extra`. Raises `InvalidInput`, with `option` in front."""
        own, mistakes = dict[str, str](), list[Mistake]()
        for text in (each.strip() for whole in texts for each in whole.split(",")):
            name, equals, place = (part.strip() for part in text.partition("="))
            why = "is not OPTION=PLACE" if not (name and equals and place) else ""
            why = why or _taken(canonical(name), place, own)
            if why:
                mistakes.append(Mistake(f"{option} {text}", why))
            own[canonical(name)] = place
        if mistakes:
            raise InvalidInput(mistakes)
        return cls({name: place for name, place in own.items() if name != REST}, own.get(REST, ""))

    def find(self, option: str) -> str | None:
        """The option's own place, under each of its names."""
        return self.own.get(canonical(option))


def _taken(name: str, place: str, own: Mapping[str, str]) -> str:
    """Why an option cannot have that place after the others; a key holds one value."""
    if name in own:
        return f"{name} has the place {own[name]} already"
    for other, theirs in own.items():
        short, long = sorted((place, theirs), key=len)
        is_rest = REST in (name, other) and short == (place if name == REST else theirs)
        if short == long or (long.startswith(f"{short}.") and not is_rest):
            return f"{other} has the place {theirs} already"
    return ""


@dataclass(frozen=True, slots=True)
class Placed(Generic[T]):
    """What was placed, the names of what comes out, a sentence for each option without a place."""

    placed: T
    out: Sequence[str] = ()
    homeless: Sequence[str] = ()


def variables(changes: Iterable[Change], places: Places) -> Placed[dict[str, str]]:
    """Value by variable: UWSGI_X for uWSGI itself, or the names of a script by `places`."""
    found, out, homeless = dict[str, str](), list[str](), list[str]()
    for change in changes:
        own = places.find(change.option)
        why = None if own else why_no_variable(change.option, change.value or "")
        variable = own or variable_of(change.option)
        if why or (change.adds and change.value is not None and variable in found):
            homeless.append(f"{change.option}: {why or 'a variable has one value'}")
        elif change.value is None:
            out.append(variable)
        else:
            found[variable] = change.value
    return Placed(found, out, homeless)


def variables_beside(
    changes: Sequence[Change], places: Places, there: Sequence[str]
) -> Placed[dict[str, str]]:
    """The same for a container that has these variables for uWSGI.

    An option keeps the name under which it is there. If uWSGI itself reads none of them, a script
    does, and only `places` knows its names.
    """
    own = {canonical(option): name for name in there if (option := option_of(name))}
    known_places = replace(places, own={**own, **places.own})
    is_script = bool(there) and not own
    placed = variables(
        [c for c in changes if not is_script or known_places.find(c.option)], known_places
    )
    unknown = [
        f"{c.option}: a script reads {', '.join(there)}: name its variable with --values-map"
        f" {c.option}=VARIABLE"
        for c in changes
        if is_script and not known_places.find(c.option)
    ]
    return replace(placed, homeless=[*placed.homeless, *unknown])


def env_file(changes: Iterable[Change], places: Places) -> Placed[str]:
    """The variables as lines of an env file."""
    found = variables(changes, places)
    bad = {name: why for name, value in found.placed.items() if (why := why_unquotable(value))}
    lines = [f"{name}={value}\n" for name, value in found.placed.items() if name not in bad]
    unquotable = [f"{name}: {why}" for name, why in bad.items()]
    return Placed("".join(lines), found.out, [*found.homeless, *unquotable])


def option_of(variable: str) -> str:
    """The option that uWSGI reads from a variable; empty for another one."""
    option = variable.removeprefix("UWSGI_").lower().replace("_", "-")
    is_own = variable == variable_of(option) and known().find(option) is not None
    return option if is_own else ""


def values(changes: Iterable[Change], places: Places) -> Placed[Tree]:
    """A fragment of a chart's values, with numbers and switches that Helm prints as they are."""
    tree, homeless = Tree(), list[str]()
    for change in changes:
        own = places.find(change.option)
        path = [*_keys(own)] if own else [*_keys(places.rest), change.option]
        why = _no_value(change, places, is_own=own is not None)
        if why:
            homeless.append(f"{change.option}: {why}")
        else:
            _put(tree, path, helm_scalar("false" if change.value is None else change.value))
    return Placed(tree, (), homeless)


def helm_scalar(value: str) -> int | str:
    """A small number as such; all else as a text: `on` would be printed as true."""
    return int(value) if _NUMBER.fullmatch(value) else value


def _no_value(change: Change, places: Places, *, is_own: bool) -> str | None:
    if not is_own and not places.rest:
        return f"--values-map has no place for it: add {change.option}=KEY or {REST}=KEY"
    if change.value is None and not change.is_flag:
        return "no key takes an option out: remove it where the chart sets it"
    if not is_own and change.adds and change.was is not None:
        return f"a key of {places.rest} adds a line, and the line {change.was!r} stays"
    return None


def _keys(place: str) -> Iterator[str]:
    """As `helm --set` reads them: `a.b` are two keys, `a\\.b` is one."""
    return (key.replace("\\.", ".") for key in _DOT.split(place))


def _put(tree: Tree, path: Sequence[str], value: int | str) -> None:
    for key in path[:-1]:
        below = tree.get(key)
        inner = below if isinstance(below, dict) else Tree()
        tree[key] = inner
        tree = inner
    tree[path[-1]] = value
