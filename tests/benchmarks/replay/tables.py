"""The same table for the terminal and as Markdown, and figures in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table

from tests.benchmarks.replay.intervals import Figure

NONE = "-"


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of text under their headings."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def print(self, console: Console) -> None:
        """To the terminal."""
        table = Table(*self.headings, title=self.title, title_justify="left", box=box.SIMPLE)
        for row in self.rows:
            table.add_row(*row)
        console.print(table)

    def markdown(self) -> str:
        """As GitHub reads it."""
        lines = [self.headings, tuple("---" for _ in self.headings), *self.rows]
        body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        return f"**{self.title}**\n\n{body}\n"


def loss(figure: Figure | None, resolution: float = 0.0) -> str:
    """A regret (log ratio) as a loss in percent, with its interval.

    What lies below the truth's own standard error is said to be below it.
    """
    if figure is None:
        return NONE
    value, low, high = (-math.expm1(-end) for end in (figure.value, figure.low, figure.high))
    if figure.value < resolution:
        return f"< {percent(-math.expm1(-resolution))} ({percent(value)})"
    return f"{percent(value)} ({percent(low)} .. {percent(high)})"


def share(figure: Figure | None) -> str:
    """A share with its interval and what it is of."""
    if figure is None:
        return NONE
    hits = round(figure.value * figure.n)
    return f"{hits} of {figure.n} ({percent(figure.low)} .. {percent(figure.high)})"


def points(figure: Figure | None) -> str:
    """A difference of log ratios in hundredths, with its interval."""
    if figure is None:
        return NONE
    return f"{100 * figure.value:+.2f} ({100 * figure.low:+.2f} .. {100 * figure.high:+.2f})"


def percent(value: float) -> str:
    """A share as percent with as many digits as it needs."""
    return f"{100 * value:.2g} %" if abs(value) < 0.1 else f"{100 * value:.0f} %"


def counts(values: Sequence[tuple[str, float]]) -> str:
    """Names with their numbers, as in `search 30, race 12`."""
    return ", ".join(f"{name} {value:g}" for name, value in values)
