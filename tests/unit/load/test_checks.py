"""Workloads that are refused before minutes are spent on them."""

import pytest

from tests.unit.load.findings import TARGET, Scripted, answered
from tuner.bench.load import checks
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import Burst, ClosedLoop, FailureCode, HttpRequest, Upload

FINE = HttpRequest(path="/fine")
MISSING = HttpRequest(path="/missing", method="POST")


def test_more_connections_than_open_files_are_refused() -> None:
    running = Scripted(None, client_nofile=1100)
    checks.check_open_files(running, ClosedLoop(concurrency=1000))
    with pytest.raises(TargetFailed, match="at most 1000") as failed:
        checks.check_open_files(running, Burst(kind="burst", users=1001))
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED


def test_the_first_request_that_fails_is_named() -> None:
    running = Scripted(answered(200, 404))
    with pytest.raises(TargetFailed, match="POST /missing is answered with 404, not with 2xx"):
        checks.check_answers(running, TARGET, [FINE, MISSING])
    assert [each["path"] for each in running.asked[0][1]["requests"]] == ["/fine", "/missing"]


def test_a_form_is_tried_with_its_own_body_and_type() -> None:
    running = Scripted(answered(200, 200))
    form = HttpRequest(method="POST", form={"a": "b"})
    upload = form.model_copy(update={"upload": {"f": Upload(name="f.txt", size_kb=1)}})
    checks.check_answers(running, TARGET, [form, upload])
    first, second = running.asked[0][1]["requests"]
    assert first["body"] == "a=b"
    assert first["headers"] == {"Content-Type": "application/x-www-form-urlencoded"}
    assert "x" * 1024 in second["body"]
    assert second["headers"]["Content-Type"].startswith("multipart/form-data; boundary=")


@pytest.mark.parametrize(
    ("expect", "answer", "is_fine"),
    [
        *[(None, 204, True), (None, 302, False), (None, 500, False)],
        *[(404, 404, True), (404, 200, False), (None, "connection reset", False)],
    ],
)
def test_a_redirect_is_no_success_and_an_expected_status_is(
    expect: int | None, answer: int | str, is_fine: bool
) -> None:
    assert checks.is_expected(HttpRequest(expect=expect), answer) is is_fine


def test_a_long_list_is_tried_in_part() -> None:
    running = Scripted(answered(*[200] * checks.TRIED))
    checks.check_answers(running, TARGET, [FINE] * 500)
    assert len(running.asked[0][1]["requests"]) == checks.TRIED


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("endless", "neither a length nor chunks"),
        ("failed", "POST /missing is not answered: connection reset"),
    ],
)
def test_keep_alive_that_cannot_be_counted_is_refused(outcome: str, words: str) -> None:
    kept = {"outcome": "kept", "words": ""}
    found = [kept, {"outcome": outcome, "words": "connection reset"}]
    with pytest.raises(TargetFailed, match=words) as failed:
        checks.keeps_connections(Scripted(found), TARGET, [FINE, MISSING, FINE])
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED


@pytest.mark.parametrize(
    ("outcome", "relies"), [("kept", True), ("announced", True), ("closed", False)]
)
def test_a_client_relies_on_connections_that_the_server_does_not_close_without_a_word(
    outcome: str, relies: bool
) -> None:
    running = Scripted([{"outcome": outcome, "words": ""}])
    assert checks.keeps_connections(running, TARGET, [FINE]) is relies
    assert running.asked[0][0] == "keepalive"
