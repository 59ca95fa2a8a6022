"""The command line: parse, call, print, exit code.

    commands     submit, watch, show, recommend, cancel: they talk to the API
    measure      measure, calibrate: figures and what to make of them, without tuning
    ├── asking       options → the request
    └── tables       its answer as tables for people
    demo         the whole of it once, on a real container
    record       a grid of configurations, for searches to be replayed on
    analyze      statistics of numbers that somebody else measured; needs no service
    └── numbers      words, files and columns → numbers
    service      serve, worker, api, db upgrade: they are the service
    ├── own_service  a service for the time of one command
    ├── following    a job as it goes on
    ├── printing     answers as text for people
    └── client       HTTP, and its errors as ours

Exit codes: 0 done, 1 the job failed, 2 bad input, 3 not found, 4 conflict, 5 something is away.
"""

from collections.abc import Mapping, Sequence

import typer

from tuner.cli import analyze, commands, demo, measure, record, service
from tuner.errors import Conflict, InvalidInput, NotFound, TunerError, Unavailable

EXIT_CODES: Mapping[type[TunerError], int] = {
    InvalidInput: 2,
    NotFound: 3,
    Conflict: 4,
    Unavailable: 5,
}

app = typer.Typer(
    name="tuner",
    help="Finds the uwsgi.ini to deploy, and the evidence for it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
db = typer.Typer(help="The database.", no_args_is_help=True, rich_markup_mode=None)

app.command("demo")(demo.demo)
app.command("serve")(service.serve)
app.command("worker")(service.worker)
app.command("api", hidden=True)(service.api)
for command in (commands.submit, commands.watch, commands.show, commands.recommend):
    app.command(command.__name__)(command)
app.command("cancel")(commands.cancel)
app.command("measure")(measure.measure)
app.command("calibrate")(measure.calibrate)
app.command("record")(record.record)
app.command("analyze")(analyze.analyze)
db.command("upgrade")(service.upgrade)
app.add_typer(db, name="db")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; an error of ours becomes a message on stderr and its exit code."""
    try:
        app(None if arguments is None else list(arguments))
    except TunerError as error:
        for line in _lines_of(error):
            typer.echo(line, err=True)
        return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)
    return 0


def _lines_of(error: TunerError) -> list[str]:
    if isinstance(error, InvalidInput):
        count = len(error.mistakes)
        return [
            f"{count} mistake{'s' * (count != 1)}:",
            *(f"  {mistake}" for mistake in error.mistakes),
        ]
    return [str(error)]
