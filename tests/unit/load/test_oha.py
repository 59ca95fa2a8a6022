"""oha's command lines, and what becomes of its readings."""

import json
from email.parser import BytesParser
from email.policy import HTTP

import pytest

from tests.unit.load.findings import TARGET, Scripted, answered, window
from tuner.bench.load.oha import COMMON, Oha, head_s, paths, words_and_files
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import ClosedLoop, FailureCode, HttpRequest, OpenLoop, Upload
from tuner.uwsgi.topology import Front, Topology

URL = "http://127.0.0.1:8000"
TRIED = answered(200)


@pytest.fixture
def oha() -> Oha:
    return Oha(stats_address="127.0.0.1:1717", ready_timeout_s=20)


def words(load: ClosedLoop | OpenLoop, running: Scripted | None = None) -> list[str]:
    found: list[str] = words_and_files(load, 2.5, running or Scripted(None), TARGET)["argv"]
    return found


def test_a_closed_loop() -> None:
    assert words(ClosedLoop(concurrency=50)) == [
        *COMMON,
        *("--worker-threads", "1", "-z", "2500ms", "-c", "50"),
        *("--disable-keepalive", "-m=GET", f"{URL}/"),
    ]


def test_connections_are_kept_only_where_that_is_asked_for() -> None:
    assert "--disable-keepalive" in words(ClosedLoop())
    assert "--disable-keepalive" not in words(ClosedLoop(keep_alive=True))


def test_an_open_loop_counts_latency_from_when_a_request_was_due() -> None:
    found = words(OpenLoop(kind="open_loop", rate_rps=1_000_000, concurrency=9))
    assert found[-5:-2] == ["-q", "1000000", "--latency-correction"]


def test_values_that_begin_with_a_dash_stay_values() -> None:
    request = HttpRequest(path="/a", method="POST", headers={"X": "-b"}, body="-x=1")
    found = words_and_files(
        ClosedLoop(concurrency=1, requests=(request,)), 1, Scripted(None), TARGET
    )
    assert found["argv"][-5:-1] == ["-m=POST", "-H=X: -b", "-D", "body"]
    assert found["files"] == {"body": "-x=1"}


def test_a_form_is_sent_as_a_browser_sends_it() -> None:
    request = HttpRequest(path="/a", method="POST", form={"a b": "é&", "c": ""})
    found = words_and_files(ClosedLoop(requests=(request,)), 1, Scripted(None), TARGET)
    assert "-H=Content-Type: application/x-www-form-urlencoded" in found["argv"]
    assert found["files"] == {"body": "a+b=%C3%A9%26&c="}


def test_an_upload_of_a_plain_load_is_written_down_whole() -> None:
    note, photo = Upload(name="n.txt", text="é\n"), Upload(name="photo.jpg", size_kb=3)
    request = HttpRequest(method="POST", form={"a": "b"}, upload={"note": note, "photo": photo})
    found = words_and_files(ClosedLoop(requests=(request,)), 1, Scripted(None), TARGET)
    (kind,) = (word for word in found["argv"] if word.startswith("-H=Content-Type: "))
    head = kind.removeprefix("-H=").encode()
    message = BytesParser(policy=HTTP).parsebytes(
        head + b"\r\n\r\n" + found["files"]["body"].encode()
    )
    parts = {
        part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
        for part in message.iter_parts()
    }
    assert parts == {"a": b"b", "note": "é\n".encode(), "photo": b"x" * 3072}


def test_the_app_is_asked_by_its_own_name_whatever_is_in_front() -> None:
    behind = Scripted(None, front=Front(topology=Topology.NGINX, port=9, socket=":8000"))
    found = words(ClosedLoop(), behind)
    assert "-H=Host: 127.0.0.1:8000" in found
    assert found[-1] == "http://127.0.0.1:9/"
    named = ClosedLoop(requests=(HttpRequest(headers={"host": "example.org"}),))
    assert [word for word in words(named, behind) if "ost:" in word] == ["-H=host: example.org"]


def test_a_mix_is_a_file_with_a_line_for_each_weight() -> None:
    requests = (HttpRequest(path="/a", weight=2), HttpRequest(path="/b?c=1", weight=4))
    found = words_and_files(ClosedLoop(requests=requests), 1, Scripted(None), TARGET)
    assert found["argv"][-2:] == ["--urls-from-file", "urls"]
    assert found["files"]["urls"] == f"{URL}/a\n{URL}/b?c=1\n{URL}/b?c=1\n"


def test_a_path_given_twice_is_sent_twice_as_often() -> None:
    again = [HttpRequest(path=path) for path in ("/a", "/b", "/a")]
    assert sorted(paths(again)) == ["/a", "/a", "/b"]


def test_a_mix_of_large_weights_keeps_its_proportions_in_a_short_file() -> None:
    requests = [HttpRequest(path=f"/{number}", weight=997) for number in range(500)]
    found = paths([*requests, HttpRequest(path="/rare", weight=1)])
    assert len(found) <= 11_000
    assert found.count("/0") == found.count("/499") == 20
    assert found.count("/rare") == 1


def test_the_head_is_half_a_second_and_at_most_a_fifth() -> None:
    assert head_s(2.5) == 0.5
    assert head_s(10) == 0.5
    assert head_s(1) == pytest.approx(0.2)


def test_a_window_is_driven_and_read(oha: Oha) -> None:
    running = Scripted(window())
    reading = oha.drive(running, TARGET, ClosedLoop(concurrency=4), 2.5)
    assert reading.requests == 18
    assert running.timeouts[0] > 2.5 + 10 + 10
    verb, task = running.asked[0]
    assert verb == "window"
    assert (task["length_s"], task["head_s"], task["connections"]) == (2.5, 0.5, 4)
    assert task["front"] == {"topology": "http_socket", "port": 8000, "socket": None}
    assert task["cgroups"] == {"app": "/tuner-cgroup-1"}


def test_an_open_loop_has_no_connections_to_starve(oha: Oha) -> None:
    running = Scripted(window())
    oha.drive(running, TARGET, OpenLoop(kind="open_loop", rate_rps=100), 2.5)
    assert running.asked[0][1]["connections"] is None


def test_a_task_too_long_for_a_command_line_goes_as_a_file(oha: Oha) -> None:
    running = Scripted(window())
    request = HttpRequest(method="POST", body="x" * 200_000)
    oha.drive(running, TARGET, ClosedLoop(requests=(request,)), 2.5)
    (path,) = running.carried
    assert path.startswith("/tmp/")
    assert json.loads(running.carried[path])["files"]["body"] == request.body
    assert running.asked[0][0] == "window"


def test_errors_alone_are_the_targets_fault(oha: Oha) -> None:
    client = {**window()["client"], "sent": 9, "errors": {"http_500": 9}}
    with pytest.raises(TargetFailed, match="http_500 9") as failed:
        oha.drive(Scripted(window(client=client)), TARGET, ClosedLoop(concurrency=4), 2.0)
    assert failed.value.code == FailureCode.ERRORS_ONLY


def test_a_queue_that_stays_full_is_a_figure_but_a_hanging_app_is_a_failure(oha: Oha) -> None:
    client = {**window()["client"], "sent": 500, "errors": {"timed out": 500}}
    full = oha.drive(Scripted(window(client=client)), TARGET, ClosedLoop(concurrency=500), 2.0)
    assert full.errors_by_class == {"connect_timeout": 500}
    not_full = window(client=client)
    not_full["after"] = not_full["before"]
    with pytest.raises(TargetFailed, match="read_timeout 500") as failed:
        oha.drive(Scripted(not_full), TARGET, ClosedLoop(concurrency=500), 2.0)
    assert failed.value.code == FailureCode.ERRORS_ONLY


def rate_trial(sent: int, cpu_s: float) -> dict[str, object]:
    found = window()
    client = {**found["client"], "sent": sent, "errors": {}}
    return window(client=client, host={**found["host"], "client_s": cpu_s})


def test_a_rate_beyond_the_generator_is_refused_with_the_rate_that_it_can(oha: Oha) -> None:
    running = Scripted({"try_each": TRIED, "window": rate_trial(4_000, 0.21)})
    oha.check(running, TARGET, OpenLoop(kind="open_loop", rate_rps=15_000))
    with pytest.raises(TargetFailed, match="it gets to some 16000") as failed:
        oha.check(running, TARGET, OpenLoop(kind="open_loop", rate_rps=17_000))
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED


def test_a_slow_server_says_nothing_about_the_generator(oha: Oha) -> None:
    running = Scripted({"try_each": TRIED, "window": rate_trial(20, 0.4)})
    oha.check(running, TARGET, OpenLoop(kind="open_loop", rate_rps=100_000))
