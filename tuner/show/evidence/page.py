"""A document as one HTML file that needs nothing else: no script, no network, all styles inside.

Jinja2 escapes every text. Charts have escaped their own words.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import get_args

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from tuner.show import charts
from tuner.show.evidence.document import Code, Document, Part, Strong, Whisker, words_of

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may load for the page: its own styles, and nothing else."""

TESTS = {kind.__name__.lower(): kind for kind in (*get_args(Part), Code, Strong)}
"""The parts of a document by the names that templates know them by."""

_DIFF_LINES: Mapping[str, str] = {"+": "added", "-": "removed", "@": "place"}


def page(document: Document) -> str:
    """The whole file."""
    style = Markup(charts.style())  # noqa: S704  our own
    return _template().render(document=document, policy=POLICY, style=style)


def stylesheet() -> str:
    """The styles of the parts and of the charts in them, for pages that have it as a file."""
    return f"{charts.style()}\n{templates().get_template('page.css').render()}"


@cache
def _template() -> Template:
    return environment().get_template("page.html.j2")


def environment(more: BaseLoader | None = None, *, most_rows: int | None = None) -> Environment:
    """What writes parts of a document as HTML (`parts.html.j2`), with `more` templates.

    Tables show `most_rows` rows, or all.
    """
    found = templates()
    if more is not None and found.loader is not None:
        found.loader = ChoiceLoader([more, found.loader])
    found.finalize = _writable
    found.filters |= {"prose": _prose, "embedded": _embedded, "bar": _bar}
    found.globals |= {"diff_lines": _DIFF_LINES, "most_rows": most_rows}
    return found


def templates() -> Environment:
    """The package's templates, which escape every text."""
    found = Environment(
        loader=PackageLoader("tuner.show.evidence"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, kind in TESTS.items():
        found.tests[name] = lambda part, kind=kind: isinstance(part, kind)
    found.filters["words"] = words_of
    return found


def _writable(value: object) -> object:
    return charts.writable(value) if type(value) is str else value


def _prose(words: str) -> str:
    """A sentence; no line begins with a percent sign, or within a number."""
    return re.sub(r" (?=%)|(?<=\d) (?=\d{3}(?!\d))", "\N{NO-BREAK SPACE}", words)


def _embedded(svg: str) -> Markup:
    return Markup(charts.embedded(svg))  # noqa: S704  charts escape their own words


def _bar(whisker: Whisker) -> Markup:
    bar = charts.interval_bar(whisker.gain, whisker.low, whisker.high, whisker.reach)
    return Markup(bar)  # noqa: S704  it holds no words
