"""What a page or a Markdown text is made of.

Texts are plain here: `rendering` escapes them. A `Code` comes from a file, or is a name
that a user gave; it is shown letter by letter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tuner.nouns import wording
from tuner.nouns.model import Effect


@dataclass(frozen=True, slots=True)
class Code:
    """Words shown letter by letter."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that stand out."""

    text: str


Word = str | Code | Strong
Words = Word | tuple[Word, ...]
Row = tuple[Words, ...]


def words_of(words: Words) -> tuple[Word, ...]:
    """Words one by one."""
    return words if isinstance(words, tuple) else (words,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whisker:
    """A relative change with its interval as a small picture beside the figure.

    Better is to the right: gains are positive where the metric improves. The edge is at `reach`.
    """

    gain: float
    low: float | None
    high: float | None
    reach: float


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
    """Rows under headings. `whiskers`, one for each row if any, are pictures for pages only."""

    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    whiskers: tuple[Whisker | None, ...] = ()

    @property
    def scale(self) -> str:
        """What the pictures are drawn on, for their heading: `worse ← 0 → better, ±26 %`."""
        reach = max(whisker.reach for whisker in self.whiskers if whisker)
        return f"worse ← 0 → better, ±{wording.share(reach, 0)}"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values."""

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
    """A file or a part of one; the lines of a `diff` begin with +, - or a blank."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """Details that a reader opens."""

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


def pictured(
    title: str, picture: Picture | Gallery, headings: tuple[str, ...], rows: tuple[Row, ...]
) -> Section:
    """Evidence as a picture, with its figures folded away."""
    figures = Folded("The same in figures", (Table(headings, rows),))
    return Section(title=title, parts=(picture, figures), is_evidence=True)


def tables_in(parts: tuple[Part, ...]) -> tuple[Table, ...]:
    """All tables among the parts, folded ones too."""
    inner = (tables_in(part.parts) if isinstance(part, Folded) else (part,) for part in parts)
    return tuple(part for found in inner for part in found if isinstance(part, Table))


class Mood(StrEnum):
    """The colour of an answer. To keep one's file is no reason for alarm."""

    GOOD = "good"
    CALM = "calm"


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the few figures at the top."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The answer in one sentence, with the verdict and the figures that matter most."""

    app: str
    job: int
    verdict: str
    mood: Mood
    answer: Words
    reason: str
    figures: tuple[Figure, ...]
    kind: str = "uWSGI tuning"  # what the job did


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A headline with sections, not yet written in any form."""

    headline: Headline
    sections: tuple[Section, ...]


# ---- Effects as small pictures beside their figures


def whiskers(effects: Sequence[Effect | None]) -> tuple[Whisker | None, ...]:
    """Pictures on one scale, which holds all figures and most intervals; none without effects."""
    known = [effect for effect in effects if effect is not None]
    ends = [wording.bounded(end) for effect in known for end in (effect.ci_low, effect.ci_high)]
    sizes = sorted(abs(end) for end in ends if end is not None)
    most = sizes[(3 * len(sizes)) // 4 - 1] if sizes else 0.0
    reach = 1.1 * max([*(abs(effect.estimate) for effect in known), most, 0.01])
    return tuple(_whisker(own, reach) if own else None for own in effects) if known else ()


def _whisker(effect: Effect, reach: float) -> Whisker:
    """The effect turned so that better is to the right."""
    sign = effect.metric.sign
    low, high = wording.bounded(effect.ci_low), wording.bounded(effect.ci_high)
    if sign < 0:
        low, high = (None if high is None else -high), (None if low is None else -low)
    return Whisker(gain=sign * effect.estimate, low=low, high=high, reach=reach)
