"""`tuner ini`: read, patch and overlay a uwsgi.ini from the shell, bytes in and bytes out."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tuner.errors import InvalidInput, Mistake
from tuner.uwsgi import ini as dialect
from tuner.uwsgi.lint import MAX_CHARS

STANDARD_INPUT = "-"
_MOST_BYTES = 4 * MAX_CHARS + 4
"""Enough to know that a file is too long, of one that never ends."""

_MOST_FILES = 32

ini = typer.Typer(help="A uwsgi.ini itself.", no_args_is_help=True, rich_markup_mode=None)

File = Annotated[str, typer.Argument(metavar="FILE", help="A uwsgi.ini; - is standard input.")]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="OPTION=VALUE", help="An option that is to count; again for each."
    ),
]


@ini.command("show")
def show(
    file: File,
    is_effective: Annotated[
        bool,
        typer.Option(
            "--effective",
            help="What uWSGI would run with: includes read, blocks and variables carried out.",
        ),
    ] = False,
) -> None:
    """Print the file, or with --effective what of it counts."""
    found = _read(file)
    if is_effective:
        _write(_effective(found, file))
        return
    _write(found.dump())


@ini.command("patch")
def patch(file: File, settings: Settings) -> None:
    """Print the file with these options set, and nothing else changed."""
    _write(_read(file).patch(_changes(settings)).dump())


@ini.command("overlay")
def overlay(settings: Settings) -> None:
    """Print a file for a second --ini, which wins over the first."""
    _write(dialect.overlay(_changes(settings)))


def _changes(settings: Sequence[str]) -> dict[str, str]:
    changes: dict[str, str] = {}
    mistakes: list[Mistake] = []
    for setting in settings:
        option, equals, value = (part.strip(" \t") for part in setting.partition("="))
        wrong = dialect.why_unwritable(option, value)
        if not equals:
            mistakes.append(Mistake(f"--set {setting}", "is no OPTION=VALUE"))
        elif wrong:
            mistakes.append(Mistake(f"--set {setting}", wrong))
        elif dialect.canonical(option) in map(dialect.canonical, changes):
            mistakes.append(Mistake(f"--set {setting}", f"sets {option} for the second time"))
        changes[option] = value
    if mistakes:
        raise InvalidInput(mistakes)
    return changes


def _read(file: str) -> dialect.IniFile:
    """Raises `InvalidInput` for what cannot be read, is too long, or is another format."""
    text = _decoded(_bytes_of(file))
    refusal = _too_long(text) or dialect.refuse_other_formats(text)
    if refusal:
        raise InvalidInput([Mistake(_name_of(file), refusal)])
    return dialect.IniFile.parse(text)


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _too_long(text: str) -> str | None:
    if len(text) <= MAX_CHARS:
        return None
    return f"is longer than {MAX_CHARS} characters, which no uwsgi.ini is"


def _bytes_of(file: str) -> bytes:
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(_MOST_BYTES)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(_MOST_BYTES)
    except OSError as error:
        raise InvalidInput([Mistake(file, error.strerror or "cannot be read")]) from error


def _effective(found: dialect.IniFile, file: str) -> str:
    """Every setting as a line, with where it comes from where that is not plain to see."""
    lines = []
    for setting in _settings_of(found, file):
        if setting.is_conditional:
            lines.append(f"; {_place_of(setting)} may not count")
        elif setting.is_include:
            lines.append(f"; {_place_of(setting)} reads another file, which is not looked into")
        lines.append(f"{setting.option} = {setting.value}")
    return "\n".join([f"[{dialect.SECTION}]", *lines]) + "\n"


def _place_of(setting: dialect.Setting) -> str:
    return f"line {setting.line}" + (f" of {setting.source}" if setting.source else "")


def _settings_of(found: dialect.IniFile, file: str) -> tuple[dialect.Setting, ...]:
    """All settings, those of the files included, where they are beside this one or below."""
    path = None if file == STANDARD_INPUT else str(Path(file).absolute())
    files: dict[str, str] = {}
    tried: set[str] = set()
    while True:
        settings = dialect.effective(found, environ=_environ(), files=files, path=path)
        names = {_file_of(setting) for setting in settings if setting.is_include} - tried
        if path is None or not names or len(tried) > _MOST_FILES:
            return settings
        tried |= names
        texts = {name: _text_beside(Path(path).parent, name) for name in names}
        files |= {name: text for name, text in texts.items() if text is not None}


def _file_of(setting: dialect.Setting) -> str:
    """The file that an include names; `ini` may name a section of it too."""
    name, colon, _ = setting.value.rpartition(":")
    return name if setting.option == "ini" and colon else setting.value


def _text_beside(folder: Path, name: str) -> str | None:
    """The text of a file in a folder or below it; None where there is none that can be read."""
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            return None
        with path.open("rb") as opened:
            text = _decoded(opened.read(_MOST_BYTES))
    except (OSError, ValueError):  # the latter for a NUL in its name
        return None
    return None if _too_long(text) else text


def _environ() -> dict[str, str]:
    """This shell's, for `$(NAME)` and `if-env`."""
    return dict(os.environ)


def _name_of(file: str) -> str:
    return "standard input" if file == STANDARD_INPUT else file


def _write(text: str) -> None:
    """The bytes that were read, not what the terminal's encoding makes of them."""
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
