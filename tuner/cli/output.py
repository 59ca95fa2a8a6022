"""What a command prints: the answer on standard output, remarks on standard error."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


def say(line: str) -> None:
    """Print a remark on standard error: standard output holds the answer alone."""
    typer.echo(line, err=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print the answer as lines."""
    typer.echo("\n".join(lines))


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
    console.print(text, markup=False, highlight=False, soft_wrap=True)
