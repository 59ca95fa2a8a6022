"""`tuner options`: what there is to know of an option of uWSGI, and whether a build has it.

Needs no service, and Docker only where an image is asked.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from tuner.errors import NotFound
from tuner.settings import Settings
from tuner.uwsgi.options import Catalogue, Kind, Option, elsewhere, known, nearest, of_build

_READ_AS = {
    Kind.FLAG: "true but for false, off, no and 0",
    Kind.INTEGER: "a number: its first digits, else 0",
    Kind.TEXT: "text; the last line counts",
    Kind.LIST: "a list; every line adds to it",
    Kind.ACTION: "done where it stands",
}


def options(
    name: Annotated[str | None, typer.Argument(help="An option; all of them without.")] = None,
    image: Annotated[
        str | None, typer.Option(help="Ask this image's uWSGI which options it has.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Explain an option of uWSGI, or list them all."""
    catalogue = known() if image is None else _asked(image)
    if name is None:
        _list(catalogue, as_json=as_json)
        return
    option = _found(catalogue, name)
    if as_json:
        typer.echo(json.dumps({"uwsgi_version": catalogue.version, **asdict(option)}, indent=2))
    else:
        typer.echo("\n".join(_lines(catalogue, option)))


def _list(catalogue: Catalogue, *, as_json: bool) -> None:
    if as_json:
        listed = [asdict(option) for option in catalogue.options]
        typer.echo(json.dumps({"uwsgi_version": catalogue.version, "options": listed}, indent=2))
        return
    width = max((len(option.name) for option in catalogue.options), default=0)
    for option in catalogue.options:
        typer.echo(f"{option.name:<{width}}  {option.sentence}".rstrip())


def _found(catalogue: Catalogue, name: str) -> Option:
    """The option of that name, be it of this build or not. Raises `NotFound`."""
    option = catalogue.find(name)
    if option is not None:
        return option
    possible = known().find(name) or elsewhere(name)
    if possible is None:
        meant = nearest(catalogue, name)
        hint = f"; {meant} is the nearest" if meant else ""
        raise NotFound(f"uWSGI {catalogue.version} has no option {name}{hint}")
    why = f"it needs {possible.needs}" if possible.needs else _release(possible)
    raise NotFound(f"uWSGI {catalogue.version}{_here(catalogue)} has no option {name}: {why}")


def _here(catalogue: Catalogue) -> str:
    return ", as that image has it," if catalogue.is_of_build else ""


def _release(option: Option) -> str:
    parts = []
    if option.since:
        parts.append(f"{option.since} is the first release that has it")
    if option.until:
        parts.append(f"{option.until} is the last release that has it")
    return " and ".join(parts) or "other releases have it"


def _lines(catalogue: Catalogue, option: Option) -> Iterator[str]:
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
        "trials": f"leave it out: {option.danger.sentence}" if option.danger else "",
    }
    for label, text in rows.items():
        if text:
            yield f"  {label:<8} {text}"
    for rule in option.rules:
        yield f"  - {rule}"


def _asked(image: str) -> Catalogue:
    """What the uWSGI of that image says of itself. Raises `InvalidInput` and `Unavailable`."""
    from tuner import bootstrap

    facts = bootstrap.image_facts(Settings.from_environ(os.environ), image)
    return of_build(facts.uwsgi_version, facts.options)
