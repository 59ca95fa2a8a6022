"""Colours and strokes of all charts, as one style sheet.

Every colour is written twice: plainly, for viewers that know no variables of CSS, and as a
variable, so that a page with charts in it can set its own (`--paper`, `--ink`, `--faint`,
`--series-0` and so on). All rules hold below the class `chart` only.
"""

from collections.abc import Sequence

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
