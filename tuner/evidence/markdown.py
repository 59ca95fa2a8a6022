"""A report as Markdown, short enough for a comment on a pull request: words and tables only.

Everything that came from outside is escaped here. What was typed as a value, a name or a file
stands in code spans and fenced blocks, which nothing inside can end.
"""

import re
from collections.abc import Iterable

from tuner.charts import writable
from tuner.evidence.parts import (
    Bullets,
    Cell,
    Code,
    Document,
    Facts,
    Folded,
    Gallery,
    Headline,
    Listing,
    Paragraph,
    Part,
    Picture,
    Section,
    Strong,
    Table,
    Whisker,
    Word,
    Words,
)

_SPECIAL = re.compile(r"([\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_]))")
_MARKER = re.compile(r"^(\s*\d{0,9})([-+#=.)])(?=[-+#=\s]|$)")
"""What would begin a list, a heading or a rule at the start of a line."""

_BREAK = "\u200b"
"""Between the sign of a mention, a reference or an address and its name: no one is called, and
nothing is linked, by what a file or a log says."""


LONGEST = 60_000
"""Characters of a report with its evidence; a comment on a pull request takes 65 536."""

_MOST_ROWS = 40


def markdown(document: Document) -> str:
    """The whole report; the evidence is folded away, and left out where it would be too long."""
    sections = document.sections
    answer = [block for s in sections if not s.is_evidence for block in _section(s)]
    evidence = [block for s in sections if s.is_evidence for block in _section(s)]
    opening = [*_headline(document.headline), *answer]
    if not evidence:
        return _joined(opening)
    folded = ["<details>\n<summary>Evidence</summary>", *evidence, "</details>"]
    whole = _joined([*opening, *folded])
    if len(whole) <= LONGEST:
        return whole
    return _joined([*opening, "The evidence is too long for this form: see the page or the JSON."])


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(block for block in blocks if block) + "\n"


def _headline(headline: Headline) -> Iterable[str]:
    yield f"## uWSGI tuning of {_code(headline.app)}: {_text(headline.verdict)}"
    yield _started(headline.answer)
    yield _started((headline.reason,))


def _section(section: Section) -> list[str]:
    blocks = [block for part in section.parts for block in _part(part)]
    return [f"### {_text(section.title)}", *blocks] if blocks else []


def _part(part: Part) -> Iterable[str]:
    match part:
        case Paragraph(words=words, is_quiet=is_quiet):
            yield f"*{_words(words)}*" if is_quiet else _started(words)
        case Bullets(items=items):
            yield "\n".join(f"- {_started(words)}" for words in items)
        case Facts(rows=rows):
            yield "\n".join(f"- {_text(name)}: {_words(words)}" for name, words in rows)
        case Table():
            yield _table(part)
        case Listing(text=text, language=language):
            yield _fenced(text, language)
        case Folded(summary=summary, parts=parts):
            blocks = [block for inner in parts for block in _part(inner)]
            opening = f"<details>\n<summary>{_text(summary)}</summary>"
            yield "\n\n".join([opening, *blocks, "</details>"])
        case Picture() | Gallery():
            return


def _table(table: Table) -> str:
    """Without the columns of pictures, which have whiskers or nothing in all rows."""
    width = len(table.headings)
    kept = [n for n in range(width) if not _is_picture([row[n] for row in table.rows])]
    lines = [
        [_text(table.headings[n]) or " " for n in kept],
        ["---"] * len(kept),
        *([_cell(row[n]) for n in kept] for row in table.rows[:_MOST_ROWS]),
    ]
    shown = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    left = len(table.rows) - _MOST_ROWS
    return f"{shown}\n\n{left} more rows are left out here." if left > 0 else shown


def _is_picture(cells: list[Cell]) -> bool:
    return any(isinstance(cell, Whisker) for cell in cells)


def _cell(cell: Cell) -> str:
    # Of a table a `|` ends the cell even within a code span, unless it is escaped there as well.
    if isinstance(cell, Whisker):
        return ""
    return "".join(
        _code(word.text).replace("|", "\\|") if isinstance(word, Code) else _word(word)
        for word in cell
    )


def _started(words: Words) -> str:
    """Words at the start of a line."""
    return _MARKER.sub(r"\1\\\2", _words(words))


def _words(words: Words) -> str:
    return "".join(_word(word) for word in words)


def _word(word: Word) -> str:
    match word:
        case Code(text=text):
            return _code(text)
        case Strong(text=text):
            inner = _text(text)
            stripped = inner.strip()  # a blank beside the stars would leave them as they are
            return inner.replace(stripped, f"**{stripped}**") if stripped else inner
        case str():
            return _text(word)


def _text(words: str) -> str:
    """On one line, with nothing in it that Markdown or HTML would take for its own."""
    flat = re.sub(r"[\r\n\t]+", " ", writable(words)).replace("&", "&amp;")
    plain = _SPECIAL.sub(r"\\\1", flat)
    plain = re.sub(r"([@#])(?=\w)", rf"\1{_BREAK}", plain)
    return re.sub(r"(://|www\.)", rf"{_BREAK}\1", plain, flags=re.IGNORECASE)


def _code(words: str) -> str:
    """A code span whose fence is longer than any run of backticks within."""
    flat = re.sub(r"[\r\n\t]+", " ", writable(words)) or " "
    fence = "`" * (_longest_run(flat) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{writable(text)}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
