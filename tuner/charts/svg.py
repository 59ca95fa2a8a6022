"""Elements of a chart: frame, axes, legend, colours; names are escaped here and nowhere else."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 360
LEFT, RIGHT, TOP, BOTTOM = 72, 28, 64, 52
SIDES = 6  # as many colours and marks as a comparison may have files

_COLOURS = ("#0b62b8", "#b8500b", "#1a7f4b", "#8b3fa8", "#a8173a", "#5f6570")
_DARK_COLOURS = ("#6cb2ff", "#ffa657", "#5fd39a", "#d3a0f0", "#ff8fa3", "#b4bac4")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 4", "12 4")


def _style() -> str:
    """No variables of CSS: viewers other than browsers do not know them."""
    light = _paint("#fff", "#1c2128", "#d6dae0", _COLOURS)
    dark = _paint("#14181d", "#e3e7ec", "#353c45", _DARK_COLOURS)
    dashes = "".join(f".l{i}{{stroke-dasharray:{dash}}}" for i, dash in enumerate(_DASHES))
    return (
        "text{font:12px sans-serif}.title{font-size:15px;font-weight:600}.grid,.axis{fill:none}"
        f".band{{opacity:.35}}{dashes}{light}@media (prefers-color-scheme:dark){{{dark}}}"
    )


def _paint(paper: str, ink: str, faint: str, colours: Sequence[str]) -> str:
    sides = "".join(f".s{i}{{stroke:{colour};fill:{colour}}}" for i, colour in enumerate(colours))
    return (
        f".bg{{fill:{paper}}}text{{fill:{ink}}}.axis{{stroke:{ink}}}.grid{{stroke:{faint}}}"
        f".band{{fill:{faint}}}{sides}.void{{fill:{paper};stroke-width:1.5}}"
        ".line{fill:none;stroke-width:2}"
    )


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where, and what is written there."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One direction of a chart: a range of numbers, evenly spread or by their logs."""

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
class Frame:
    """The place of a chart: two axes, and positions within them in pixels."""

    title: str
    description: str
    across: Axis
    up: Axis

    def x(self, value: float) -> float:
        """Pixels from the left."""
        return LEFT + self.across.share(value) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        return HEIGHT - BOTTOM - self.up.share(value) * (HEIGHT - TOP - BOTTOM)

    def drawn(self, body: Iterable[str], names: Sequence[str]) -> str:
        """The whole file, with `body` between the grid and the legend."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{HEIGHT}"'
            f' viewBox="0 0 {WIDTH} {HEIGHT}">',
            f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>",
            f"<style>{_style()}</style>",
            f'<rect class="bg" width="{WIDTH}" height="{HEIGHT}"/>',
            text(LEFT, 22, self.title, kind="title"),
            *self._grid(),
            *body,
            *_legend(names),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def _grid(self) -> Iterable[str]:
        floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        for tick in self.up.ticks:
            y = self.y(tick.at)
            yield f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>'
            yield text(LEFT - 8, y + 4, tick.label, anchor="end")
        for tick in self.across.ticks:
            x = self.x(tick.at)
            yield f'<path class="grid" d="M{x:.1f} {TOP}V{floor}"/>'
            yield text(x, floor + 18, tick.label, anchor="middle")
        yield f'<path class="axis" d="M{LEFT} {TOP}V{floor}H{right}"/>'
        yield text((LEFT + right) / 2, HEIGHT - 12, self.across.label, anchor="middle")
        yield text(LEFT, TOP - 8, self.up.label, anchor="start")


def text(x: float, y: float, words: str, *, kind: str = "", anchor: str = "start") -> str:
    """A line of text at a point."""
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{of_kind}>{escape(words)}</text>'


def mark(x: float, y: float, side: int, *, hollow: bool = False) -> str:
    """The point of a side: a shape of its own, for colours alone do not tell everybody."""
    r = 4.0
    shapes = (
        f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z",
        f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}Z",
        f"M{x:.1f} {y - r:.1f}l{r} {2 * r}h{-2 * r}Z",
        f"M{x:.1f} {y - r - 1:.1f}l{r + 1} {r + 1}l{-r - 1} {r + 1}l{-r - 1} {-r - 1}Z",
        f"M{x:.1f} {y + r:.1f}l{r} {-2 * r}h{-2 * r}Z",
        f"M{x - r - 1:.1f} {y - 1.5:.1f}h{2 * r + 2}v3h{-2 * r - 2}Z",
    )
    kind = f"s{side % SIDES}" + (" void" if hollow else "")
    return f'<path class="{kind}" d="{shapes[side % SIDES]}"/>'


def line(points: Iterable[tuple[float, float]], side: int) -> str:
    """A line through points, dashed in the way of its side."""
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path class="s{side % SIDES} l{side % SIDES} line" d="M{path}"/>'


def _legend(names: Sequence[str]) -> Iterable[str]:
    """Marks with names in one row at the top right, cut where they would not fit."""
    room = int((WIDTH - LEFT - RIGHT - 200) / (7 * max(1, len(names)))) - 4
    shown = [name if len(name) <= room else f"{name[: room - 1]}…" for name in names]
    x = WIDTH - RIGHT - sum(28 + 7 * len(name) for name in shown)
    for side, name in enumerate(shown):
        yield mark(x + 6, TOP - 12, side)
        yield text(x + 16, TOP - 8, name)
        x += 28 + 7 * len(name)


def stacked(*charts: str) -> str:
    """Charts below each other in one file; each keeps its title and description."""
    sizes = [_size(chart) for chart in charts]
    width, height = max(w for w, _ in sizes), sum(h for _, h in sizes)
    above, parts = 0, []
    for chart, (_, tall) in zip(charts, sizes, strict=True):
        parts.append(chart.replace("<svg ", f'<svg y="{above}" ', 1).rstrip())
        above += tall
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _size(chart: str) -> tuple[int, int]:
    found = re.search(r'width="(\d+)" height="(\d+)"', chart)
    if found is None:
        raise ValueError("a chart has a width and a height")
    return int(found[1]), int(found[2])
