"""What a report is made of, whatever it will be written in.

Texts are as they are: whoever writes them down escapes them (`page`, `markdown`). A `Code` is
something out of a file or a name that somebody gave, shown letter by letter.
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Code:
    """Words shown letter by letter."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that stand out."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Whisker:
    """A relative change with its interval as a small picture beside the figure.

    Its gains are signed so that more is better; `reach` is where its edge lies.
    """

    gain: float
    low: float | None
    high: float | None
    reach: float


Word = str | Code | Strong
Words = tuple[Word, ...]
Cell = Words | Whisker


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a quiet one is an aside."""

    words: Words
    is_quiet: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    items: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings. A column of whiskers has no heading, and is left out of Markdown."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what they stand for."""

    rows: tuple[tuple[str, Words], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with a sentence below it; pages only."""

    svg: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Gallery:
    """Small charts of one kind side by side; pages only."""

    svgs: tuple[str, ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A file or a part of one; `diff` says that its lines begin with +, - or a blank."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """Parts that only a curious reader opens."""

    summary: str
    parts: "tuple[Part, ...]"


Part = Paragraph | Bullets | Table | Facts | Picture | Gallery | Listing | Folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Parts under a heading. The evidence follows the answer; closing sections follow both."""

    title: str
    parts: tuple[Part, ...]
    is_evidence: bool = False
    is_closing: bool = False


class Mood(StrEnum):
    """How an answer is to be taken at a glance: to keep one's file is nothing to be alarmed by."""

    GOOD = "good"
    CALM = "calm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of the few figures at the top."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The answer as one sentence, with the verdict and the figures that matter most."""

    app: str
    job: int
    verdict: str
    mood: Mood
    answer: Words
    reason: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole report."""

    headline: Headline
    sections: tuple[Section, ...]
