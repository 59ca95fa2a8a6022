"""Every failure is one of ours: the tree of `tuner.nouns.errors`, and nothing of httpx."""

from collections.abc import Callable

import httpx
import pytest

from tests.answers import TUNE_QUEUED, TUNE_RUNNING
from tests.unit.client.scripted import Answer, ok, problem, scripted
from tuner.client import Client
from tuner.nouns.errors import (
    Conflict,
    InvalidInput,
    LimitReached,
    Mistake,
    NotFound,
    Stale,
    TunerError,
    Unavailable,
)
from tuner.service.api.problems import problem as rendered

ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, NotFound),
        (409, Conflict),
        (410, Stale),
        (429, LimitReached),
        (500, Unavailable),
        (503, Unavailable),
    ],
)
def test_a_problem_of_the_service_is_the_error_that_it_was_made_from(
    status: int, kind: type[TunerError]
) -> None:
    made = rendered(status, "that is why")
    service = scripted(httpx.Response(status, content=bytes(made.body)))
    with pytest.raises(TunerError, match="that is why") as caught:
        service.client(retries=0).recommendation("checkout")
    assert type(caught.value) is kind


def test_too_old_is_told_from_a_conflict_and_is_one() -> None:
    with pytest.raises(Conflict) as caught:
        scripted(problem(410)).client().ini("checkout", max_age_days=30)
    assert isinstance(caught.value, Stale)


def test_all_mistakes_come_back_with_their_paths() -> None:
    mistakes = [Mistake("limits.memory_gb", "unknown field"), Mistake("app", "too long")]
    body = rendered(422, "2 mistakes in the request", mistakes=mistakes).body
    with pytest.raises(InvalidInput) as caught:
        scripted(httpx.Response(422, content=bytes(body))).client().submit({"app": "x" * 99})
    assert caught.value.mistakes == tuple(mistakes)


def test_what_is_away_is_named_once() -> None:
    away = problem(503, "postgresql is away: connection refused", system="postgresql")
    with pytest.raises(Unavailable, match=r"^postgresql is away: connection refused$") as caught:
        scripted(away).client(retries=0).job(7)
    assert caught.value.system == "postgresql"


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>hello</html>", headers={"content-type": "text/html"}),
        ok(["a list"]),
        ok({"hello": "world"}),
        ok({**TUNE_RUNNING, "state": "dreaming"}),
        httpx.Response(200, content=b"\xff\xfe"),
        httpx.Response(200, content=b"[" * 100_000),
        httpx.Response(404, text="<html>nginx</html>"),
        httpx.Response(404, json={"no": "detail"}),
        httpx.Response(404, content=b"[" * 100_000),
        httpx.Response(204),
        httpx.Response(502, text=""),
        httpx.Response(418, text="teapot"),
        httpx.ConnectError,
        httpx.ReadTimeout,
        httpx.RemoteProtocolError,
        httpx.UnsupportedProtocol,
    ],
)
def test_whatever_answers_there_if_it_is_not_the_tuner_it_is_away(answer: Answer) -> None:
    with pytest.raises(Unavailable):
        scripted(answer).client(retries=0).job(7)


def test_a_body_that_is_not_what_its_header_says_is_no_answer() -> None:
    def reply(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-encoding": "gzip"}, content=b"no gzip")

    client = Client("http://tuner.test", retries=0, transport=httpx.MockTransport(reply))
    with pytest.raises(Unavailable):
        client.job(7)


def test_a_page_is_no_uwsgi_ini() -> None:
    page = httpx.Response(200, text="<html>log in</html>", headers={"content-type": "text/html"})
    with pytest.raises(Unavailable, match="it sent a page"):
        scripted(page).client().ini("checkout")
    assert scripted(page).client().report(7, "html") == "<html>log in</html>"


def test_a_redirect_is_said_and_the_key_stays_here() -> None:
    away = httpx.Response(301, headers={"location": "https://elsewhere.test/v1/jobs/7"})
    service = scripted(away)
    with pytest.raises(Unavailable, match="leads to, https://elsewhere"):
        service.client(api_key="secret").job(7)
    assert [request.url.host for request in service.seen] == ["tuner.test"]


def test_another_version_is_said_with_the_field_that_tells() -> None:
    older = {name: value for name, value in TUNE_RUNNING.items() if name != "progress"}
    with pytest.raises(Unavailable, match="another version than this client: progress: field"):
        scripted(ok(older)).client().job(7)


@pytest.mark.parametrize("url", ["", "tuner.test", "ftp://tuner.test", "http://", "http://a:b/"])
def test_what_is_no_address_is_bad_input(url: str) -> None:
    with pytest.raises(InvalidInput, match="no address"):
        Client(url)


@pytest.mark.parametrize("key", ["ключ", "a\r\nX-Other: b"])
def test_a_key_that_no_header_can_hold_is_bad_input(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Client("http://tuner.test", key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), object(), ENDLESS])
def test_a_document_that_is_no_json_is_bad_input_before_it_is_sent(value: object) -> None:
    service = scripted(ok(TUNE_QUEUED))
    with pytest.raises(InvalidInput):
        service.client().submit({"app": "x", "seed": value})
    assert not service.seen


def test_the_key_goes_along_and_is_never_shown() -> None:
    service = scripted(ok(TUNE_RUNNING))
    client = service.client(api_key="secret")
    client.job(7)
    assert service.seen[0].headers["x-api-key"] == "secret"
    assert "secret" not in repr(client)


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (lambda client: client.ini("../jobs/7"), "/v1/apps/..%2Fjobs%2F7/uwsgi.ini"),
        (lambda client: client.compose("a?b#c"), "/v1/apps/a%3Fb%23c/compose.yaml"),
        (lambda client: client.hosts("100%"), "/v1/pools/100%25/hosts"),
    ],
)
def test_a_name_is_one_segment_of_the_path(call: Callable[[Client], object], path: str) -> None:
    service = scripted(problem(404))
    with pytest.raises(NotFound):
        call(service.client())
    assert service.seen[0].url.raw_path.decode().partition("?")[0] == path
