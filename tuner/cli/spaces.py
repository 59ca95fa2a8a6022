"""`tuner spaces`: what may be varied, and what that comes to for an app, a file and a box.

Needs no service: search spaces and target apps are read from this machine's folders.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.commands import AsJson, read_document
from tuner.errors import InvalidInput, Mistake, NotFound
from tuner.settings import Settings

if TYPE_CHECKING:
    from tuner.catalogue import Catalogue
    from tuner.model import JobRequest, JobSpec, SearchSpace
    from tuner.search_space import Outline
    from tuner.search_space.outlining import HeuristicOutline, ParameterOutline

spaces = typer.Typer(help="Search spaces.", rich_markup_mode=None)


@spaces.callback(invoke_without_command=True)
def list_spaces(context: typer.Context, as_json: AsJson = False) -> None:
    """List the search spaces; `show` says what one comes to."""
    if context.invoked_subcommand is not None:
        return
    known = [space for _, space in sorted(_catalogue().spaces.items())]
    if as_json:
        _print_json([_summary(space) for space in known])
        return
    width = max((len(space.name) for space in known), default=0)
    for space in known:
        typer.echo(f"{space.name:<{width}}  {space.description.partition('. ')[0]}")


@spaces.command()
def show(
    name: Annotated[str, typer.Argument(help="The search space's name.")],
    app: Annotated[str | None, typer.Option(help="A target app's name.")] = None,
    ini: Annotated[
        Path | None, typer.Option(help="The present uwsgi.ini, in place of the app's own.")
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A job as for `tuner submit`, in place of --app."),
    ] = None,
    cpus: Annotated[float | None, typer.Option(help="CPU quota, in cores.")] = None,
    memory: Annotated[int | None, typer.Option(help="Memory limit, in MB.")] = None,
    somaxconn: Annotated[int | None, typer.Option(help="net.core.somaxconn.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print a space as it is written or, with --app, --ini or --job, what it comes to there."""
    known = _catalogue()
    space = known.space(name)
    if space is None:
        raise NotFound(f"there is no search space {name!r}; there are {', '.join(known.spaces)}")
    limits = {"cpus": cpus, "memory_mb": memory, "somaxconn": somaxconn}
    given = {limit: value for limit, value in limits.items() if value is not None}
    if app is None and ini is None and job is None:
        if given:
            raise _mistake("--app", "name an app, a file or a job: limits say nothing without")
        _show_written(space, as_json=as_json)
        return
    _show_derived(known, _request(known, space.name, app, ini, job, given), as_json=as_json)


def _show_written(space: "SearchSpace", *, as_json: bool) -> None:
    if as_json:
        _print_json(space.model_dump(mode="json"))
    else:
        _print(_written_lines(space))


def _show_derived(known: "Catalogue", request: "JobRequest", *, as_json: bool) -> None:
    from tuner import bootstrap
    from tuner.search_space import derive, outline

    spec = bootstrap.resolver(known)(request)
    found = outline(derive(spec))
    if as_json:
        _print_json({"limits": spec.limits.model_dump(), **asdict(found)})
    else:
        _print(_derived_lines(spec, found))


def _catalogue() -> "Catalogue":
    from tuner import bootstrap

    return bootstrap.catalogue(Settings.from_environ(os.environ))


def _request(
    known: "Catalogue",
    space: str,
    app: str | None,
    ini: Path | None,
    job: str | None,
    limits: Mapping[str, float],
) -> "JobRequest":
    """The job that would be submitted. Raises `InvalidInput`."""
    from pydantic import ValidationError

    from tuner.model import JobRequest, mistakes_of

    if job is not None and app is not None:
        raise _mistake("--job", "not together with --app: the job names its own target")
    document = dict(_mapping(job)) if job is not None else _document(app)
    document["search_space"] = space
    if ini is not None:
        document["baseline_ini"] = _text_of(ini)
    if limits:
        document["limits"] = {**_limits(known, app, document), **limits}
    try:
        return JobRequest.model_validate(document)
    except ValidationError as error:
        raise InvalidInput([Mistake(*mistake) for mistake in mistakes_of(error)]) from error


def _document(app: str | None) -> dict[str, Any]:
    """Without an app, a file alone: of its image nothing is known, so threads stay as they are."""
    if app is None:
        return {"app": "unnamed", "target": {"image": "unnamed"}}
    return {"app": app, "target": {"target_app": app}}


def _mapping(job: str) -> Mapping[str, Any]:
    document = read_document(job)
    if not isinstance(document, dict):
        raise _mistake(job, "is no job: it holds no fields")
    return document


def _limits(known: "Catalogue", app: str | None, document: Mapping[str, Any]) -> dict[str, Any]:
    """The box that the given sizes change."""
    described = known.app(app) if app is not None else None
    own = described.app.limits.model_dump() if described is not None else {}
    return own | dict(document.get("limits") or {})


def _text_of(ini: Path) -> str:
    try:
        return ini.read_text(encoding="utf-8")
    except OSError as error:
        raise _mistake(str(ini), error.strerror or "cannot be read") from error
    except UnicodeDecodeError as error:
        raise _mistake(str(ini), "is not UTF-8 text") from error


def _summary(space: "SearchSpace") -> dict[str, Any]:
    return {
        "name": space.name,
        "description": space.description,
        "parameters": [*space.parameters],
    }


def _written_lines(space: "SearchSpace") -> Iterator[str]:
    yield f"{space.name}: {space.description}"
    yield from _titled("needs", [f"{rule.rule}: else {rule.reason}" for rule in space.requires])
    yield from _titled("varies", [_written(name, p) for name, p in space.parameters.items()])
    yield from _rules(space.constraints)
    heuristics = [_pairs(wanted) for wanted in space.heuristics]
    yield from _titled("tried first", heuristics)
    yield ""
    yield "give --app, --ini or --job for what this comes to"


def _written(name: str, parameter: Any) -> str:
    match parameter.type:
        case "int":
            bounds = f"{parameter.low} .. {parameter.high}"
        case "choice":
            bounds = "one of " + ", ".join(str(value) for value in parameter.values)
        case _:
            bounds = "true or false"
    when = "" if parameter.when is True else f"; where {parameter.when}"
    return f"{name}: {bounds}{when}"


def _derived_lines(spec: "JobSpec", found: "Outline") -> Iterator[str]:
    box = spec.limits
    cpus = f"{box.cpus:g} CPU{'s' * (box.cpus != 1)}"
    yield f"{found.name}: {found.description}"
    yield f"for {spec.app}: {cpus}, {box.memory_mb} MB, somaxconn {box.somaxconn}"
    free = [parameter for parameter in found.parameters if not parameter.fixed_because]
    fixed = [parameter for parameter in found.parameters if parameter.fixed_because]
    yield from _titled("varies", [line for p in free for line in _parameter_lines(p)])
    yield from _titled(
        "fixed", [f"{p.name} stays {_text(p.users)}: {p.fixed_because}" for p in fixed]
    )
    yield from _rules(found.constraints)
    yield from _titled("tried first", [_heuristic_line(each) for each in found.heuristics])
    count = "valid combinations" if found.combinations_are_counted else "combinations at most"
    yield from ("", f"{found.combinations} {count}")


def _parameter_lines(parameter: "ParameterOutline") -> Iterator[str]:
    values = ", ".join(_text(value) for value in parameter.values)
    bounds = values or f"{parameter.low} .. {parameter.high}{' by ratio' * parameter.log}"
    yield f"{parameter.name}: {bounds}; the file's own is {_text(parameter.users)}"
    if parameter.needs:
        yield f"    only where {parameter.needs}"
    if parameter.note:
        yield f"    note: {parameter.note}"
    yield from (f"    {line}" for line in _writing_lines(parameter))


def _writing_lines(parameter: "ParameterOutline") -> Iterator[str]:
    """What its values write; in one line where each writes itself."""
    name, written = parameter.name, parameter.lines
    if all(lines == (f"{name} = {value}",) for value, lines in written.items()):
        yield f"writes {name} = {'VALUE' if len(written) > 1 else next(iter(written))}"
        return
    yield from (f"{value} writes {' | '.join(lines)}" for value, lines in written.items())


def _heuristic_line(heuristic: "HeuristicOutline") -> str:
    if heuristic.left_out_because:
        return f"not {_pairs(heuristic.wanted)}: {heuristic.left_out_because}"
    return " | ".join(heuristic.lines)


def _rules(constraints: Any) -> Iterator[str]:
    return _titled("never started unless", [f"{c.rule} ({c.reason})" for c in constraints])


def _pairs(wanted: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_text(value)}" for name, value in wanted.items())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _titled(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"{title}:", *(f"  {line}" for line in lines))


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        typer.echo(line)


def _print_json(document: Any) -> None:
    typer.echo(json.dumps(document, indent=2))


def _mistake(field: str, message: str) -> InvalidInput:
    return InvalidInput([Mistake(field, message)])
