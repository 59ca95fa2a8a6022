"""Elements of a chart; words are escaped here and nowhere else."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from tuner.show.charts.paint import ARMS

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
