"""The command line: parse, call, print, exit code.

`COMMANDS` names the module of each command. The other modules are shared:

    shared       arguments that several commands take; files, standard input, what is printed
    asking       files and options → the document of a request
    following    a request submitted, and its job until it has ended; a service for its time
    versions     which uWSGI reads a file that is checked
    around       time limits of nginx, compose files and manifests, for the linter
    answers      the answer for where the options stand; a deployed file or manifest
    findings     findings of the linter as text, SARIF and workflow commands
    printing     answers as lines
    tables       answers as tables

Commands call the service through `tuner.client`.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

import typer

from tuner.nouns.errors import Conflict, InvalidInput, NotFound, TunerError, Unavailable

EXIT_CODES: Mapping[type[TunerError], int] = {
    InvalidInput: 2,
    NotFound: 3,
    Conflict: 4,
    Unavailable: 5,
}

COMMANDS: Mapping[str, tuple[str, str]] = {
    "setup": ("setup", "Set up what this machine lacks to measure."),
    "doctor": ("doctor", "Say what this host can measure, and how to improve it."),
    "demo": ("demo", "Tune a sample app and print the uwsgi.ini to deploy."),
    "tune": ("demo", "Tune an app on this machine and print the uwsgi.ini to deploy."),
    "submit": ("jobs", "Submit a tuning job."),
    "watch": ("jobs", "Follow a job and print its answer."),
    "show": ("jobs", "Print the state of a job, its answer and its report."),
    "finish": ("jobs", "Have a job confirm its best so far, and end."),
    "cancel": ("jobs", "Cancel a job."),
    "delete": ("jobs", "Delete a job and all its data."),
    "recommend": ("recommend", "Print the uwsgi.ini to deploy, or check the deployed one."),
    "gate": ("gate", "Check that a recommended file holds on a new image."),
    "measure": ("measure", "Measure one uwsgi.ini, or compare several."),
    "capacity": ("capacity", "Find the highest rate within a latency limit."),
    "compare": ("compare", "Compare the servers and files of a suite."),
    "calibrate": ("measure", "Measure the noise of a benchmark host."),
    "observe": ("observe", "Look at a uWSGI in production and say what limits it."),
    "analyse": ("analyse", "Analyse the figures of your own benchmark runs."),
    "lint": ("lint", "Find the mistakes in a uwsgi.ini, and fix them."),
    "lsp": ("lsp", "Lint in an editor, by the Language Server Protocol."),
    "ini": ("ini", "Print, patch or overlay a uwsgi.ini."),
    "options": ("options", "Explain the options of uWSGI."),
    "spaces": ("spaces", "Print the search spaces and their bounds."),
    "workload": ("workload", "Make a workload from access logs."),
    "app": ("app", "Make a target app from a compose file, or check one."),
    "serve": ("service", "Run the API, a worker and PostgreSQL."),
    "worker": ("service", "Run a worker: it measures on this machine."),
    "hosts": ("database", "List, drain and resume benchmark hosts."),
    "keys": ("database", "Make, list and revoke the keys of the service."),
    "db": ("database", "Upgrade, dump, restore the database; remove what is old."),
}
"""Module and sentence of each command. The function has the name of the command."""

HIDDEN: Mapping[str, tuple[str, str]] = {"api": ("service", "Run the API alone.")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. A `TunerError` becomes a message on stderr and an exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _app(_command(words))(words, prog_name="tuner")
    except TunerError as error:
        from tuner.cli.shared import say  # slow to import

        say(_message(error))
        return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)
    return 0


def _command(words: Sequence[str]) -> str:
    """The command asked for; a shell that completes a line gives it in the environment."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return next(iter(words or line.split()[1:]), "")


def _app(asked: str) -> typer.Typer:
    """All commands. Imports are slow, so only the module of the command `asked` is imported."""
    app = typer.Typer(
        name="tuner",
        help="Find the uwsgi.ini to deploy, with the evidence for it.",
        epilog="Exit codes: 0 done; 1 the job failed, or a check did not pass; 2 bad input;"
        " 3 not found; 4 conflict; 5 unavailable.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name, (module, sentence) in {**COMMANDS, **HIDDEN}.items():
        found = getattr(import_module(f"tuner.cli.{module}"), name) if name == asked else _unused
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, short_help=sentence)
        else:
            app.command(name, short_help=sentence, hidden=name in HIDDEN)(found)
    return app


def _unused() -> None:
    """Stands for a command that was not asked for."""


def _message(error: TunerError) -> str:
    if isinstance(error, InvalidInput) and len(error.mistakes) > 1:
        listed = (f"  {mistake}" for mistake in error.mistakes)
        return "\n".join((f"error: {len(error.mistakes)} mistakes:", *listed))
    return f"error: {error}"
