"""The command line: parse, call, print, exit code.

    commands     submit, watch, show, cancel: they talk to the API
    recommending recommend: the file to deploy, and whether it is the one that is
    gate         does the recommended file still hold for a new image?
    └── gating       what it asks for, and what it makes of the answer
    measure      measure, calibrate: figures and what to make of them, without tuning
    ├── asking       options → the request
    └── tables       its answer as tables for people
    demo         the whole of it once, on a real container
    record       a grid of configurations, for searches to be replayed on
    analyse      statistics of numbers that somebody else measured; needs no service
    └── numbers      words, files and columns → numbers
    ini          one uwsgi.ini: shown, patched, overlaid; needs no service
    lint         what is wrong with a uwsgi.ini; needs no service
    options      what there is to know of uWSGI's options
    spaces       the search spaces, and their bounds as an app has them
    service      serve, worker, api, db upgrade: they are the service
    ├── own_service  a service for the time of one command
    ├── following    a job as it goes on
    └── printing     answers as text for people

The service is spoken to through `tuner.client`.

Exit codes: 0 done, 1 the job failed or a check did not pass, 2 bad input, 3 not found, 4 conflict,
5 something is away.
"""

from collections.abc import Mapping, Sequence

import typer

from tuner.cli import (
    analyse,
    commands,
    demo,
    gate,
    ini,
    lint,
    measure,
    options,
    recommending,
    record,
    service,
    spaces,
)
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
for command in (commands.submit, commands.watch, commands.show, recommending.recommend, gate.gate):
    app.command(command.__name__)(command)
app.command("cancel")(commands.cancel)
app.command("measure")(measure.measure)
app.command("calibrate")(measure.calibrate)
app.command("record")(record.record)
app.command("analyse")(analyse.analyse)
app.command("lint")(lint.lint)
app.command("options")(options.options)
app.add_typer(ini.ini, name="ini")
app.add_typer(spaces.spaces, name="spaces")
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
