"""Read-only links: what they show to anybody, and what they do not."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.keyed_site import KEY, Keyed, keyed_site
from tests.sites import BROWSER
from tests.stores import STORES
from tuner.nouns.model import Phase
from tuner.service.api.callers import COOKIE


@pytest.fixture(scope="module", params=STORES)
def shown(request: pytest.FixtureRequest) -> Iterator[Keyed]:
    with keyed_site(request.param) as found:
        yield found


def links_in(page: str) -> list[str]:
    """Addresses that a page leads to or asks."""
    return re.findall(r'(?:href|src|action|hx-get)="([^"]*)"', page)


def test_a_link_shows_its_job_read_only_to_anybody(shown: Keyed) -> None:
    for job in (shown.jobs.better, shown.jobs.compared, shown.jobs.running[Phase.SEARCH]):
        path = shown.link(job)
        answer = shown.site.get(path)
        assert answer.status_code == 200
        assert answer.headers["x-robots-tag"] == "noindex"
        assert '<meta name="robots" content="noindex">' in answer.text
        assert "<form" not in answer.text
        assert "<nav" not in answer.text
        assert "/cancel" not in answer.text
        outside = [to for to in links_in(answer.text) if not to.startswith(("#", "/static/"))]
        assert all(to.startswith(f"{path}/") for to in outside), outside
        for to in {*outside}:
            assert shown.site.get(to).status_code == 200, to
        parts = shown.site.get(f"{path}/parts")
        assert parts.text.startswith('<div id="job"')
        tag = parts.headers["etag"]
        assert shown.site.get(f"{path}/parts", **{"if-none-match": tag}).status_code == 304


def test_the_tables_of_a_link_are_those_of_its_job(shown: Keyed) -> None:
    path, ada = shown.link(shown.jobs.better), shown.visitor()
    own = f"/jobs/{shown.jobs.better}"
    for name in ("the-search", "the-race"):
        assert shown.site.get(f"{path}/tables/{name}.csv").content == (
            ada.get(f"{own}/tables/{name}.csv").content
        )
        page = shown.site.get(f"{path}/tables/{name}")
        assert page.status_code == 200
        assert all(to.startswith(("#", "/static/", path)) for to in links_in(page.text))
    assert shown.site.get(f"{path}/tables/none").status_code == 404
    assert shown.site.get(f"{path}/tables/the-search?page=-1").status_code == 422


def test_a_link_to_one_job_opens_no_other(shown: Keyed) -> None:
    path, other = shown.link(shown.jobs.better), shown.jobs.kept
    token = path.rpartition("/")[2]
    for wanted in (
        f"/jobs/{other}",
        f"/jobs/{shown.jobs.better}",
        f"/jobs/{other}?token={token}",
        f"/v1/jobs/{shown.jobs.better}",
        f"/v1/jobs/{other}/report",
        "/v1/events",
        "/jobs",
        "/",
    ):
        assert shown.site.get(wanted).status_code == 401, wanted
        assert shown.site.get(wanted, **{"x-api-key": token}).status_code == 401, wanted
        assert shown.site.get(wanted, cookie=f"{COOKIE}={token}").status_code == 401, wanted
    for wanted in (
        f"{path}/jobs/{other}",
        f"{path}/{other}",
        f"{path}/..%2F..%2Fjobs%2F{other}",
        f"/shared/%2E%2E/jobs/{other}",
        f"{path}/cancel",
        f"/shared/{other}",
        f"/shared/{token[:-1]}",
        "/shared/",
    ):
        assert shown.site.get(wanted).status_code == 404, wanted
    for method in ("POST", "DELETE"):
        assert shown.site.send(method, path, headers=BROWSER).status_code == 405


def test_a_revoked_link_leads_nowhere_and_says_so(shown: Keyed) -> None:
    job = shown.jobs.compared
    first, second = shown.link(job), shown.link(job)
    ada = shown.visitor()
    text = ada.get(f"/jobs/{job}").text
    assert first not in text
    numbers = re.findall(r'action="(/jobs/\d+/links/\d+/revoke)"', text)
    before = ada.get(f"/jobs/{job}").headers["etag"]
    assert ada.post(numbers[-2], {}).status_code == 403
    assert shown.site.get(first).status_code == 200
    done = ada.post(numbers[-2], {"token": ada.token})
    assert (done.status_code, done.headers["location"]) == (303, f"/jobs/{job}#links")
    assert ada.get(f"/jobs/{job}", **{"if-none-match": before}).status_code == 200
    for path in (first, f"{first}/parts", f"{first}/tables/figures"):
        gone = shown.site.get(path)
        assert gone.status_code == 404
        assert "it was revoked, or its time is over" in gone.text
        assert "Ask for a new one" in gone.text
        assert 'href="/jobs"' not in gone.text
    assert shown.site.get(second).status_code == 200
    assert ada.post(numbers[-2], {"token": ada.token}).status_code == 404


def test_links_have_calls_that_say_the_same(shown: Keyed) -> None:
    key, own = {"x-api-key": KEY}, f"/v1/jobs/{shown.jobs.kept}/links"
    assert shown.site.send("POST", own).status_code == 401
    made = shown.site.send("POST", f"{own}?days=0.5", headers=key)
    assert made.status_code == 201
    link = made.json()
    assert link["path"].startswith("/shared/")
    assert shown.site.get(link["path"]).status_code == 200
    listed = shown.site.send("GET", own, headers=key).json()["links"]
    assert [{**each, "path": link["path"]} for each in listed] == [link]
    assert shown.site.send("DELETE", f"{own}/{link['id']}", headers=key).status_code == 204
    assert shown.site.get(link["path"]).status_code == 404
    assert shown.site.send("DELETE", f"{own}/{link['id']}", headers=key).status_code == 404
    assert shown.site.send("GET", "/v1/jobs/999999/links", headers=key).status_code == 404
    assert shown.site.send("POST", "/v1/jobs/999999/links", headers=key).status_code == 404
    assert shown.site.send("POST", f"{own}?days=-1", headers=key).status_code == 422


def test_every_link_ends(shown: Keyed) -> None:
    key = {"x-api-key": KEY}
    own = f"/v1/jobs/{shown.jobs.better}/links"
    made = shown.site.send("POST", own, headers=key).json()
    lasts = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=29.9) < lasts < timedelta(days=30.1)
    refused = shown.site.send("POST", f"{own}?days=366", headers=key)
    assert refused.status_code == 422
    assert "allows 365 days (TUNER_LINK_DAYS)" in refused.json()["mistakes"][0]["message"]


def test_a_form_for_a_link_takes_the_days_that_it_offers(shown: Keyed) -> None:
    ada = shown.visitor()
    path = f"/jobs/{shown.jobs.kept}/links"
    assert ada.post(path, {"token": ada.token, "days": "1e9"}).status_code == 422
    made = ada.post(path, {"token": ada.token, "days": ""}, origin="https://localhost")
    assert re.search(r"It works until .*, or until it is revoked\.", made.text)
    assert 'value="https://localhost/shared/' in made.text
