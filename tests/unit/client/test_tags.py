"""What has not changed is not sent again; what has is never taken for the old."""

import json

import httpx
import pytest

from tests.answers import INI, RECOMMENDATION, REPORT, TUNE_QUEUED, TUNE_RUNNING
from tests.unit.client.scripted import ok, scripted
from tuner.client.wire import Remembered
from tuner.nouns.errors import NotFound, Unavailable

UNCHANGED = httpx.Response(304)


def test_who_asks_again_shows_the_tag_and_keeps_the_answer() -> None:
    service = scripted(ok(TUNE_RUNNING, etag='W/"1"'), UNCHANGED)
    with service.client() as client:
        first = client.job(7)
        assert client.job(7) is first
    assert [request.headers.get("if-none-match") for request in service.seen] == [None, 'W/"1"']


def test_a_change_is_read_with_its_new_tag() -> None:
    service = scripted(ok(TUNE_QUEUED, etag='"1"'), ok(TUNE_RUNNING, etag='"2"'), UNCHANGED)
    with service.client() as client:
        assert [client.job(7).state for _ in range(3)] == ["queued", "running", "running"]
    assert service.seen[2].headers["if-none-match"] == '"2"'


def test_an_answer_without_a_tag_forgets_the_one_before() -> None:
    service = scripted(ok(TUNE_QUEUED, etag='"1"'), ok(TUNE_RUNNING))
    with service.client() as client:
        for _ in range(3):
            client.job(7)
    assert "if-none-match" not in service.seen[2].headers


def test_each_form_and_condition_has_a_tag_of_its_own() -> None:
    text = httpx.Response(200, text=INI, headers={"etag": '"patched"'})
    service = scripted(text)
    with service.client() as client:
        client.ini("checkout")
        client.ini("checkout", "overlay")
        client.ini("checkout", require="better")
        client.ini("checkout")
    tags = [request.headers.get("if-none-match") for request in service.seen]
    assert tags == [None, None, None, '"patched"']


def test_one_address_may_be_read_in_two_ways() -> None:
    report = ok(REPORT, etag='"1"')
    service = scripted(report, report, UNCHANGED, UNCHANGED)
    with service.client() as client:
        text, read = client.report(7, "json"), client.tune_report(7)
        assert client.report(7, "json") is text
        assert client.tune_report(7) is read
    assert json.loads(text)["provenance"]["pool"] == read.provenance.pool


def test_a_text_comes_back_to_the_last_byte() -> None:
    ini = "[uwsgi]\r\n# größer\r\nprocesses = 4"
    service = scripted(
        httpx.Response(200, content=ini.encode(), headers={"content-type": "text/plain"})
    )
    assert service.client().ini("checkout") == ini


def test_unchanged_without_having_been_asked_is_a_fault_of_whoever_answers() -> None:
    with pytest.raises(Unavailable, match="304"):
        scripted(UNCHANGED).client().recommendation(7)


def test_a_problem_does_not_forget_what_was_known() -> None:
    gone = httpx.Response(404, json={"detail": "not now"})
    service = scripted(ok(RECOMMENDATION, etag='"1"'), gone, UNCHANGED)
    with service.client() as client:
        first = client.recommendation("checkout")
        with pytest.raises(NotFound):
            client.recommendation("checkout")
        assert client.recommendation("checkout") is first


def test_only_the_latest_answers_are_kept() -> None:
    known = Remembered(size=2)
    for address in ("a", "b", "a", "c"):
        if known.get(address) is None:
            known.keep(address, '"1"', address)
    assert known.get("b") is None
    assert (known.get("a"), known.get("c")) == (('"1"', "a"), ('"1"', "c"))
    assert len(known) == 2


def test_a_long_polled_client_does_not_grow() -> None:
    service = scripted(ok(TUNE_RUNNING, etag='"1"'))
    with service.client() as client:
        for number in range(1, 500):
            client.job(number)
        assert len(client._wire._remembered) == 64
