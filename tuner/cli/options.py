"""`tuner options`: what an option of uWSGI does, and whether a build has it.

Needs no service; needs Docker only for --image.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from tuner.cli.shared import AsJson, Image, columns, facts_of, print_answer
from tuner.nouns.errors import NotFound
from tuner.uwsgi.options import Catalogue, Kind, Option, elsewhere, known, nearest, of_build

_READ_AS = {
    Kind.FLAG: "true, unless the value is false, off, no or 0",
    Kind.INTEGER: "a number: the first digits of the value, else 0",
    Kind.TEXT: "text: the last line wins",
    Kind.LIST: "a list: each line adds a value",
    Kind.ACTION: "an action at this place in the file",
}


def options(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An option. Without one: list all options.")
    ] = None,
    image: Image = None,
    as_json: AsJson = False,
) -> None:
    """Explain an option of uWSGI, or list all options."""
    catalogue = known() if image is None else _asked(image)
    answer: dict[str, Any] = {"uwsgi_version": catalogue.version}
    if name is None:
        rows = [(option.name, option.sentence) for option in catalogue.options]
        print_answer(answer | {"options": catalogue.options}, columns(rows), as_json=as_json)
    else:
        option = _found(catalogue, name)
        print_answer(answer | asdict(option), lines_about(catalogue, option), as_json=as_json)


def _found(catalogue: Catalogue, name: str) -> Option:
    """The option of that name. Raises `NotFound` with the reason if the build lacks it."""
    option = catalogue.find(name)
    if option is None:
        raise NotFound(why_missing(catalogue, name))
    return option


def why_missing(catalogue: Catalogue, name: str) -> str:
    """Why the build has no option of that name, or which one may be meant."""
    possible = known().find(name) or elsewhere(name)
    if possible is None:
        meant = nearest(catalogue, name)
        hint = f"; did you mean {meant}?" if meant else ""
        return f"uWSGI {catalogue.version} has no option {name}{hint}"
    why = f"it needs {possible.needs}" if possible.needs else _release(possible)
    where = " of that image" if catalogue.is_of_build else ""
    return f"uWSGI {catalogue.version}{where} has no option {name}: {why}"


def _release(option: Option) -> str:
    parts = []
    if option.since:
        parts.append(f"{option.since} is the first release with it")
    if option.until:
        parts.append(f"{option.until} is the last release with it")
    return " and ".join(parts) or "other releases have it"


def lines_about(catalogue: Catalogue, option: Option) -> Iterator[str]:
    """What it does, how it is read, its default, and the releases that have it."""
    yield option.name
    if option.sentence:
        yield f"  {option.sentence}"
    others = [name for name in option.names if name != option.name]
    rows = {
        "also": ", ".join(others),
        "read as": _READ_AS[option.kind],
        "default": option.default or "",
        "since": option.since or "",
        "until": option.until or "",
        "needs": "" if catalogue.is_of_build else option.needs,
        "tuning": option.advice,
        "trials": f"left out: {option.danger.sentence}" if option.danger else "",
    }
    for label, text in rows.items():
        if text:
            yield f"  {label:<8} {text}"
    for rule in option.rules:
        yield f"  - {rule}"


def _asked(image: str) -> Catalogue:
    """The options of the image's own uWSGI. Raises `InvalidInput` and `Unavailable`."""
    facts = facts_of(image)
    return of_build(facts.uwsgi_version, facts.options)
