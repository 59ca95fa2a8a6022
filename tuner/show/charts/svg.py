"""Elements of a chart; words are escaped here and nowhere else."""

import re
from collections.abc import Iterable, Sequence
from html import escape

# ---- Colours and strokes of all charts, as one style sheet
#
# Every colour is written twice: plainly, for viewers that know no variables of CSS, and as a
# variable, so that a page with charts in it can set its own (`--paper`, `--ink`, `--faint`,
# `--series-0` and so on). All rules hold below the class `chart` only.

ARMS = 6  # colours, marks and dashes; a seventh arm has the first colour with the second mark

_COLOURS = ("#0b62b8", "#b8500b", "#187546", "#8b3fa8", "#a8173a", "#5f6570")
_DARK_COLOURS = ("#6cb2ff", "#ffa657", "#5fd39a", "#d3a0f0", "#ff8fa3", "#b4bac4")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 4", "12 4")
_SHAPES = (
    ".chart text{font:12px system-ui,sans-serif}.chart .small{font-size:10px}"
    ".chart .title{font-size:15px;font-weight:600}.chart .strong{font-weight:600}"
    ".chart .grid,.chart .axis,.chart .zero,.chart .bound{fill:none}"
    ".chart .zero{stroke-width:1.5}.chart .bound{stroke-width:1.5;stroke-dasharray:6 4}"
    ".chart .band{opacity:.35}.chart .area{opacity:.16;stroke:none}"
    ".chart .line{fill:none;stroke-width:2}.chart .thin{fill:none;stroke-width:1.2}"
    ".chart .thick{fill:none;stroke-width:3.5}.chart .void{stroke-width:1.5}"
)


def style() -> str:
    """The style sheet: light, and dark where the reader's own setting says so."""
    dashes = "".join(f".chart .l{i}{{stroke-dasharray:{dash}}}" for i, dash in enumerate(_DASHES))
    light = _paint("#ffffff", "#1c2128", "#d6dae0", _COLOURS)
    dark = _paint("#14181d", "#e3e7ec", "#353c45", _DARK_COLOURS)
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}{_SHAPES}{dashes}"


def _paint(paper: str, ink: str, faint: str, colours: Sequence[str]) -> str:
    arms = "".join(_arm(number, colour) for number, colour in enumerate(colours))
    return (
        f".chart .bg{{{_set('fill', 'paper', paper)}}}.chart text{{{_set('fill', 'ink', ink)}}}"
        f".chart .axis,.chart .zero,.chart .bound{{{_set('stroke', 'ink', ink)}}}"
        f".chart .grid{{{_set('stroke', 'faint', faint)}}}"
        f".chart .band{{{_set('fill', 'faint', faint)}}}"
        f".chart .small{{{_set('stroke', 'paper', paper)}stroke-width:3;paint-order:stroke}}"
        f"{arms}.chart .void{{{_set('fill', 'paper', paper)}}}"
    )


def _arm(number: int, colour: str) -> str:
    name = f"series-{number}"
    return f".chart .s{number}{{{_set('stroke', name, colour)}{_set('fill', name, colour)}}}"


def _set(what: str, name: str, colour: str) -> str:
    return f"{what}:{colour};{what}:var(--{name},{colour});"


Point = tuple[float, float]

# XML knows no control characters, and those that turn the direction of writing round would let a
# name pass for another one.
_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def writable(words: str) -> str:
    """The words, with `�` for every character that a document must not hold."""
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", words)


def escaped(words: str) -> str:
    """The words as text of XML or HTML, within quotes too."""
    return escape(writable(words))


def short(words: str, room: int) -> str:
    """The words, cut where they are longer than `room` characters."""
    return words if len(words) <= room else f"{words[: max(1, room - 1)]}…"


def text(x: float, y: float, words: str, *, kind: str = "", anchor: str = "start") -> str:
    """A line of text at a point."""
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{of_kind}>{escaped(words)}</text>'


def path(steps: str, kind: str, hint: str = "", opacity: float | None = None) -> str:
    """A path of a kind; `hint` is shown when a reader points at it."""
    faint = "" if opacity is None else f' opacity="{opacity:.2f}"'
    if not hint:
        return f'<path class="{kind}"{faint} d="{steps}"/>'
    return f'<path class="{kind}"{faint} d="{steps}"><title>{escaped(hint)}</title></path>'


def mark(x: float, y: float, arm: int, *, hollow: bool = False, hint: str = "") -> str:
    """The point of an arm: it has a shape of its own, because not every reader can tell colours."""
    r = 4.0
    shapes = (
        f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z",
        f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}Z",
        f"M{x:.1f} {y - r:.1f}l{r} {2 * r}h{-2 * r}Z",
        f"M{x:.1f} {y - r - 1:.1f}l{r + 1} {r + 1}l{-r - 1} {r + 1}l{-r - 1} {-r - 1}Z",
        f"M{x:.1f} {y + r:.1f}l{r} {-2 * r}h{-2 * r}Z",
        f"M{x - r - 1:.1f} {y - 1.5:.1f}h{2 * r + 2}v3h{-2 * r - 2}Z",
    )
    kind = f"s{arm % ARMS}" + (" void" if hollow else "")
    return path(shapes[form_of(arm)], kind, hint)


def form_of(arm: int) -> int:
    """Which mark and which dashes an arm has: no two of 36 arms share both form and colour."""
    return (arm + arm // ARMS) % ARMS


def cross(x: float, y: float, arm: int, hint: str = "") -> str:
    """The point of a trial without a value."""
    r = 3.5
    strokes = f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}M{x + r:.1f} {y - r:.1f}l{-2 * r} {2 * r}"
    return path(strokes, f"s{arm % ARMS} line", hint)


def line(points: Iterable[Point], arm: int, *, kind: str = "line") -> str:
    """A line through points, dashed in the way of its arm."""
    return line_through(points, f"s{arm % ARMS} l{form_of(arm)} {kind}")


def line_through(
    points: Iterable[Point], kind: str, hint: str = "", opacity: float | None = None
) -> str:
    """A line of a kind through points."""
    return path(_through(points), kind, hint, opacity)


def area(low: Sequence[Point], high: Sequence[Point], arm: int) -> str:
    """What lies between two lines."""
    return path(f"{_through([*low, *reversed(high)])}Z", f"s{arm % ARMS} area")


def _through(points: Iterable[Point]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


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


def embedded(chart: str) -> str:
    """The chart as a part of an HTML page, which has to have `style()` itself, once for all."""
    bare = re.sub(r"<style>.*?</style>\n?", "", chart, flags=re.DOTALL)
    return bare.replace(' xmlns="http://www.w3.org/2000/svg"', "")


def _size(chart: str) -> tuple[int, int]:
    found = re.search(r'width="(\d+)" height="(\d+)"', chart)
    if found is None:
        raise ValueError("a chart has a width and a height")
    return int(found[1]), int(found[2])
