"""Every page over filled rows, on the store in memory and on the one in PostgreSQL."""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from tests import builders, finished_jobs
from tests.fake_store import FakeStore
from tests.filled_rows import DRIFT, Filled, fill, hosts
from tests.planting import PLANT, planted
from tests.sites import Site
from tests.stores import STORES, store_of
from tuner.nouns.model import Doubt, EventKind, JobState, Phase, Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A site with its rows."""

    site: Site
    store: Any
    jobs: Filled
    below: Site  # the same under a base path


def _shown(kind: str, **of: Any) -> Iterator[Shown]:
    with store_of(kind) as store:
        below = Site(store, root_path="/tuner")
        yield Shown(site=Site(store), store=store, jobs=fill(store, **of), below=below)


@pytest.fixture(scope="module", params=STORES)
def shown(request: pytest.FixtureRequest) -> Iterator[Shown]:
    yield from _shown(request.param)


@pytest.fixture(scope="module", params=STORES)
def hostile(request: pytest.FixtureRequest) -> Iterator[Shown]:
    """The same with HTML in every text."""
    yield from _shown(request.param, of=planted)


class Page(HTMLParser):
    """What a test looks at: addresses, ids, labels and attributes of a page."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.feed(answer.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value))
            if name in ("href", "src", "action", "data-from", "hx-post") and value is not None:
                self.links.append(value)
            if name == "id" and value is not None:
                self.ids.append(value)


def paths_of(jobs: Filled) -> list[str]:
    """The address of every page."""
    tables = [
        f"/jobs/{jobs.better}/tables/the-search",
        f"/jobs/{jobs.running[Phase.RACE]}/tables/the-race",
    ]
    apps = ["/apps/checkout", f"/apps/checkout?left={jobs.better}-new&right={jobs.better}-yours"]
    known = ["/options", "/options/processes", "/rules", "/rules/U019", "/spaces"]
    lists = ["/", "/jobs", "/jobs?state=queued&kind=tune", "/lint", "/hosts", "/spaces/default"]
    lists += ["/new", "/new?target_app=mixed"]
    return [*lists, *known, *apps, *tables, *(f"/jobs/{job}" for job in jobs.all)]


def test_every_page_is_whole_and_leads_to_pages_and_calls_that_answer(shown: Shown) -> None:
    seen: dict[str, int] = {}
    for path in paths_of(shown.jobs):
        answer = shown.site.get(path)
        assert answer.status_code == 200, (path, answer.text)
        page = Page(answer)
        assert answer.text.rstrip().endswith("</html>"), path
        assert "Undefined" not in answer.text
        assert {"main", "nav", "h1", "footer"} <= {*page.tags}, path
        assert len(page.ids) == len({*page.ids}), (path, page.ids)
        for link in page.links:
            assert link.startswith(("/", "#")), (path, link)
            target = link.partition("#")[0]
            if target and not target.endswith(("/cancel", "/finish", "/links", "/v1/lint")):
                seen.setdefault(target, 0)
    for link in seen:
        assert shown.site.send("GET", link).status_code == 200, link


def test_every_page_says_which_call_says_the_same(shown: Shown) -> None:
    for path in paths_of(shown.jobs):
        footer = shown.site.get(path).text.partition("<footer>")[2]
        if path.startswith(("/options", "/rules")):
            assert "The same in a terminal: <code>tuner " in footer
        else:
            assert re.search(r'The same for programs:\s*<a href="/v1/', footer), path


def test_the_policy_lets_nothing_run_that_is_not_a_file_of_ours(shown: Shown) -> None:
    for path in [*paths_of(shown.jobs), "/nowhere"]:
        answer = shown.site.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "worker-src 'self';" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        page = Page(answer)
        assert "style" not in page.tags, path
        inline = [name for _, name, _ in page.attributes if name.startswith("on")]
        assert not [*inline, *(name for _, name, _ in page.attributes if name == "style")], path
        assert re.findall(r"<script(?! defer src=\"/static/)", answer.text) == [], path


def test_below_a_base_path_every_address_has_it(shown: Shown) -> None:
    for path in paths_of(shown.jobs):
        answer = shown.below.get(path)
        assert answer.status_code == 200, path
        links = [link for link in Page(answer).links if not link.startswith("#")]
        assert links
        assert all(link.startswith("/tuner/") for link in links), path
    moved = shown.below.post(f"/jobs/{shown.jobs.cancelled}/cancel", {})
    assert moved.headers["location"] == f"/tuner/jobs/{shown.jobs.cancelled}"


def test_html_in_any_text_is_text(hostile: Shown) -> None:
    jobs, site = hostile.jobs, hostile.site
    assert PLANT.startswith("<script>alert(")
    pages = [path for path in paths_of(jobs) if path.startswith(("/jobs", "/apps", "/hosts"))]
    for path in ["/", *pages]:
        answer = site.get(path)
        assert answer.status_code == 200, (path, answer.text)
        assert "<script>alert" not in answer.text, path
        if not path.endswith(("the-race", *(f"/{job}" for job in jobs.running.values()))):
            assert "&lt;script&gt;alert(" in answer.text, path
    linted = site.post("/lint", {"ini": f"[uwsgi]\n{PLANT} = {PLANT}\n"})
    assert "<script>alert" not in linted.text
    assert "&lt;script&gt;alert(" in linted.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nowhere", 404),
        ("/jobs/999999", 404),
        ("/jobs/0", 422),
        ("/jobs/abc", 422),
        ("/jobs?after=-1", 422),
        ("/jobs?state=lost", 422),
        ("/?limit=0", 422),
        (f"/apps/{'a' * 200}", 422),
        ("/apps/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 404),
        ("/apps/%3Cscript%3Ealert(1)", 422),
        ("/apps/nobody", 404),
        ("/apps/checkout?left=x", 422),
        ("/apps/checkout?left=999999-new", 404),
        ("/options/%3Cscript%3E", 404),
        ("/rules/U999", 404),
        ("/spaces/none", 404),
        ("/static/none.js", 404),
    ],
)
def test_a_wrong_address_is_a_page_for_people_and_a_problem_for_programs(
    shown: Shown, path: str, status: int
) -> None:
    page = shown.site.get(path)
    assert page.status_code == status
    assert page.headers["content-type"].startswith("text/html")
    assert f"({status})" in page.text
    assert "<script>alert" not in page.text
    assert '<a href="/jobs">Jobs</a>' in page.text
    answer = shown.site.send("GET", path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_page_of_a_table_says_how_many_pages_there_are(shown: Shown) -> None:
    path = f"/jobs/{shown.jobs.better}/tables/the-search"
    assert "Page 1 of 1" in shown.site.get(path).text
    assert shown.site.get(f"{path}?page=-1").status_code == 422
    assert shown.site.get(f"{path}?page=2").status_code == 404
    assert shown.site.get(f"/jobs/{shown.jobs.better}/tables/none").status_code == 404


def test_the_figures_of_each_chart_are_there_as_csv(shown: Shown) -> None:
    page = Page(shown.site.get(f"/jobs/{shown.jobs.better}"))
    found = [link for link in page.links if link.endswith(".csv")]
    assert {link.rpartition("/")[2] for link in found} >= {
        "the-search.csv",
        "the-race.csv",
        "the-confirmation.csv",
        "what-each-line-contributes.csv",
    }
    for link in found:
        answer = shown.site.get(link)
        assert answer.headers["content-type"].startswith("text/csv")
        assert len(list(csv.reader(io.StringIO(answer.text)))) > 1, link


def test_a_running_job_shows_what_its_phase_has_shown_so_far(shown: Shown) -> None:
    titles = {
        Phase.SEARCH: "Trials as they come",
        Phase.RACE: "The race",
        Phase.ABLATE: "What each line contributes",
        Phase.CONFIRM: "The confirmation",
    }
    for phase, title in titles.items():
        text = shown.site.get(f"/jobs/{shown.jobs.running[phase]}").text
        assert f"<h2>{title}</h2>" in text, phase
        assert f'data-job="{shown.jobs.running[phase]}" data-pool="{phase.value}"' in text
        assert 'aria-current="step"' in text
        assert f"{phase.value}</li>" in text
        assert "hero" not in text


def test_a_comparison_shows_the_figures_of_its_blocks_so_far_and_no_verdict(shown: Shown) -> None:
    job = shown.jobs.running[Phase.COMPARE]
    text = shown.site.get(f"/jobs/{job}").text
    assert "After 5 of 6 rounds; a verdict needs them all." in text
    for title in ("Against p2.ini", "In percent of p2.ini, rung by rung", "Requests per second"):
        assert f"<h2>{title}</h2>" in text
    assert text.count("<svg") > 3
    assert "1 000 connections" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "verdict</th>" not in text
    words = text.replace("worse ← 0 → better", "")  # the scale of the pictures
    assert all(word not in words for word in ("better", "no difference", "inconclusive"))
    figures = shown.site.get(f"/jobs/{job}/tables/requests-per-second.csv").text
    assert [row[0] for row in csv.reader(io.StringIO(figures))][:4] == [
        "arm",
        "p2.ini",
        "p4.ini",
        "p8.ini",
    ]


def test_pages_of_what_changes_ask_again_after_its_events(shown: Shown) -> None:
    for path in ("/", "/jobs", "/hosts", f"/jobs/{shown.jobs.queued}"):
        answer = shown.site.get(path)
        page = Page(answer)
        live = {name: value for _, name, value in page.attributes if name.startswith("data-")}
        assert {*str(live["data-live"]).split()} <= {*EventKind}, path
        assert shown.site.get(str(live["data-from"])).status_code == 200
        sources = [str(value) for tag, name, value in page.attributes if name == "src"]
        assert [source.partition("?")[0] for source in sources][-2:] == [
            "/static/events.js",
            "/static/page.js",
        ]
        assert "every " not in "".join(str(v) for _, n, v in page.attributes if n == "hx-trigger")


def test_the_live_chart_has_a_point_with_its_interval_for_each_trial(shown: Shown) -> None:
    job_id = shown.jobs.running[Phase.SEARCH]
    page = Page(shown.site.get(f"/jobs/{job_id}"))
    plot = next(json.loads(str(value)) for _, name, value in page.attributes if name == "data-plot")
    trials = shown.site.send("GET", f"/v1/jobs/{job_id}/trials").json()["trials"]
    tried = [trial for trial in trials if trial["number"] > 0]
    assert plot["x"] == [trial["number"] for trial in tried]
    scored = [(at, trial) for at, trial in enumerate(tried) if trial["ratio"] is not None]
    assert len(scored) >= 5
    for at, trial in scored:
        gain = plot["gain"][at] if plot["gain"][at] is not None else plot["broken"][at]
        assert gain == pytest.approx(100 * (trial["ratio"] - 1), abs=0.01)
        assert plot["low"][at] < gain < plot["high"][at]
    assert plot["best"][-1] == max(gain for gain in plot["gain"] if gain is not None)


def test_parts_come_again_only_after_a_change(shown: Shown) -> None:
    path = f"/jobs/{shown.jobs.running[Phase.SEARCH]}/parts"
    first = shown.site.get(path)
    assert first.text.startswith('<div id="job" data-etag=')
    assert "<html" not in first.text
    tag = first.headers["etag"]
    again = shown.site.get(path, **{"if-none-match": tag})
    assert (again.status_code, again.text) == (304, "")
    assert shown.site.get(path, **{"if-none-match": 'W/"other"'}).status_code == 200


def test_a_job_that_has_ended_asks_no_more(shown: Shown) -> None:
    for job in (shown.jobs.better, shown.jobs.failed, shown.jobs.cancelled, shown.jobs.compared):
        text = shown.site.get(f"/jobs/{job}").text
        assert "data-live" not in text
        assert "/cancel" not in text


def test_the_answer_stands_above_its_evidence(shown: Shown) -> None:
    text = shown.site.get(f"/jobs/{shown.jobs.better}").text
    assert "Deploy the new file" in text
    assert text.index("+9.8") < text.index("What changes") < text.index("The confirmation")
    assert "postgres" in text


def test_cancel_wants_a_form_of_one_of_our_pages(shown: Shown) -> None:
    job = shown.jobs.queued
    path = f"/jobs/{job}/cancel"
    assert shown.site.get(path).status_code == 405
    bare = {"content-type": "application/x-www-form-urlencoded"}
    assert shown.site.send("POST", path, b"", bare).status_code == 403
    other = {**bare, "origin": "https://elsewhere.example"}
    assert shown.site.send("POST", path, b"", other).status_code == 403
    assert shown.site.post(path, {}, **{"sec-fetch-site": "cross-site"}).status_code == 403
    assert shown.store.job(job).state is JobState.QUEUED
    done = shown.site.post(path, {}, origin="http://localhost")
    assert (done.status_code, done.headers["location"]) == (303, f"/jobs/{job}")
    assert shown.store.job(job).state is JobState.CANCELLED
    late = shown.site.post(f"/jobs/{shown.jobs.better}/cancel", {})
    assert late.status_code == 409
    assert "cannot be cancelled" in late.text


def test_an_app_shows_the_diff_between_any_two_files(shown: Shown) -> None:
    text = shown.site.get("/apps/checkout").text
    assert '<span class="added">+processes = 6</span>' in text
    assert '<span class="removed">-processes = 2</span>' in text
    better = shown.jobs.better
    back = shown.site.get(f"/apps/checkout?left={better}-new&right={better}-yours").text
    assert '<span class="added">+processes = 2</span>' in back
    same = shown.site.get(f"/apps/checkout?left={better}-new&right={better}-new").text
    assert "The two files are equal" in same


def test_an_answer_names_its_image_by_the_start_of_its_hash(shown: Shown) -> None:
    text = shown.site.get("/apps/checkout").text
    assert f'title="{builders.FACTS.image_digest}">{"0f" * 6}</code>' in text


def test_apps_have_their_answers_over_time(shown: Shown) -> None:
    text = shown.site.get("/").text
    assert "effects, the oldest first: +3.0 %, -6.0 %, +5.0 %, +9.8 %" in text
    listed = shown.site.send("GET", "/v1/apps").json()["apps"]
    checkout = next(app for app in listed if app["app"] == "checkout")
    assert [answer["effect"]["estimate"] for answer in checkout["answers"]] == [
        0.098,
        0.05,
        -0.06,
        0.03,
    ]
    assert shown.site.send("GET", "/v1/apps/checkout").json() == checkout


def test_apps_say_what_checks_found_where_they_are_deployed(shown: Shown) -> None:
    drift = f"The deployed file has another effect: {DRIFT}"
    gate = "The recommended file holds on a new image"
    apps, app = shown.site.get("/").text, shown.site.get("/apps/checkout").text
    assert drift in apps
    assert gate not in apps
    assert drift in app
    assert gate in app
    found = shown.site.send("GET", "/v1/apps/checkout").json()["checks"]
    assert [(check["checker"], check["holds"]) for check in found] == [
        ("gate", True),
        ("recommend", False),
    ]


def test_hosts_say_what_keeps_them_from_measuring(shown: Shown) -> None:
    hosts(shown.store, lambda noun: noun)  # seen just now, however long the tests before took
    text = shown.site.get("/hosts").text
    assert "docker is away: no such file" in text
    assert "cannot measure" in text
    assert "ready" in text


def test_lint_shows_each_finding_at_its_line_and_the_fixes_as_a_diff(shown: Shown) -> None:
    ini = "[uwsgi]\r\nhttp-socket = :8000\r\nmodule = app\r\nprocesses = 2 ; two\r\n"
    text = shown.site.post("/lint", {"ini": ini, "cpus": "", "memory_mb": "64"}).text
    assert re.search(r'<li value="4" class="found"><code>processes = 2 ; two</code>', text)
    assert '<span class="added">+; two</span>' in text
    wrong = shown.site.post("/lint", {"ini": ini, "cpus": "many"}).text
    assert 'role="alert"' in wrong
    assert "limits.cpus" in wrong


def test_without_any_job_the_first_page_says_what_to_do() -> None:
    site = Site(FakeStore())
    assert "target_app: mixed" in site.get("/").text
    assert "tuner worker" in site.get("/hosts").text
    assert "Nothing runs" in site.get("/jobs").text


@pytest.mark.parametrize("kind", STORES)
def test_jobs_that_wait_are_listed_in_their_order(kind: str) -> None:
    with store_of(kind) as store:
        for priority in (Priority.NIGHTLY, Priority.INTERACTIVE):
            asked = builders.spec(priority=priority)
            store.create_job(asked, idempotency_key=priority, request_sha256="")
        text = Site(store).get("/jobs").text
        first, second = (store.jobs()[place].id for place in (0, 1))
        assert text.index(f"Job {first}<") < text.index(f"Job {second}<")


@pytest.mark.parametrize("kind", STORES)
def test_an_answer_that_is_not_true_for_production_is_marked(kind: str) -> None:
    mark = "measured with services on the app&#39;s cpu: measure again."
    with store_of(kind) as store:
        site = Site(store)

        def marked(*pages: str) -> list[str]:
            return [page for page in pages if mark in site.get(page).text.lower()]

        old = finished_jobs.recommendation(doubts=(Doubt.SERVICES_SHARE_CPUS,))
        first = finished_jobs.stored(store, old, app="shop")
        pages = ["/", "/apps/shop", f"/jobs/{first}"]
        assert marked(*pages) == pages
        second = finished_jobs.stored(store, finished_jobs.recommendation(), app="shop")
        assert marked("/", f"/jobs/{second}") == []
        assert marked("/apps/shop") == ["/apps/shop"]  # in the list of its answers
