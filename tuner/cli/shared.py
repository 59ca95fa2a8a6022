"""What all commands share: arguments, files and standard input, and what they print."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.nouns.errors import InvalidInput
from tuner.nouns.plain import Priority, printable
from tuner.uwsgi.ini.lines import MAX_CHARS

if TYPE_CHECKING:
    from rich.console import Console

    from tuner.bench.engine.images import ImageFacts


# ---- Files and standard input, read and written. Every error names the file

STANDARD_INPUT = "-"


@contextmanager
def named(name: str) -> Iterator[None]:
    """Raise `InvalidInput` at `name` for a file that cannot be read or written."""
    try:
        yield
    except OSError as error:
        raise InvalidInput.at(name, error.strerror or os.strerror(error.errno or 0)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput.at(name, "is not UTF-8 text") from error


def bytes_of(file: str, at_most: int = -1) -> bytes:
    """The bytes of a file; of standard input for `-`. Raises `InvalidInput`."""
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(at_most)
    with named(file), Path(file).open("rb") as opened:
        return opened.read(at_most)


def decoded(content: bytes) -> str:
    """The text of a configuration; bytes that are not UTF-8 stay as they are."""
    return content.decode("utf-8", "surrogateescape")


def text_of(file: str) -> str:
    """The UTF-8 text of a file, line ends as they are. Raises `InvalidInput`."""
    content = bytes_of(file)
    with named(file):
        return content.decode()


@contextmanager
def explained(option: str) -> Iterator[None]:
    """Say of a `ValueError` that it is about what the option names."""
    try:
        yield
    except ValueError as error:
        raise InvalidInput.at(option, str(error)) from error


@contextmanager
def naming_the_command() -> Iterator[None]:
    """Say of each mistake that it is in the command."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput([replace(m, path="--command") for m in error.mistakes]) from error


MOST_BYTES = 4 * MAX_CHARS + 4
"""Enough to see that a configuration is too long, if it never ends."""


def text_or_none(file: str) -> str | None:
    """The text of a configuration; None if it cannot be read, or is too long for one."""
    try:
        with Path(file).open("rb") as opened:
            text = decoded(opened.read(MOST_BYTES))
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
    return None if len(text) > MAX_CHARS else text


def text_beside(folder: Path, name: str) -> str | None:
    """The same for a file in the folder or below it."""
    try:
        path = (folder / name).resolve()
        is_inside = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        return None
    return text_or_none(str(path)) if is_inside else None


def write_text(option: str, file: Path, text: str) -> None:
    """Write the file that `option` names. Raises `InvalidInput`."""
    with named(f"{option} {file}"):
        file.write_text(text, encoding="utf-8")


def app_folder(app: str) -> Path | None:
    """The folder of a target app; None if `app` is the name of one."""
    folder = Path(app).resolve()
    return folder if (folder / "target.yaml").is_file() else None


def check_folder(option: str, file: Path) -> None:
    """Refuse early, before minutes of measuring. Raises `InvalidInput`."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise InvalidInput.at(option, f"there is no folder {folder}")


def facts_of(image: str) -> "ImageFacts":
    """What an image says of its uWSGI. Raises `InvalidInput` and `Unavailable`."""
    from tuner.service import images
    from tuner.service.settings import Settings

    return images.image_facts(Settings.from_environ(os.environ), image)


# ---- What a command prints: the answer on standard output, remarks on standard error


KEPT = "\n\t\N{NO-BREAK SPACE}"
"""A terminal may obey the other characters that cannot be printed: texts come from elsewhere."""


def say(line: str) -> None:
    """Print a remark on standard error: standard output holds the answer alone."""
    typer.echo(printable(line, KEPT), err=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print the answer as lines."""
    typer.echo(printable("\n".join(lines), KEPT))


def print_answer(answer: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print the answer as JSON or as lines."""
    if as_json:
        print_json(answer)
    else:
        print_lines(lines)


def print_json(answer: Any) -> None:
    """Print models, dataclasses, lists and mappings as JSON; infinite numbers become null."""
    from pydantic_core import to_json

    typer.echo(to_json(answer, indent=2, inf_nan_mode="null").decode())


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Each row as a line, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (map(str.ljust, row, widths) for row in rows)
    return ["  ".join(row).rstrip() for row in padded]


def print_on(console: "Console", text: str) -> None:
    """Print text on a console, without markup and without new line breaks."""
    console.print(printable(text, KEPT), markup=False, highlight=False, soft_wrap=True)


# ---- Arguments and options that several commands take, each declared once

JobNumber = Annotated[int, typer.Argument(metavar="JOB", min=1, help="The number of the job.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Target = Annotated[str, typer.Argument(metavar="APP", help="The name of a target app.")]
FolderOrApp = Annotated[
    str, typer.Argument(metavar="APP", help="A folder with a target.yaml, or a target app.")
]
AppName = Annotated[str, typer.Argument(metavar="APP", help="The app's name in its jobs.")]
Image = Annotated[
    str | None, typer.Option(help="Read the options and the command of this Docker image.")
]
Pool = Annotated[str | None, typer.Option(help="The pool of benchmark hosts that measures.")]
PriorityOption = Annotated[
    Priority | None, typer.Option("--priority", help="Nightly jobs wait for interactive ones.")
]
Cpus = Annotated[float | None, typer.Option(min=0.01, help="CPU limit, in cores.")]
MemoryMb = Annotated[int | None, typer.Option("--memory", min=1, help="Memory limit, in MB.")]
Somaxconn = Annotated[int | None, typer.Option(min=1, help="net.core.somaxconn of the container.")]
Nofile = Annotated[int | None, typer.Option(min=1, help="Open files, as of ulimit -n.")]
Sysctl = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A kernel setting of the container. Repeatable."),
]
Blocks = Annotated[
    int, typer.Option(help="Blocks: fresh starts of each file. Effects need 4 or more.")
]
WindowS = Annotated[float | None, typer.Option(help="Seconds of load in one window.")]
WarmupS = Annotated[float | None, typer.Option(help="Seconds of load before the first window.")]
Cycles = Annotated[int | None, typer.Option(help="Windows of each file in one block.")]
MaxAgeDays = Annotated[
    float | None, typer.Option(help="Exit with 3 if the newest recommendation is older.")
]
Check = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The deployed file, or the manifest that has it. Exit with 1 and print a diff if its"
        " effect differs.",
    ),
]
Deployment = Annotated[
    str | None, typer.Option(metavar="NAME", help="The object of the manifest that runs uwsgi.")
]
Container = Annotated[
    str | None, typer.Option(metavar="NAME", help="The container of its pod that runs uwsgi.")
]
Namespace = Annotated[str, typer.Option(metavar="NAME", help="The namespace of that object.")]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Start anew, even if this command was stopped before.")
]
Svg = Annotated[Path | None, typer.Option(help="Write two charts to this file.")]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Write the report to a .html, .md or .json file.")
]
CsvFile = Annotated[
    Path | None,
    typer.Option("--csv", help="Write a row for each arm, rung and block to this file."),
]
