"""A document as one HTML file that needs nothing else, and as Markdown."""

import re
from collections.abc import Mapping
from functools import cache
from typing import get_args

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from tuner.show import charts
from tuner.show.charts import writable
from tuner.show.evidence.document import Code, Document, Part, Strong, Whisker, words_of

# ---- A document as one HTML file that needs nothing else: no script, no network, all styles inside
#
# Jinja2 escapes every text. Charts have escaped their own words.

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may load for the page: its own styles, and nothing else."""

TESTS = {kind.__name__.lower(): kind for kind in (*get_args(Part), Code, Strong)}
"""The parts of a document by the names that templates know them by."""

_DIFF_LINES: Mapping[str, str] = {"+": "added", "-": "removed", "@": "place"}


def page(document: Document) -> str:
    """The whole file."""
    style = Markup(charts.style())  # noqa: S704  our own
    return _page_template().render(document=document, policy=POLICY, style=style)


def stylesheet() -> str:
    """The styles of the parts and of the charts in them, for pages that have it as a file."""
    return f"{charts.style()}\n{templates().get_template('page.css').render()}"


@cache
def _page_template() -> Template:
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


# ---- A document as Markdown, short enough for a comment on a pull request: words and tables only
#
# Everything from outside is escaped here. Values, names and files stand in code spans and fenced
# blocks, which nothing inside can end.

_SPECIAL = re.compile(r"([\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_]))")
_MARKER = re.compile(r"^(\s*\d{0,9})([-+#=.)])(?=[-+#=\s]|$)")
"""What would begin a list, a heading or a rule at the start of a line."""

_BREAK = "\u200b"
"""Between the sign of a mention, a reference or an address and its name: a file or a log mentions
no user and makes no link."""

LONGEST = 60_000
"""Characters of a text with its evidence; a comment on a pull request takes 65 536."""

_MOST_ROWS = 40


def markdown(document: Document) -> str:
    """The whole text. The evidence is folded away, or left out where it would be too long."""
    whole = _comment_template().render(document=document, most_rows=_MOST_ROWS, is_whole=True)
    if len(whole) > LONGEST:
        whole = _comment_template().render(document=document, most_rows=_MOST_ROWS, is_whole=False)
    return f"{whole.strip()}\n"


@cache
def _comment_template() -> Template:
    found = templates()
    found.finalize = _plain
    found.filters |= {"strong": _strong, "code": _code, "in_cell": _in_cell, "fenced": _fenced}
    found.filters["started"] = _started
    return found.get_template("comment.md.j2")


def _plain(value: object) -> object:
    """On one line, with nothing in it that Markdown or HTML would take for its own."""
    if type(value) is not str:
        return value
    flat = re.sub(r"[\r\n\t]+", " ", writable(value)).replace("&", "&amp;")
    plain = _SPECIAL.sub(r"\\\1", flat)
    plain = re.sub(r"([@#])(?=\w)", rf"\1{_BREAK}", plain)
    plain = re.sub(r"(://|www\.)", rf"{_BREAK}\1", plain, flags=re.IGNORECASE)
    return Markup(plain)  # noqa: S704  escaped above


def _started(words: Markup) -> Markup:
    """Words at the start of a line."""
    return Markup(_MARKER.sub(r"\1\\\2", words))  # noqa: S704  escaped already


def _strong(words: str) -> Markup:
    inner = str(_plain(words))
    stripped = inner.strip()  # a blank beside the stars would leave them as they are
    strong = inner.replace(stripped, f"**{stripped}**") if stripped else inner
    return Markup(strong)  # noqa: S704  escaped above


def _code(words: str) -> Markup:
    """A code span whose fence is longer than any run of backticks within."""
    flat = re.sub(r"[\r\n\t]+", " ", writable(words)) or " "
    fence = "`" * (_longest_run(flat) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return Markup(f"{fence}{pad}{flat}{pad}{fence}")  # noqa: S704  nothing within ends the span


def _in_cell(span: Markup) -> Markup:
    """A code span in a table, where a `|` ends the cell unless it is escaped."""
    return Markup(span.replace("|", "\\|"))  # noqa: S704  escaped already


def _fenced(text: str, language: str) -> Markup:
    fence = "`" * max(3, _longest_run(text) + 1)
    return Markup(f"{fence}{language}\n{writable(text)}\n{fence}")  # noqa: S704  as above


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
