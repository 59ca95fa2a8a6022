"""A report as one HTML file."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import finished_jobs
from tests.budgets import examples
from tuner.nouns.model import (
    Bottleneck,
    Diagnosis,
    Evidence,
    Failure,
    FailureCode,
    History,
    MissedBound,
    Outcome,
    TrialState,
)
from tuner.show import evidence
from tuner.show.evidence.document import (
    Bullets,
    Document,
    Facts,
    Folded,
    Gallery,
    Listing,
    Paragraph,
    Part,
    Picture,
    Section,
    Table,
)

EVERY_PART: tuple[Part, ...] = (
    Paragraph("shown"),
    Bullets(("shown",)),
    Table(("a",), (("shown",),)),
    Facts((("a", "shown"),)),
    Picture("<svg>shown</svg>"),
    Gallery(("<svg>shown</svg>",)),
    Listing("shown"),
    Folded("shown", ()),
)
VOID = frozenset({"meta", "br"})
HOSTILE = "</style></svg><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&\x00\u202e"


class Read(HTMLParser):
    """Tags, attributes and text of a page; fails where tags are not well nested."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """All words, with blanks that do not break as plain ones."""
        return " ".join("".join(self.words).replace("\xa0", " ").split())

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def page(history: History | None = None) -> str:
    found = evidence.collect(history or finished_jobs.history(), rendered_by="uwsgi-tuner 1")
    return evidence.page(evidence.compose(found))


def hostile(words: str) -> History:
    """A job with these words in every field that comes from outside."""
    diagnosis = Diagnosis(bottleneck=Bottleneck.UNKNOWN, sentence=words, evidence={words: 1.0})
    evidence = finished_jobs.evidence()
    assert evidence.ablation is not None
    factor = replace(evidence.ablation.factors[0], parameters=(words,))
    evidence = replace(
        evidence,
        ablation=replace(evidence.ablation, factors=(factor,)),
        importances=(replace(evidence.importances[0], parameter=words),),
        slices=(replace(evidence.slices[0], parameter=words),),
        ended_because=words,
        skipped=(words,),
        not_tried=(words,),
    )
    missed = MissedBound(name=words, is_users=True, excess=1.0, sentence=words)
    found = finished_jobs.recommendation(
        lines=(finished_jobs.line(words, words, words, finished_jobs.effect(0.1, 0.01)),),
        reverted=(finished_jobs.line(words, words, words),),
        comparison=replace(finished_jobs.comparison(), reason=words, missed=(missed,)),
        diagnosis=diagnosis,
        uwsgi_ini=words,
        overlay_ini=words,
        evidence=evidence,
    )
    failure = Failure(code=FailureCode.DIED, message=words, arm=1, log_tail=words)
    outcome = Outcome(state=TrialState.INFEASIBLE, score=None, constraints={}, failure=failure)
    trials = finished_jobs.trials(4)
    broken = replace(trials[2], params={words: words}, outcome=outcome)
    job = finished_jobs.job(found)
    target = job.spec.target.model_copy(update={"image": words, "target_app": None})
    job = replace(job, spec=job.spec.model_copy(update={"target": target, "app": words}))
    return finished_jobs.history(job=job, trials=(*trials[:2], broken, *trials[3:]))


def test_the_page_is_well_nested_and_begins_with_the_answer() -> None:
    read = Read(page())
    assert read.count("h1") == 1
    answer = read.text.index("Deploy the new file for checkout: +9.8 % requests per second")
    assert answer < read.text.index("What changes") < read.text.index("Evidence")
    assert read.text.index("The confirmation") < read.text.index("Where it comes from")


def test_the_page_needs_nothing_else_and_runs_nothing() -> None:
    read = Read(page())
    used = {name for name, _ in read.tags}
    assert not used & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a"}
    attributes = {name for _, own in read.tags for name in own}
    assert not attributes & {"src", "href", "srcset", "style", "action", "xlink:href"}
    assert not [name for name in attributes if name.startswith("on")]
    assert "http://" not in page()
    assert "https://" not in page()
    assert not re.search(r"url\(|@import|@font-face", page())


def test_the_page_forbids_the_browser_to_load_anything() -> None:
    policies = [
        own["content"]
        for tag, own in Read(page()).tags
        if tag == "meta" and own.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == [evidence.POLICY]
    assert evidence.POLICY.startswith("default-src 'none'")


def test_every_chart_is_drawn_once_with_its_title() -> None:
    read = Read(page())
    drawn = [own for tag, own in read.tags if tag == "svg" and own.get("role") == "img"]
    slices = len(finished_jobs.evidence().slices)
    assert len(drawn) == slices + 7, "search 2, race, ablation, confirmation 2, importances"
    for title in (
        "Trials over time",
        "What the trials tried",
        "Candidates, round by round",
        "Effect of each group of lines",
        "Confirmation: every block, and the running estimate",
        "Share of each parameter",
    ):
        assert title in read.text
    assert read.count("style") == 1, "one for the page and all of its charts"


@pytest.mark.parametrize("words", [HOSTILE, "]]>", "<!--", "${x}", "\ud800", "\x1b[31m"])
def test_hostile_text_never_becomes_a_tag(words: str) -> None:
    written = page(hostile(words))
    read, calm = Read(written), Read(page(hostile("calm")))
    assert {name for name, _ in read.tags} == {name for name, _ in calm.tags}
    assert read.count("svg") == calm.count("svg")
    assert "<script" not in written
    assert not re.search("[\x00\x1b\u202e\ud800]", written)
    written.encode("utf-8")


@given(st.text(max_size=80))
@settings(max_examples=examples(25), deadline=None)
def test_the_page_stays_whole_with_any_text(words: str) -> None:
    assert Read(page(hostile(words))).count("h1") == 1


@pytest.mark.parametrize("part", EVERY_PART, ids=lambda part: type(part).__name__)
def test_every_part_of_a_document_is_shown(part: Part) -> None:
    headline = evidence.compose(evidence.collect(finished_jobs.history())).headline
    section = Section(title="T", parts=(part,))
    written = evidence.page(Document(headline=headline, sections=(section,)))
    assert "shown" in written.split("<h2>T</h2>")[1]


def test_no_kind_of_part_is_forgotten() -> None:
    assert {type(part) for part in EVERY_PART} == set(get_args(Part))


def test_the_colours_follow_the_reader_and_the_printer() -> None:
    written = page()
    assert "@media (prefers-color-scheme:dark)" in written
    assert "@media print" in written
    assert "color-scheme" in written


def test_equal_jobs_make_equal_pages() -> None:
    assert page() == page()


@pytest.mark.parametrize(("count", "parameters"), [(0, 1), (1, 1), (8, 1), (100, 12)])
def test_searches_of_all_sizes_have_a_page(count: int, parameters: int) -> None:
    trials = finished_jobs.trials(count, parameters)
    found = finished_jobs.recommendation(evidence=Evidence())
    changes: dict[str, Any] = {"trials": trials, "measurements": ()}
    written = page(finished_jobs.history(found, **changes))
    assert ("Trials over time" in written) == (count > 0)
    assert Read(written).count("h1") == 1
    assert len(written) < 300_000
