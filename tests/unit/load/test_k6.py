"""k6's script, its rows, and what is refused before it sends anything."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.unit.load.findings import TARGET, Scripted, answered, client, window
from tuner.bench.load import K6
from tuner.bench.load.k6 import K6Load, longest_s, script
from tuner.bench.load.probe import k6, rows
from tuner.bench.load.results import WINDOW, reading_of
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import (
    Burst,
    ClosedLoop,
    FailureCode,
    HttpRequest,
    Journey,
    OpenLoop,
    Take,
    Upload,
    UserData,
)
from tuner.uwsgi.topology import Front, Topology

NO_PORT = "dial: unknown errno 99 error with msg `cannot assign requested address`"
BEGAN = "began,1700000000500"
WHOLE: dict[str, Any] = {
    "head_s": 0.0,
    "length_s": None,
    "connections": None,
    "limit_s": None,
    "paths": ["/login", "/"],
}
LOGIN = (HttpRequest(method="POST", path="/login", body="é", headers={"A": "b"}), HttpRequest())
BURST = Burst(kind="burst", users=500, requests=LOGIN)
JOURNEY = Journey(kind="journey", users=20, requests=LOGIN, limit_s=30)
MIX = ClosedLoop(
    concurrency=20,
    keep_alive=True,
    requests=(
        HttpRequest(path="/a", weight=3),
        HttpRequest(path="/b", method="PUT", expect=404),
        HttpRequest(path="/c", weight=2),
    ),
)


@dataclass
class WithK6(Scripted):
    """A running target whose generator says what the test wants of k6 and its memory."""

    about: str = "k6 v1.8.1 (go1.26, linux/amd64)\n805306368\n"

    def run_beside(self, argv: Sequence[str], **how: Any) -> str:
        return self.about if argv[0] == "sh" else super().run_beside(argv, **how)


def loaded(running: Scripted, load: K6Load, seconds: float = 2.0) -> Any:
    """The workload as the script has it."""
    first, _, code = script(load, seconds, running, TARGET).partition("\n")
    assert "export default function" in code
    return json.loads(first.removeprefix("const LOAD = ").removesuffix(";"))


def found(*lines: str, folder: Path, **task: Any) -> dict[str, Any]:
    (folder / "rows").write_text("\n".join([BEGAN, *lines, "ended", ""]))
    return k6.summarise(str(folder), "", WHOLE | task)


def test_requests_of_an_open_loop_fall_due_by_rate_and_seed_for_the_next_user() -> None:
    poisson = OpenLoop(kind="open_loop", rate_rps=50, arrivals="poisson", seed=7, concurrency=20)
    load = loaded(Scripted({}), poisson)

    assert load["arrivals"] == {"rate_rps": 50, "seed": 7, "users": 20}
    assert load["options"]["scenarios"]["load"]["executor"] == "per-vu-iterations"
    assert load["options"]["noConnectionReuse"]


def test_the_users_of_a_burst_start_at_once_and_go_through_once() -> None:
    load = loaded(Scripted({}), BURST)

    assert load["options"]["scenarios"]["load"] == {
        "vus": 500,
        "executor": "per-vu-iterations",
        "iterations": 1,
        "maxDuration": "20000ms",
        "gracefulStop": "0s",
    }
    assert load["options"]["noConnectionReuse"]
    assert load["length_ms"] is None
    assert load["order"] == "journey"
    assert load["urls"] == ["http://127.0.0.1:8000/login", "http://127.0.0.1:8000/"]
    assert load["bodies"] == ["é", None]
    assert [load["headers"][shape] for shape in load["shapes"]] == [{"A": "b"}, {}]


def test_a_user_of_a_burst_gives_up_at_the_limit_and_one_of_a_journey_waits_beyond_it() -> None:
    assert loaded(Scripted({}), BURST)["timeout"] == "5000ms"
    assert loaded(Scripted({}), JOURNEY)["timeout"] == "35000ms"


def test_a_journey_runs_for_the_window_and_waits_for_what_is_in_flight_then() -> None:
    load = loaded(Scripted({}), JOURNEY)

    sending = load["options"]["scenarios"]["load"]
    assert sending == {
        "executor": "ramping-vus",
        "startVUs": 20,
        "stages": [{"duration": "2000ms", "target": 20}],
        "gracefulStop": "45000ms",
    }
    assert load["length_ms"] == 2000
    assert longest_s(JOURNEY, 2.0) == 47


def test_a_mix_keeps_connections_where_asked_and_draws_by_weight() -> None:
    load = loaded(Scripted({}), MIX)

    assert load["order"] == "mix"
    assert load["weights"] == [3, 4, 6]
    assert load["expects"] == [None, 404, None]
    assert load["methods"] == ["GET", "PUT", "GET"]
    assert load["headers"] == [{}]
    assert not load["options"]["noConnectionReuse"]


def test_the_app_is_asked_as_itself_whatever_the_load_is_sent_through() -> None:
    through = Front(topology=Topology.NGINX, port=61716, socket=":8000")
    own = HttpRequest(headers={"host": "shop"})

    load = loaded(Scripted({}, front=through), Burst(kind="burst", users=1, requests=(own, *LOGIN)))

    assert load["urls"][0] == "http://127.0.0.1:61716/"
    assert load["headers"] == [
        {"host": "shop"},
        {"A": "b", "Host": "127.0.0.1:8000"},
        {"Host": "127.0.0.1:8000"},
    ]


def test_time_begins_with_the_first_request_and_a_latency_with_its_connect(tmp_path: Path) -> None:
    client = found(
        "0,1,120,180,10,40,200,0,",
        "0,1,100,201,20,80,200,0,",
        folder=tmp_path,
        limit_s=5.0,
    )

    assert client["started_at"] == pytest.approx(1_700_000_000.6)
    assert client["rows"]["duration_s"] == pytest.approx(0.101)
    assert client["rows"]["requests"] == client["sent"] == 2
    assert client["rows"]["latency_p50_ms"] == pytest.approx(50)
    assert client["rows"]["latency_p99_ms"] == pytest.approx(100)
    assert client["connect"] == pytest.approx({"p50_ms": 10, "p95_ms": 20, "max_ms": 20})
    assert client["over_limit"] == 0
    assert client["errors"] == {}
    assert client["first_failed"] is None


def test_the_user_who_says_when_it_began_may_come_after_others_are_answered(
    tmp_path: Path,
) -> None:
    first, second = "0,1,0,5,1,4,200,0,", "0,1,9,19,1,4,200,0,"
    (tmp_path / "rows").write_text("\n".join([first, BEGAN, second, "ended", ""]))

    client = k6.summarise(str(tmp_path), "", WHOLE)

    assert client["sent"] == 2
    assert client["started_at"] == 1_700_000_000.5


@pytest.mark.parametrize(
    ("end_of_line", "kind"),
    [
        ("0,0,500,1500,", "http_500"),
        ("0,0,302,0,", "http_302"),
        ("1,2,0,1220,read: connection reset by peer", "reset"),
        ("1,2,0,1201,write: broken pipe", "reset"),
        ("0,0,0,1212,dial: connection refused", "refused"),
        ("0,0,0,1211,dial: i/o timeout", "connect_timeout"),
        ("0,0,0,1050,request timeout", "connect_timeout"),
        ("1,9000,0,1050,request timeout", "read_timeout"),
        ("1,2,0,1000,EOF", "early_close"),
        ("1,2,0,1000,unexpected EOF", "truncated"),
        (f"0,0,0,1213,{NO_PORT}", "ports_exhausted"),
        ("1,2,0,1000,malformed HTTP status code", "other"),
        ("1,2,200,1,token", "take_token"),
    ],
)
def test_what_became_of_a_failed_request_has_a_class_that_readings_know(
    tmp_path: Path, end_of_line: str, kind: str
) -> None:
    client = found("0,1,0,5,1,4,200,0,", f"1,0,0,9,{end_of_line}", folder=tmp_path, limit_s=5.0)

    assert client["sent"] == 2
    assert client["errors"] == {kind: 1}
    assert client["over_limit"] == 0.5
    reading = reading_of(WINDOW.validate_python(window(client=client)), "k6")
    assert reading.errors_by_class == {kind: 1}
    assert reading.requests == 1


def test_words_of_an_error_may_hold_commas(tmp_path: Path) -> None:
    client = found("1,0,0,9,0,0,0,1000,a, b, and c", folder=tmp_path)

    assert client["first_failed"] == {"request": 1, "answer": "a, b, and c"}


def test_what_takes_longer_than_the_limit_is_over_it_and_still_an_answer(tmp_path: Path) -> None:
    lines = [f"0,1,0,{ms},0,{ms},200,0," for ms in (1000, 4999, 5000, 5001)]

    client = found(*lines, folder=tmp_path, limit_s=5.0)

    assert client["over_limit"] == 0.25
    assert client["rows"]["requests"] == 4
    assert client["errors"] == {}


def test_what_a_user_gave_up_counts_with_the_time_of_the_wait(tmp_path: Path) -> None:
    answered = [f"0,1,0,{ms},0,{ms},200,0," for ms in (1000, 2000)]
    in_vain = "0,0,0,5003,1,5002,0,1050,request timeout"
    without_connect = "1,0,0,5001,0,0,0,1211,dial: i/o timeout"

    client = found(*answered, in_vain, without_connect, folder=tmp_path, limit_s=5.0)

    assert client["rows"]["requests"] == 2
    assert client["rows"]["duration_s"] == pytest.approx(5.003)
    assert client["over_limit"] == 0.5
    assert client["rows"]["latency_p50_ms"] == 2000
    assert client["rows"]["latency_p95_ms"] == pytest.approx(5003)
    first, second = client["rows"]["by_request"]
    assert (first["sent"], first["failed"], first["max_ms"]) == (3, 1, pytest.approx(5003))
    assert (second["sent"], second["failed"], second["max_ms"]) == (1, 1, 5000)


def test_a_load_without_a_limit_has_latencies_of_answers_only(tmp_path: Path) -> None:
    in_vain = "0,0,0,9003,1,9002,0,1050,request timeout"

    client = found("0,1,0,1000,0,1000,200,0,", in_vain, folder=tmp_path)

    assert client["rows"]["latency_p99_ms"] == 1000


def test_each_request_has_its_own_figures_and_its_failures_are_its_own(tmp_path: Path) -> None:
    client = found(
        "0,1,0,5,0,4,200,0,",  # before the head ends: sent, but not among the times
        "0,1,100,120,0,20,200,0,",
        "0,1,100,1140,0,1040,200,0,",
        "1,0,120,130,0,10,200,1,token",
        "1,0,140,141,0,0,0,1212,dial: connection refused",
        folder=tmp_path,
        head_s=0.05,
        limit_s=1.0,
    )

    first, second = client["rows"]["by_request"]
    assert first.pop("histogram") == {"counts": rows.histogram([20.0, 1040.0])}
    assert first == pytest.approx(
        {"request": 0, "sent": 3, "failed": 0, "over_limit": 1}
        | {"p50_ms": 20, "p95_ms": 1040, "max_ms": 1040}
    )
    assert second == {"request": 1, "sent": 2, "failed": 2, "over_limit": 2} | {
        "histogram": {"counts": {}}
    }
    reading = reading_of(WINDOW.validate_python(window(client=client)), "k6")
    assert [(one.sent, one.max_ms) for one in reading.by_request] == [
        (3, pytest.approx(1040)),
        (2, None),
    ]


def test_one_request_alone_has_no_figures_beside_those_of_the_window(tmp_path: Path) -> None:
    client = found("0,1,0,5,0,4,200,0,", folder=tmp_path, paths=["/"])

    assert client["rows"]["by_request"] == []


def test_connections_that_time_out_amid_quick_ones_are_stalled(tmp_path: Path) -> None:
    served = [f"0,1,{10 * n},{10 * n + 9},1,8,200,0," for n in range(200)]
    starved = ["0,0,0,10000,1,9999,0,1050,request timeout"] * 3

    client = found(*served, *starved, folder=tmp_path, head_s=0.4, length_s=2.0, connections=4)

    assert client["rows"]["stalled"] == 3
    assert client["errors"] == {"read_timeout": 3}


@pytest.mark.parametrize(
    "text", ["", "ended\n", f"{BEGAN}\n0,1,0,5,1,4,200,0,\n", f"{BEGAN}\n0,1,0,5\nended\n"]
)
def test_a_run_that_was_cut_short_has_no_figures(tmp_path: Path, text: str) -> None:
    (tmp_path / "rows").write_text(text)
    (tmp_path / "k6.log").write_text("out of\nmemory\n")

    with pytest.raises(ValueError, match=r"end out of memory|not enough values"):
        k6.summarise(str(tmp_path), "", WHOLE)


def test_a_host_without_k6_is_told_what_to_run() -> None:
    running = WithK6({}, about="none\n805306368\n")

    with pytest.raises(TargetFailed, match="run `tuner setup --journeys`") as caught:
        K6(stats_address="127.0.0.1:1").check(running, TARGET, BURST)

    assert caught.value.code == FailureCode.WORKLOAD_REFUSED
    assert running.asked == []


@pytest.mark.parametrize(("limit", "users"), [("805306368", 4000), ("max\n", 0)])
def test_users_have_to_fit_into_the_generators_memory(limit: str, users: int) -> None:
    running = WithK6(window(client=client(first_failed=None)), client_nofile=20_000)
    running.about = f"k6 v1.8.1 (go1.26, linux/amd64)\n{limit}\n"
    burst = BURST.model_copy(update={"users": 4000})

    if users:
        with pytest.raises(TargetFailed, match="ask for at most 2026"):
            K6(stats_address="127.0.0.1:1").check(running, TARGET, burst)
    else:
        K6(stats_address="127.0.0.1:1").check(running, TARGET, burst)


def test_memory_that_cannot_be_read_is_the_hosts_fault() -> None:
    running = WithK6({}, about="k6 v1.8.1 (go1.26, linux/amd64)\n")

    with pytest.raises(Infrastructure, match="memory is ''"):
        K6(stats_address="127.0.0.1:1").check(running, TARGET, BURST)


def test_more_users_than_open_files_are_refused_before_anything_runs() -> None:
    running = WithK6({}, client_nofile=500)

    with pytest.raises(TargetFailed, match="500 connections at once"):
        K6(stats_address="127.0.0.1:1").check(running, TARGET, BURST)


def test_one_user_tries_a_journey_and_the_first_request_that_fails_is_named() -> None:
    running = WithK6(window(client=client(first_failed={"request": 0, "answer": 403})))

    with pytest.raises(TargetFailed, match="POST /login is answered with 403, not with 2xx"):
        K6(stats_address="127.0.0.1:1").check(running, TARGET, JOURNEY)

    ((verb, task),) = running.asked
    assert verb == "window"
    assert '"vus": 1,' in task["files"]["load.js"]
    assert task["length_s"] is None


def test_the_one_user_who_tries_a_journey_has_a_row_of_data() -> None:
    users = UserData(names=("user",), rows=(("ann",), ("bob",)))
    journey = Journey(kind="journey", requests=(HttpRequest(path="/{{user}}"),), user_data=users)
    running = WithK6(window(client=client(first_failed=None)))

    K6(stats_address="127.0.0.1:1").check(running, TARGET, journey)

    assert "bob" in running.asked[0][1]["files"]["load.js"]


def test_a_value_that_the_first_user_cannot_take_is_named() -> None:
    failed = {"request": 0, "answer": "take_token"}
    running = WithK6(window(client=client(first_failed=failed)))

    with pytest.raises(TargetFailed, match="POST /login has an answer without the value of `tok"):
        K6(stats_address="127.0.0.1:1").check(running, TARGET, JOURNEY)


def test_values_have_their_places_in_the_script_and_everything_else_is_written_down() -> None:
    login = HttpRequest(
        path="/login?to={{to}}",
        method="POST",
        headers={"X-Token": "t {{token}}", "Accept": "*/*"},
        form={"user": "{{user}}@é", "go on": "1&2"},
    )
    first = HttpRequest(
        take={
            "token": Take(json_="$.data.items[0].t-1"),
            "to": Take(header="x-next-url"),
            "id": Take(cookie="sessionid"),
        }
    )
    users = UserData(names=("user",), rows=(("ann",), ("bob",)))
    load = loaded(
        Scripted({}),
        Journey(kind="journey", requests=(first, login, HttpRequest()), user_data=users),
    )

    assert load["takes"] == [
        [
            ["token", "json", ["data", "items", "0", "t-1"]],
            ["to", "header", "X-Next-Url"],
            ["id", "cookie", "sessionid"],
        ],
        None,
        None,
    ]
    assert load["urls"][1] == ["http://127.0.0.1:8000", "/login?to=", ["to", True]]
    assert load["bodies"] == [None, ["user=", ["user", True], "%40%C3%A9&go+on=1%262"], None]
    assert load["headers"][load["shapes"][1]] == {
        "X-Token": ["t ", ["token", False]],
        "Accept": "*/*",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    assert [load["reads"][shape] for shape in load["shapes"]] == [True, False, False]
    assert json.loads(load["rows"]) == [{"user": "ann"}, {"user": "bob"}]


def test_an_upload_costs_the_script_a_number_and_each_user_memory() -> None:
    photo = Upload(name="photo.jpg", size_kb=1024, content_type="image/jpeg")
    send = HttpRequest(method="POST", form={"a": "b"}, upload={'"photo"': photo})

    body = loaded(Scripted({}), Burst(kind="burst", users=1, requests=(send,)))["bodies"][0]

    assert [type(piece) for piece in body] == [str, int, str]
    assert body[1] == 1024 * 1024
    assert 'name="%22photo%22"; filename="photo.jpg"\r\nContent-Type: image/jpeg' in body[0]
    burst = Burst(kind="burst", users=200, requests=(send,))
    with pytest.raises(TargetFailed, match="users need 10"):
        K6(stats_address="127.0.0.1:1").check(WithK6({}), TARGET, burst)


def test_the_requests_of_a_mix_are_tried_one_by_one() -> None:
    running = WithK6(
        {
            "try_each": answered(200, 404, 500),
            "keepalive": [{"outcome": "kept"}] * 3,
        }
    )

    with pytest.raises(TargetFailed, match="GET /c is answered with 500"):
        K6(stats_address="127.0.0.1:1").check(running, TARGET, MIX)


def test_a_run_without_one_expected_answer_fails() -> None:
    client = window()["client"] | {"sent": 3, "errors": {"http_500": 3}}

    with pytest.raises(TargetFailed, match="as expected: http_500 3") as caught:
        K6(stats_address="127.0.0.1:1").drive(WithK6(window(client=client)), TARGET, JOURNEY, 2.0)

    assert caught.value.code == FailureCode.ERRORS_ONLY


def test_many_users_leave_k6_less_memory_for_garbage() -> None:
    running = WithK6(window())

    K6(stats_address="127.0.0.1:1").drive(
        running, TARGET, BURST.model_copy(update={"users": 601}), 0
    )

    assert running.asked[0][1]["argv"][1] == "GOGC=100"


def test_a_killed_k6_is_the_hosts_fault() -> None:
    dead = window(client=None, exit_code=-9, client_error="k6 did not come to its end")

    with pytest.raises(Infrastructure, match="k6 was killed"):
        K6(stats_address="127.0.0.1:1").drive(WithK6(dead), TARGET, JOURNEY, 2.0)


@pytest.mark.parametrize(
    ("load", "connections", "limit_s", "length_s", "head_s", "timeout_s"),
    [
        (BURST, None, 5.0, None, 0.0, 50.0),
        (JOURNEY, 20, 30.0, 2.0, 0.4, 77.0),
        (MIX, 20, None, 2.0, 0.4, 52.0),
    ],
)
def test_the_probe_is_told_what_kind_of_run_it_is(
    load: Burst | Journey | ClosedLoop,
    connections: int | None,
    limit_s: float | None,
    length_s: float | None,
    head_s: float,
    timeout_s: float,
) -> None:
    running = WithK6(window())

    K6(stats_address="127.0.0.1:1").drive(running, TARGET, load, 2.0)

    ((_, task),) = running.asked
    assert task["summary"] == "k6"
    assert task["argv"][:4] == ["env", "GOGC=400", "k6", "run"]
    assert task["argv"][-1] in task["files"]
    assert task["connections"] == connections
    assert task["limit_s"] == limit_s
    assert task["paths"] == [request.path for request in load.requests]
    assert task["length_s"] == length_s
    assert task["head_s"] == pytest.approx(head_s)
    assert running.timeouts == [timeout_s]
