"""A report as a comment on a pull request."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import finished_jobs
from tests.budgets import examples
from tests.unit.evidence.test_page import hostile
from tuner.nouns.model import History
from tuner.show import evidence
from tuner.show.evidence.document import (
    Bullets,
    Code,
    Document,
    Headline,
    Listing,
    Mood,
    Paragraph,
    Part,
    Section,
    Strong,
    Table,
    Whisker,
)
from tuner.show.evidence.rendering import LONGEST


def written(history: History | None = None) -> str:
    return evidence.markdown(evidence.compose(evidence.collect(history or finished_jobs.history())))


def of_part(part: Part) -> str:
    """One part as it comes out below a heading."""
    headline = Headline(
        app="a", job=1, verdict="v", mood=Mood.CALM, answer=("a",), reason="r", figures=()
    )
    section = Section(title="T", parts=(part,))
    return evidence.markdown(Document(headline=headline, sections=(section,))).split("### T\n\n")[1]


def test_the_answer_comes_first_and_the_evidence_is_folded() -> None:
    lines = written().splitlines()
    assert lines[0] == "## uWSGI tuning of `checkout`: better"
    assert lines[2].startswith("**Deploy the new file** for `checkout`: +9.8 % requests per second")
    assert lines.index("### What changes") < lines.index("<summary>Evidence</summary>")
    assert lines.index("<summary>Evidence</summary>") < lines.index("### The race")


def test_lines_and_what_was_put_back_are_tables() -> None:
    text = written()
    assert "| `listen` | `100` | `1024` | **+1.8 %** requests per second" in text
    assert "| `thunder-lock` | not set | `true` | inside noise: +0.3 % (-0.9 % .. +1.5 %) |" in text


def test_the_file_is_a_diff() -> None:
    assert "```diff\n" in written()
    assert "\n-processes = 2\n" in written()


def test_there_are_no_pictures_and_no_columns_of_pictures() -> None:
    assert "<svg" not in written()
    bar = Whisker(gain=0.1, low=0.0, high=0.2, reach=1.0)
    table = of_part(Table(("a",), (("x",), ("y",)), (bar, None)))
    assert table == "| a |\n| --- |\n| x |\n| y |\n"


def test_every_details_is_closed() -> None:
    assert written().count("<details>") == written().count("</details>") > 3


def test_a_report_fits_into_a_comment() -> None:
    trials = finished_jobs.trials(1000, 12)
    text = written(finished_jobs.history(trials=trials))
    assert len(text) <= LONGEST
    assert "more rows are left out here" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a *b* _c_ `d`", r"a \*b\* \_c\_ \`d\`"),
        ("latency_p95_ms", "latency_p95_ms"),
        ("[x](y) <b>", r"\[x\](y) \<b\>"),
        ("a & b", "a &amp; b"),
        ("- no list", r"\- no list"),
        ("1. no list", r"1\. no list"),
        ("2.7 % is a figure", "2.7 % is a figure"),
        ("+6.8 % is a figure", "+6.8 % is a figure"),
        ("# no heading", r"\# no heading"),
        ("---", r"\---"),
        ("one\n\n# line", "one \\# line".replace("\\", "")),
        ("@team and #12", "@\u200bteam and #\u200b12"),
        ("https://evil.example", "https\u200b://evil.example"),
    ],
)
def test_words_stay_words(words: str, expected: str) -> None:
    assert of_part(Paragraph((words,))) == f"{expected}\n"


def test_code_cannot_be_ended_from_within() -> None:
    assert of_part(Paragraph((Code("a`b``c"),))) == "```a`b``c```\n"
    assert of_part(Paragraph((Code("`"),))) == "`` ` ``\n"
    assert of_part(Table(("x",), (((Code("a|b\nc"),),),))).endswith("| `a\\|b c` |\n")
    assert of_part(Listing("```\n<b>", "ini")) == "````ini\n```\n<b>\n````\n"


def test_strong_words_keep_their_blanks_outside_the_stars() -> None:
    assert of_part(Bullets(((Strong("Bounds: "), "x"),))) == "- **Bounds:** x\n"


@given(st.text(max_size=80))
@settings(max_examples=examples(25), deadline=None)
def test_hostile_text_leaves_no_tag(words: str) -> None:
    text = written(hostile(words))
    outside = re.sub(r"(?s)(`{3,})[a-z]*\n.*?\n\1", "", text)  # fenced blocks
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)  # code spans
    tags = set(re.findall(r"(?<!\\)<[^>]*>", outside))
    assert tags <= {"<details>", "</details>", "<summary>", "</summary>"}
