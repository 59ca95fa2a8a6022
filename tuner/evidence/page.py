"""A report as one HTML file that needs nothing else: no script, no network, all styles inside.

Everything is escaped here, by `charts.escaped`; charts have escaped their own words.
"""

from collections.abc import Iterable

from tuner import charts
from tuner.charts import escaped
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
from tuner.evidence.stylesheet import CSS

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may load for the page: its own styles, and nothing else whatever is in it."""


def page(document: Document) -> str:
    """The whole file."""
    answer = [s for s in document.sections if not s.is_evidence]
    evidence = [s for s in document.sections if s.is_evidence]
    # Provenance and what was not tried close the page, after the evidence.
    parts = [
        *_headline(document.headline),
        *(_section(section) for section in answer if not section.is_closing),
    ]
    if evidence:
        parts.append('<h2 class="divider">Evidence</h2>')
        parts += [_section(section) for section in evidence]
    parts += [_section(section) for section in answer if section.is_closing]
    title = f"{document.headline.app}: {document.headline.verdict}"
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(POLICY)}">\n'
        f"<title>{escaped(title)}</title>\n<style>{charts.style()}\n{CSS}</style>\n</head>\n"
        f"<body>\n<main>\n" + "\n".join(parts) + "\n</main>\n</body>\n</html>\n"
    )


def _headline(headline: Headline) -> Iterable[str]:
    yield f'<header class="hero {headline.mood.value}">'
    yield f'<p class="eyebrow">uWSGI tuning · job {headline.job}'
    yield f'<span class="pill">{escaped(headline.verdict)}</span></p>'
    yield f"<h1>{_words(headline.answer)}</h1>"
    yield f'<p class="reason">{_prose(headline.reason)}</p>'
    if headline.figures:
        yield '<dl class="figures">'
        for figure in headline.figures:
            yield (
                f"<div><dt>{escaped(figure.label)}</dt><dd><b>{_prose(figure.value)}</b>"
                f"<small>{_prose(figure.note)}</small></dd></div>"
            )
        yield "</dl>"
    yield "</header>"


def _section(section: Section) -> str:
    inner = "\n".join(_part(part) for part in section.parts)
    level = "h3" if section.is_evidence else "h2"
    return f"<section>\n<{level}>{escaped(section.title)}</{level}>\n{inner}\n</section>"


def _part(part: Part) -> str:
    match part:
        case Paragraph(words=words, is_quiet=is_quiet):
            return (
                f'<p class="quiet">{_words(words)}</p>' if is_quiet else f"<p>{_words(words)}</p>"
            )
        case Bullets(items=items):
            return f"<ul>{''.join(f'<li>{_words(words)}</li>' for words in items)}</ul>"
        case Facts(rows=rows):
            told = (f"<dt>{escaped(name)}</dt><dd>{_words(words)}</dd>" for name, words in rows)
            return f'<dl class="facts">{"".join(told)}</dl>'
        case Table():
            return _table(part)
        case Listing(text=text, language=language):
            return _listing(text, language)
        case Picture(svg=svg, caption=caption):
            drawn = f'<div class="scroll">{charts.embedded(svg)}</div>'
            return f"<figure>{drawn}{_caption(caption)}</figure>"
        case Gallery(svgs=svgs, caption=caption):
            drawn = "".join(charts.embedded(svg) for svg in svgs)
            return f'<figure><div class="gallery">{drawn}</div>{_caption(caption)}</figure>'
        case Folded(summary=summary, parts=parts):
            inner = "\n".join(_part(inner) for inner in parts)
            return f"<details><summary>{escaped(summary)}</summary>\n{inner}\n</details>"


def _caption(words: str) -> str:
    return f"<figcaption>{_prose(words)}</figcaption>" if words else ""


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col">{escaped(name)}</th>' if name else "<td></td>" for name in table.headings
    )
    rows = "".join(
        f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>\n" for row in table.rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(cell: Cell) -> str:
    if isinstance(cell, Whisker):
        return charts.interval_bar(cell.gain, cell.low, cell.high, cell.reach)
    return _words(cell)


def _listing(text: str, language: str) -> str:
    if language != "diff":
        return f"<pre><code>{escaped(text)}</code></pre>"
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = (
        f'<span class="{kinds.get(line[:1], "same")}">{escaped(line) or " "}</span>'
        for line in text.splitlines()
    )
    return f'<pre class="diff"><code>{"".join(lines)}</code></pre>'


def _words(words: Words) -> str:
    return "".join(_word(word) for word in words)


def _word(word: Word) -> str:
    match word:
        case Code(text=text):
            return f"<code>{escaped(text)}</code>"
        case Strong(text=text):
            return f"<strong>{_prose(text)}</strong>"
        case str():
            return _prose(word)


def _prose(words: str) -> str:
    """Words of our own with what may be quoted in them; no line begins with a percent sign."""
    return escaped(words).replace(" %", "&nbsp;%")
