"""`tuner ini`: print, patch, convert and overlay a uwsgi.ini, bytes in and bytes out."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from tuner.cli.shared import (
    MOST_BYTES,
    STANDARD_INPUT,
    bytes_of,
    decoded,
    explained,
    naming_the_command,
    say,
    text_beside,
    text_of,
)
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.uwsgi import ini as dialect
from tuner.uwsgi.converting import WRITERS, Pieces, of_command, of_environment, of_form, of_ini
from tuner.uwsgi.forms import Malformed, form_of
from tuner.uwsgi.ini import canonical, why_unwritable
from tuner.uwsgi.ini.lines import MAX_CHARS
from tuner.uwsgi.options import known

# ---- `OPTION=VALUE` on a command line → changes of a uwsgi.ini


def changes_of(settings: Sequence[str], option: str) -> dict[str, str]:
    """Value by option. Raises `InvalidInput` with every mistake; `option` stands before each."""
    changes: dict[str, str] = {}
    mistakes: list[Mistake] = []
    for setting in settings:
        name, equals, value = (part.strip(" \t") for part in setting.partition("="))
        wrong = why_unwritable(name, value)
        if not equals:
            mistakes.append(Mistake(f"{option}{setting}", "is not OPTION=VALUE"))
        elif wrong:
            mistakes.append(Mistake(f"{option}{setting}", wrong))
        elif canonical(name) in map(canonical, changes):
            mistakes.append(Mistake(f"{option}{setting}", f"sets {name} a second time"))
        changes[name] = value
    if mistakes:
        raise InvalidInput(mistakes)
    return changes


_MOST_FILES = 32

ini = typer.Typer(
    help="Print, patch, convert or overlay a uwsgi.ini.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[str, typer.Argument(metavar="FILE", help="A uwsgi.ini; - is standard input.")]
To = Literal["ini", "command", "yaml", "xml", "json", "env"]
Settings = Annotated[
    list[str],
    typer.Option("--set", metavar="OPTION=VALUE", help="An option and its value. Repeatable."),
]


@ini.command("show")
def show(
    file: File,
    is_effective: Annotated[
        bool,
        typer.Option(
            "--effective",
            help="Print what uWSGI would use: includes, blocks and variables resolved.",
        ),
    ] = False,
) -> None:
    """Print the file as it is, or as uWSGI reads it."""
    found = _read(file)
    if is_effective:
        _write(_effective(found, file))
        return
    _write(found.dump())


@ini.command("patch")
def patch(file: File, settings: Settings) -> None:
    """Print the file with these options set. Nothing else changes."""
    _write(_read(file).patch(changes_of(settings, "--set ")).dump())


@ini.command("convert")
def convert(
    to: Annotated[To, typer.Option(help="The form to write.")],
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="An .ini, .yaml, .yml, .xml, .json or .js file."),
    ] = None,
    command: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The command that starts uWSGI, for FILE.")
    ] = None,
    env_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file of variables UWSGI_*, for FILE.")
    ] = None,
    is_strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if something is not carried over.")
    ] = False,
) -> None:
    """Print a file, a command or an env file in another form.

    What that form cannot hold is said on standard error.
    """
    if sum(given is not None for given in (file, command, env_file)) != 1:
        raise InvalidInput.at("FILE", "name one: a file, --command or --env-file")
    if file is not None and to == "ini" and form_of(file) is None:
        _write(_read(file).dump())
        return
    pieces = _pieces_of(file, command, env_file)
    _write(WRITERS[to](pieces, known()))
    for loss in pieces.lost:
        say(f"not carried over: {loss}")
    raise typer.Exit(int(is_strict and bool(pieces.lost)))


def _pieces_of(file: str | None, command: str | None, env_file: str | None) -> Pieces:
    if command is not None:
        with naming_the_command():
            return of_command(command, known())
    if env_file is not None:
        with explained("--env-file"):
            return of_environment(text_of(env_file))
    file = file or STANDARD_INPUT
    form = form_of(file)
    if form is None:
        return of_ini(_read(file))
    try:
        return of_form(decoded(bytes_of(file, MOST_BYTES)), form)
    except Malformed as error:
        raise InvalidInput.at(f"{file}:{error.line}", f"no {form.name}: {error}") from error


@ini.command("overlay")
def overlay(settings: Settings) -> None:
    """Print a file for a second --ini.

    Its options override those of the first file.
    """
    _write(dialect.overlay(changes_of(settings, "--set ")))


def _read(file: str) -> dialect.IniFile:
    """Raises `InvalidInput` for a file that is unreadable, too long, or in another format."""
    text = decoded(bytes_of(file, MOST_BYTES))
    if len(text) > MAX_CHARS:
        refusal: str | None = f"is longer than {MAX_CHARS} characters: not a uwsgi.ini"
    else:
        refusal = dialect.refuse_other_formats(text)
    if refusal:
        name = "standard input" if file == STANDARD_INPUT else file
        raise InvalidInput.at(name, refusal)
    return dialect.IniFile.parse(text)


def _effective(found: dialect.IniFile, file: str) -> str:
    """One line for each setting; a comment marks the uncertain ones."""
    lines = []
    for setting in _settings_of(found, file):
        if setting.is_conditional:
            lines.append(f"; {_place_of(setting)} applies under a condition")
        elif setting.is_include:
            lines.append(f"; {_place_of(setting)} includes a file that is not read here")
        lines.append(f"{setting.option} = {setting.value}")
    return "\n".join([f"[{dialect.SECTION}]", *lines]) + "\n"


def _place_of(setting: dialect.Setting) -> str:
    return f"line {setting.line}" + (f" of {setting.source}" if setting.source else "")


def _settings_of(found: dialect.IniFile, file: str) -> tuple[dialect.Setting, ...]:
    """All settings, with those of included files in the same folder or below it."""
    path = None if file == STANDARD_INPUT else str(Path(file).absolute())
    files: dict[str, str] = {}
    tried: set[str] = set()
    while True:
        settings = dialect.effective(found, environ=dict(os.environ), files=files, path=path)
        names = {_file_of(setting) for setting in settings if setting.is_include} - tried
        if path is None or not names or len(tried) > _MOST_FILES:
            return settings
        tried |= names
        texts = {name: text_beside(Path(path).parent, name) for name in names}
        files |= {name: text for name, text in texts.items() if text is not None}


def _file_of(setting: dialect.Setting) -> str:
    """The file of an include; `ini` may name a section of it too."""
    name, colon, _ = setting.value.rpartition(":")
    return name if setting.option == "ini" and colon else setting.value


def _write(text: str) -> None:
    """Write bytes: the terminal's encoding must not change them."""
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
