"""`tuner spaces`: what a search may vary, and the bounds for an app, a file and a box.

Needs no service: it reads search spaces and target apps from the folders of this machine.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.asking import given, read_document
from tuner.cli.shared import AsJson, Cpus, MemoryMb, Somaxconn, columns, print_answer, text_of
from tuner.nouns.errors import InvalidInput, Mistake, NotFound
from tuner.nouns.wording import box, params, value
from tuner.service.settings import Settings

if TYPE_CHECKING:
    from tuner.nouns.model import JobSpec, SearchSpace, TuneRequest
    from tuner.targets.catalogue import HostCatalogue
    from tuner.targets.search_space import Outline
    from tuner.targets.search_space.outlining import HeuristicOutline, ParameterOutline

spaces = typer.Typer(help="Print the search spaces and their bounds.", rich_markup_mode=None)


@spaces.callback(invoke_without_command=True)
def list_spaces(context: typer.Context, as_json: AsJson = False) -> None:
    """List the search spaces. `tuner spaces show` prints one of them."""
    if context.invoked_subcommand is not None:
        return
    from tuner.nouns.schemas import SpaceSummary

    known = [space for _, space in sorted(_catalogue().spaces.items())]
    rows = [(space.name, space.description.partition(". ")[0]) for space in known]
    answer = [SpaceSummary.of(space, parameters=[*space.parameters]) for space in known]
    print_answer(answer, columns(rows), as_json=as_json)


@spaces.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of a search space.")],
    app: Annotated[str | None, typer.Option(help="The name of a target app.")] = None,
    ini: Annotated[Path | None, typer.Option(help="A uwsgi.ini, instead of the app's own.")] = None,
    job: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A job file as for `tuner submit`, instead of --app."),
    ] = None,
    cpus: Cpus = None,
    memory: MemoryMb = None,
    somaxconn: Somaxconn = None,
    as_json: AsJson = False,
) -> None:
    """Print a space. With --app, --ini or --job, print its bounds in numbers."""
    known = _catalogue()
    space = known.spaces.get(name)
    if space is None:
        raise NotFound(f"there is no search space {name!r}; choose from {', '.join(known.spaces)}")
    limits = given(cpus=cpus, memory_mb=memory, somaxconn=somaxconn)
    if app is None and ini is None and job is None:
        if limits:
            raise InvalidInput.at("--app", "limits need an app, a file or a job")
        print_answer(space, _written_lines(space), as_json=as_json)
    else:
        request = _request(known, space.name, app, ini, job, limits)
        _show_derived(known, request, as_json=as_json)


def _show_derived(known: "HostCatalogue", request: "TuneRequest", *, as_json: bool) -> None:
    from tuner.service import bootstrap
    from tuner.targets.search_space import derive, outline

    spec = bootstrap.resolver(known)(request)
    found = outline(derive(spec))
    answer = {"limits": spec.limits, **asdict(found)}
    print_answer(answer, _derived_lines(spec, found), as_json=as_json)


def _catalogue() -> "HostCatalogue":
    from tuner.service import bootstrap

    return bootstrap.catalogue(Settings.from_environ(os.environ))


def _request(
    known: "HostCatalogue",
    space: str,
    app: str | None,
    ini: Path | None,
    job: str | None,
    limits: Mapping[str, float],
) -> "TuneRequest":
    """The job that `tuner submit` would send. Raises `InvalidInput`."""
    from pydantic import ValidationError

    from tuner.nouns.model import TuneRequest, mistakes_of

    if job is not None and app is not None:
        raise InvalidInput.at("--job", "excludes --app: the job names its own target")
    document = dict(_mapping(job)) if job is not None else _document(app)
    document["search_space"] = space
    if ini is not None:
        document["baseline"] = {"ini": text_of(str(ini))}
    if limits:
        document["limits"] = {**_limits(known, app, document), **limits}
    try:
        return TuneRequest.model_validate(document)
    except ValidationError as error:
        raise InvalidInput([Mistake(*mistake) for mistake in mistakes_of(error)]) from error


def _document(app: str | None) -> dict[str, Any]:
    """Without an app the image is unknown, so the search cannot vary threads."""
    if app is None:
        return {"app": "unnamed", "target": {"image": "unnamed"}}
    return {"app": app, "target": {"target_app": app}}


def _mapping(job: str) -> Mapping[str, Any]:
    document = read_document(job)
    if not isinstance(document, dict):
        raise InvalidInput.at(job, "is not a job: it has no fields")
    return document


def _limits(known: "HostCatalogue", app: str | None, document: Mapping[str, Any]) -> dict[str, Any]:
    """The box of the app or the job, before the options change it."""
    described = known.apps.get(app or "")
    own = described.app.limits.model_dump() if described is not None else {}
    return own | dict(document.get("limits") or {})


def _written_lines(space: "SearchSpace") -> Iterator[str]:
    yield f"{space.name}: {space.description}"
    yield from _titled("requires", [f"{r.rule} (if not: {r.reason})" for r in space.requires])
    yield from _titled("varies", [_written(name, p) for name, p in space.parameters.items()])
    yield from _rules(space.constraints)
    heuristics = [params(wanted) for wanted in space.heuristics]
    yield from _titled("tried first", heuristics)
    yield ""
    yield "use --app, --ini or --job for the bounds in numbers"


def _written(name: str, parameter: Any) -> str:
    match parameter.type:
        case "int":
            bounds = f"{parameter.low} .. {parameter.high}"
        case "choice":
            bounds = "one of " + ", ".join(map(value, parameter.values))
        case _:
            bounds = "true or false"
    when = "" if parameter.when is True else f"; if {parameter.when}"
    return f"{name}: {bounds}{when}"


def _derived_lines(spec: "JobSpec", found: "Outline") -> Iterator[str]:
    yield f"{found.name}: {found.description}"
    yield f"for {spec.app}: {box(spec.limits)}"
    free = [parameter for parameter in found.parameters if not parameter.fixed_because]
    fixed = [parameter for parameter in found.parameters if parameter.fixed_because]
    yield from _titled("varies", [line for p in free for line in _parameter_lines(p)])
    yield from _titled(
        "fixed", [f"{p.name} stays {value(p.users)}: {p.fixed_because}" for p in fixed]
    )
    yield from _rules(found.constraints)
    yield from _titled("tried first", [_heuristic_line(each) for each in found.heuristics])
    count = "valid combinations" if found.combinations_are_counted else "combinations or fewer"
    yield from ("", f"{found.combinations} {count}")


def _parameter_lines(parameter: "ParameterOutline") -> Iterator[str]:
    values = ", ".join(map(value, parameter.values))
    bounds = values or f"{parameter.low} .. {parameter.high}{' on a log scale' * parameter.log}"
    yield f"{parameter.name}: {bounds}; the file has {value(parameter.users)}"
    if parameter.needs:
        yield f"    only if {parameter.needs}"
    if parameter.note:
        yield f"    note: {parameter.note}"
    yield from (f"    {line}" for line in _writing_lines(parameter))


def _writing_lines(parameter: "ParameterOutline") -> Iterator[str]:
    """The lines of the file for each value, or one line if all have the same form."""
    name, written = parameter.name, parameter.lines
    if all(lines == (f"{name} = {key}",) for key, lines in written.items()):
        yield f"writes {name} = {'VALUE' if len(written) > 1 else next(iter(written))}"
        return
    yield from (f"{key} writes {' | '.join(lines)}" for key, lines in written.items())


def _heuristic_line(heuristic: "HeuristicOutline") -> str:
    if heuristic.left_out_because:
        return f"not {params(heuristic.wanted)}: {heuristic.left_out_because}"
    return " | ".join(heuristic.lines)


def _rules(constraints: Any) -> Iterator[str]:
    return _titled("rules of every trial", [f"{c.rule} ({c.reason})" for c in constraints])


def _titled(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"{title}:", *(f"  {line}" for line in lines))
