"""Sessions of browsers: how they begin and end, and what they may change."""

import asyncio
import html
import re
import time
from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from tests.fake_store import FakeStore
from tests.filled_rows import NEW
from tests.keyed_site import KEY, Keyed, keyed_site
from tests.sites import BROWSER, Site, Visitor, token_in
from tests.stores import STORES
from tuner.nouns.model import JobState, Phase, Scope
from tuner.service.api.callers import COOKIE, LASTS_S, MOST_WRONG_KEYS, Callers, new_session
from tuner.service.pages.signing_in import _fields, _form


@pytest.fixture(scope="module", params=STORES)
def shown(request: pytest.FixtureRequest) -> Iterator[Keyed]:
    with keyed_site(request.param) as found:
        yield found


def test_the_key_in_a_form_becomes_a_session_and_leads_back(shown: Keyed) -> None:
    asked = shown.site.get("/jobs?state=queued")
    assert asked.status_code == 401
    assert 'name="next" value="/jobs?state=queued"' in asked.text
    ada = Visitor(shown.site)
    answer = ada.sign_in(KEY, next="/jobs?state=queued", name="Ada <script>")
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?state=queued")
    attributes = answer.headers["set-cookie"].lower().split("; ")
    assert {"httponly", "samesite=lax", "path=/", f"max-age={LASTS_S}"} <= {*attributes}
    assert "secure" not in attributes
    assert KEY not in answer.headers["set-cookie"]
    for path in ("/", "/jobs", "/lint", "/hosts", f"/jobs/{shown.jobs.better}", "/nowhere"):
        page = ada.get(path)
        assert page.status_code in (200, 404)
        assert "Signed in as <strong>Ada &lt;script&gt;</strong>" in page.text, path
    assert ada.get("/v1/jobs").status_code == 200
    assert ada.get("/docs").status_code == 200


def test_behind_https_the_cookie_is_sent_over_https_only(shown: Keyed) -> None:
    answer = shown.site.post("/sign-in", {"key": KEY}, origin="https://localhost")
    assert answer.status_code == 303
    assert "secure" in answer.headers["set-cookie"].lower().split("; ")


def test_below_a_base_path_the_cookie_is_sent_below_it_only(shown: Keyed) -> None:
    below = Visitor(Site(shown.store, api_key=KEY, root_path="/tuner"))
    assert 'name="next" value="/jobs"' in below.get("/jobs").text
    answer = below.sign_in(KEY, next="/jobs")
    assert answer.headers["location"] == "/tuner/jobs"
    assert "path=/tuner;" in answer.headers["set-cookie"].lower() + ";"
    assert below.get("/jobs").status_code == 200


@pytest.mark.parametrize(
    "then",
    [
        "https://elsewhere.example/",
        "//elsewhere.example",
        "/\\elsewhere.example",
        "\\\\elsewhere.example",
        "/\t/elsewhere.example",
        "\n//elsewhere.example",
        "javascript:alert(1)",
        "elsewhere.example",
        "/jobs\r\nset-cookie: a=b",
        "/jobs/\\..\\x",
        "/" + "x" * 3_000,
        "",
    ],
)
def test_no_address_leads_to_another_host_after_signing_in(shown: Keyed, then: str) -> None:
    answer = shown.site.post("/sign-in", {"key": KEY, "next": then})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    wrong = shown.site.post("/sign-in", {"key": "wrong", "next": then})
    assert 'name="next" value="/"' in wrong.text


def test_html_in_the_address_to_go_back_to_is_text(shown: Keyed) -> None:
    plant = "/jobs?a=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"
    for page in (shown.site.get(plant), shown.site.get(f"/sign-in?next={plant}")):
        assert "<script>alert" not in page.text
    raw = '/jobs?"><script>alert(1)</script>'
    page = shown.site.post("/sign-in", {"key": "wrong", "next": raw})
    assert "<script>alert" not in page.text
    assert f'value="{html.escape(raw, quote=True).replace("&quot;", "&#34;")}"' in page.text


@pytest.mark.parametrize("key", ["", "wrong", KEY[:-1], KEY + "x", "ключ", "\x00"])
def test_a_wrong_key_makes_no_session(shown: Keyed, key: str) -> None:
    answer = shown.site.post("/sign-in", {"key": key, "next": "/hosts"})
    assert answer.status_code == 401
    assert "This is not a key" in answer.text
    assert "set-cookie" not in answer.headers
    assert 'name="next" value="/hosts"' in answer.text


def test_wrong_keys_wait_and_nobody_waits_for_them() -> None:
    wait_s = 0.5
    site = Site(FakeStore(), api_key=KEY, wrong_key_takes_s=wait_s)

    async def guess() -> list[int]:
        form = {**BROWSER, "sec-fetch-site": "same-origin"}
        tries = [site.sending("POST", "/sign-in", b"key=wrong", form) for _ in range(60)]
        tries += [site.sending("GET", "/jobs", b"", {"x-api-key": "wrong"}) for _ in range(60)]
        return [answer.status_code for answer in await asyncio.gather(*tries)]

    began = time.monotonic()
    answers = asyncio.run(guess())
    assert {*answers} <= {401, 429}
    assert answers.count(401) >= MOST_WRONG_KEYS
    took_s = time.monotonic() - began
    assert wait_s <= took_s < 60 * wait_s  # one after the other, or 40 threads at once, take longer


def test_an_address_with_many_wrong_keys_has_to_wait(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, now = FakeStore(), 1000.0
    store.create_key("ci", Scope.READ, "seen before", None, by="operator")
    store.create_key("other", Scope.READ, "not yet seen", None, by="operator")
    site = Site(store, api_key=KEY)
    monkeypatch.setattr(site.app.state.services.wrong_keys, "now", lambda: now)

    def status(key: str) -> int:
        return site.send("GET", "/v1/jobs", headers={"x-api-key": key}).status_code

    assert status("seen before") == 200
    for _ in range(MOST_WRONG_KEYS // 2):
        assert status("wrong") == 401
        assert site.post("/sign-in", {"key": "wrong"}).status_code == 401
    assert "a wrong key from 127.0.0.1 for POST '/sign-in'" in caplog.text
    assert status("wrong") == 429
    assert status("not yet seen") == 429
    assert status("seen before") == 200
    refused = site.post("/sign-in", {"key": KEY})
    assert refused.status_code == 429
    assert "Wait a minute" in refused.text
    now += 61
    assert status("not yet seen") == 200
    assert site.post("/sign-in", {"key": KEY}).status_code == 303


def test_a_name_holds_nothing_that_a_terminal_obeys(shown: Keyed) -> None:
    ada = Visitor(shown.site)
    assert ada.sign_in(KEY, name="Ada\x00\x1b[2J\u202eevil").status_code == 303
    assert "Signed in as <strong>Ada\ufffd\ufffd[2J\ufffdevil</strong>" in ada.get("/").text
    newest = shown.site.send("GET", "/v1/audit", headers={"x-api-key": KEY}).json()["entries"][0]
    assert newest["who"] == "Ada\ufffd\ufffd[2J\ufffdevil (TUNER_API_KEY)"


def test_a_form_of_nobody_yet_is_short(shown: Keyed) -> None:
    large = {"key": KEY, "name": "x" * 20_000}
    assert shown.site.post("/sign-in", large).status_code == 413


def test_a_cookie_that_is_not_ours_is_no_session(
    shown: Keyed, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers = Callers(KEY, shown.store)
    good = callers.signed(new_session("Ada"))
    assert callers.session_in(good) is not None
    payload, stamp, signature = good.rsplit(".", 2)
    other = Callers("the key before", shown.store).signed(new_session("Eve"))
    elsewhere = Callers(KEY, FakeStore()).signed(new_session("Eve"))
    forged = f"{other.rsplit('.', 2)[0]}.{stamp}.{signature}"
    changed = f"{payload}.{stamp}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
    for cookie in (
        "",
        "x",
        "a.b.c",
        payload,
        f"{payload}.{stamp}",
        forged,
        changed,
        other,
        elsewhere,
    ):
        page = shown.site.get("/jobs", cookie=f"{COOKIE}={cookie}")
        assert page.status_code == 401, cookie
        assert "Your session has ended. Sign in again." in page.text
    now = time.time()
    for at in (now + LASTS_S + 1, now - 60):  # too old; from the future
        with monkeypatch.context() as clock:
            clock.setattr("itsdangerous.timed.time.time", lambda at=at: at)
            assert callers.session_in(good) is None
    with monkeypatch.context() as clock:
        clock.setattr("itsdangerous.timed.time.time", lambda: now + LASTS_S - 1)
        assert callers.session_in(good) is not None


def test_signing_out_forgets_the_session(shown: Keyed) -> None:
    ada = shown.visitor()
    assert "Signed in with the key" in ada.get("/jobs").text
    assert ada.post("/sign-out", {}).status_code == 403
    answer = ada.post("/sign-out", {"token": ada.token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert f'{COOKIE}="";' in answer.headers["set-cookie"]
    assert "Max-Age=0" in answer.headers["set-cookie"]


def test_another_session_never_gets_the_page_of_the_one_before_as_unchanged(shown: Keyed) -> None:
    ada, eve = shown.visitor(), shown.visitor()
    for path in ("/lint", f"/jobs/{shown.jobs.running[Phase.RACE]}"):
        tag = ada.get(path).headers["etag"]
        assert ada.get(path, **{"if-none-match": tag}).status_code == 304
        assert eve.get(path, **{"if-none-match": tag}).status_code == 200
        assert shown.site.get(path, **{"if-none-match": tag}).status_code == 401


def test_without_a_key_there_is_nothing_to_sign_in_to() -> None:
    site = Site(FakeStore())
    assert "Sign in" not in site.get("/jobs").text
    for answer in (
        site.get("/sign-in?next=/hosts"),
        site.post("/sign-in", {"key": "x", "next": "/hosts"}),
    ):
        assert (answer.status_code, answer.headers["location"]) == (303, "/hosts")
        assert "set-cookie" not in answer.headers


# ---- what a session may change


def test_a_form_needs_the_token_of_its_own_session(shown: Keyed) -> None:
    job = shown.store.create_job(shown.store.job(shown.jobs.queued).spec, **NEW)[0].job.id
    ada, eve = shown.visitor(), shown.visitor()
    path = f"/jobs/{job}/cancel"
    assert ada.token != eve.token
    assert ada.post(path, {}).status_code == 403
    for token in ("", "x", "ключ", eve.token):
        refused = ada.post(path, {"token": token})
        assert refused.status_code == 403
        assert "open its page again" in refused.text
    right = {"token": ada.token}
    cross = {"sec-fetch-site": "cross-site", "origin": "https://elsewhere.example"}
    assert ada.post(path, right, **cross).status_code == 403
    assert shown.site.post(path, right).status_code == 401  # no cookie
    assert shown.store.job(job).state is JobState.QUEUED
    assert ada.post(path, right).status_code == 303
    assert shown.store.job(job).state is JobState.CANCELLED


def test_a_cookie_alone_changes_nothing_below_v1(shown: Keyed) -> None:
    job = shown.store.create_job(shown.store.job(shown.jobs.queued).spec, **NEW)[0].job.id
    ada, eve = shown.visitor(), shown.visitor()
    path, cookie = f"/v1/jobs/{job}/cancel", {"cookie": ada.cookie}
    assert shown.site.send("POST", path, headers=cookie).status_code == 403
    for token in ("", "x", eve.token):
        refused = shown.site.send("POST", path, headers={**cookie, "x-csrf-token": token})
        assert refused.status_code == 403
        assert "X-CSRF-Token" in refused.json()["detail"]
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert shown.site.send(method, f"/v1/jobs/{job}", headers=cookie).status_code == 403
    assert shown.store.job(job).state is JobState.QUEUED
    right = {**cookie, "x-csrf-token": ada.token}
    assert shown.site.send("POST", path, headers=right).status_code == 200
    by_key = shown.site.send("POST", path, headers={"x-api-key": KEY})
    assert by_key.status_code == 200


def test_every_form_of_a_page_has_the_token_and_every_route_for_forms_looks_at_it(
    shown: Keyed,
) -> None:
    ada = shown.visitor()
    shown.link(shown.jobs.running[Phase.RACE])
    for path in ("/", "/jobs", "/lint", *(f"/jobs/{job}" for job in shown.jobs.all)):
        text = ada.get(path).text
        forms = re.findall(r'<form[^>]*method="post".*?</form>', text, re.DOTALL)
        assert forms, path
        assert [token_in(form) for form in forms] == [ada.token] * len(forms), path
    looked_at = 0
    for each in iter_route_contexts(shown.site.app.routes):
        route = each.original_route
        if isinstance(route, APIRoute) and not route.path.startswith("/v1/") and _changes(route):
            asked = {each.call for each in route.dependant.dependencies}
            assert (_fields if route.path == "/sign-in" else _form) in asked, route.path
            looked_at += 1
    assert looked_at >= 5


def _changes(route: APIRoute) -> bool:
    return bool({*(route.methods or ())} - {"GET", "HEAD", "OPTIONS"})
