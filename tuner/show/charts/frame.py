"""The place of a chart: axes with their ticks, grid, legend, and the file around it all."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tuner.show.charts.svg import cross, escaped, line, mark, short, style, text

WIDTH, HEIGHT = 760, 360
LEFT, RIGHT, TOP, BOTTOM = 72, 28, 64, 52


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where, and what is written there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One direction of a chart: a range of numbers, evenly spread or by their logs.

    It may run backwards, from a high `low` to a low `high`: rows of a list grow downwards.
    """

    low: float
    high: float
    label: str  # with the unit
    ticks: Sequence[Tick]
    is_log: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value lies, 0..1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    @classmethod
    def even(cls, low: float, high: float, label: str, wanted: int = 6) -> "Axis":
        """With round numbers as ticks, about as many as wanted."""
        return cls(low=low, high=high, label=label, ticks=even_ticks(low, high, wanted))

    @classmethod
    def counting(cls, first: float, last: int, label: str, wanted: int) -> "Axis":
        """An axis of whole numbers up to `last`, with room behind it."""
        ticks = [tick for tick in even_ticks(0, last, wanted) if tick.at == int(tick.at)]
        return cls(low=first, high=last + 0.5, label=label, ticks=ticks)

    @classmethod
    def rows(cls, count: int, ticks: "Sequence[Tick]" = ()) -> "Axis":
        """The rows of a list, from 0 at the top."""
        return cls(low=count - 0.5, high=-0.5, label="", ticks=ticks)


def even_ticks(low: float, high: float, wanted: int = 6) -> list[Tick]:
    """Round numbers from `low` to `high`, about as many as wanted."""
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [Tick(n * step, number(n * step)) for n in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[Tick]:
    """Round numbers between the two, fewer of each power of ten the more powers there are."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 3, 5, 7) if len(powers) <= 3 else (1, 2, 5) if len(powers) <= 5 else (1,)
    values = [factor * 10.0**power for power in powers for factor in factors]
    return [Tick(v, number(v)) for v in values if low * 0.999 <= v <= high * 1.001]


def number(value: float) -> str:
    """A number for an axis: `12 500`, `0.05`."""
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 1000 else f"{value:.6g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A line of the legend: what a mark, a cross or a line stands for."""

    name: str
    arm: int
    shape: str = "mark"  # or hollow, cross, line


def keys(names: Iterable[str]) -> list[Key]:
    """The legend of arms with plain marks."""
    return [Key(name=name, arm=arm) for arm, name in enumerate(names)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The place of a chart: two axes, and positions within them in pixels."""

    title: str
    description: str
    across: Axis
    up: Axis
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    margin: int = RIGHT

    @property
    def right(self) -> float:
        """Where the axes end, in pixels from the left."""
        return self.width - self.margin

    @property
    def floor(self) -> float:
        """Where the axes begin, in pixels from the top."""
        return self.height - BOTTOM

    def x(self, value: float) -> float:
        """Pixels from the left."""
        return self.left + self.across.share(value) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        return self.floor - self.up.share(value) * (self.floor - TOP)

    def clipped_x(self, value: float) -> float:
        """The same as `x`, or the nearer end for what lies beyond the axis."""
        return min(max(self.x(value), self.left), self.right)

    def clipped_y(self, value: float) -> float:
        """The same as `y`, or the nearer end for what lies beyond the axis."""
        return min(max(self.y(value), TOP), self.floor)

    def level(self, value: float, kind: str = "zero") -> str:
        """A line across the chart."""
        y = self.y(value)
        return f'<path class="{kind}" d="M{self.left} {y:.1f}H{self.right}"/>'

    def upright(self, value: float, kind: str = "zero") -> str:
        """A line from floor to top."""
        x = self.x(value)
        return f'<path class="{kind}" d="M{x:.1f} {TOP}V{self.floor}"/>'

    def drawn(self, body: Iterable[str], legend: Sequence[Key]) -> str:
        """The whole file, with `body` between the grid and the legend."""
        parts = [text(self.left_of_title, 22, self.title, kind="title")]
        parts += [*self._grid(), *body, *self._legend(legend)]
        return document(self.title, self.description, self.width, self.height, parts)

    @property
    def left_of_title(self) -> float:
        """Where the title begins."""
        return min(self.left, LEFT)

    def _grid(self) -> Iterable[str]:
        for tick in self.up.ticks:
            yield self.level(tick.at, "grid")
            yield text(self.left - 8, self.y(tick.at) + 4, tick.label, anchor="end")
        for tick in self.across.ticks:
            yield self.upright(tick.at, "grid")
            yield text(self.x(tick.at), self.floor + 18, tick.label, anchor="middle")
        yield f'<path class="axis" d="M{self.left} {TOP}V{self.floor}H{self.right}"/>'
        middle = (self.left + self.right) / 2
        yield text(middle, self.height - 12, self.across.label, anchor="middle")
        yield text(self.left, TOP - 8, self.up.label, anchor="start")

    def _legend(self, legend: Sequence[Key]) -> Iterable[str]:
        """Marks with names in one row at the top right, cut where they would not fit."""
        if not legend:
            return
        room = self.right - self.left - 7 * len(self.up.label) - 30
        fits = sum(28 + 7 * len(key.name) for key in legend) <= room
        each = max(6, int(room / (7 * len(legend))) - 4)
        shown = [key.name if fits else short(key.name, each) for key in legend]
        x = self.right - sum(28 + 7 * len(name) for name in shown)
        for key, name in zip(legend, shown, strict=True):
            yield _sample(key, x + 6)
            yield text(x + 16, TOP - 8, name)
            x += 28 + 7 * len(name)


def document(title: str, description: str, width: int, height: int, parts: Iterable[str]) -> str:
    """A whole SVG file, with a description for readers who cannot see it."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" width="{width}"'
        f' height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{escaped(title)}</title><desc>{escaped(description)}</desc>",
        f"<style>{style()}</style>",
        f'<rect class="bg" width="{width}" height="{height}"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _sample(key: Key, x: float) -> str:
    y = TOP - 12.0
    match key.shape:
        case "cross":
            return cross(x, y, key.arm)
        case "line":
            return line([(x - 7, y), (x + 6, y)], key.arm)
        case shape:
            return mark(x, y, key.arm, hollow=shape == "hollow")
