"""The templates, which escape every text, and what they may use."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from urllib.parse import quote

from jinja2 import Environment, PackageLoader

from tuner.nouns import wording
from tuner.nouns.model import Checker, Metric, Verdict
from tuner.show import evidence
from tuner.show.evidence import Section, tables_in

MOST_ROWS = 50
"""Rows of a table within a page; the page of the table has the others."""

MARKS = {
    Verdict.BETTER: "▲",
    Verdict.WORSE: "▼",
    Verdict.BREAKS_BOUND: "✕",
    Verdict.NO_DIFFERENCE: "=",
    Verdict.INCONCLUSIVE: "?",
    Verdict.DEPENDS: "◇",
    Verdict.MORE_FRAGILE: "!",
}
"""Beside the colour of a verdict, which not every reader can tell."""


CHECKS = {
    (Checker.RECOMMEND, True): "The deployed file has the recommended effect",
    (Checker.RECOMMEND, False): "The deployed file has another effect",
    (Checker.GATE, True): "The recommended file holds on a new image",
    (Checker.GATE, False): "The recommended file does not hold on a new image",
}
"""What a checker found, by whether what is deployed holds."""


@cache
def environment() -> Environment:
    """Those of reports too: both show parts of documents alike."""
    found = evidence.environment(PackageLoader("tuner.service.pages"), most_rows=MOST_ROWS)
    ours: dict[str, Callable[..., object]] = {
        "utc": _utc,
        "quoted": lambda text: quote(str(text), safe=""),
        "has_table": lambda section: bool(tables_in(section.parts)),
        "slug": slug,
        "hashed": hashed,
    }
    found.filters |= ours
    found.globals |= {"wording": wording, "marks": MARKS, "metrics": Metric}
    found.globals |= {"words_of_checks": CHECKS}
    return found


def slug(section: Section) -> str:
    """The name of a section in addresses and anchors: `the-race`."""
    letters = (letter if letter.isalnum() else " " for letter in section.title.lower())
    return "-".join("".join(letters).split())


def hashed(text: str) -> str:
    """Tells whether a part has changed: parts that have not stay as the reader left them."""
    return hashlib.sha256(str(text).encode()).hexdigest()[:16]


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
