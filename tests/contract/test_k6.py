"""k6 on the real thing: its counts are uWSGI's, and what it cannot measure it says before."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from tests import misbehaving, real_bench
from tests.bench_arms import JOURNEY_IMAGE, arm, opened
from tests.patience import share
from tuner.bench.load import Generators
from tuner.bench.measurement import ArmSpec, Bench, LoadGenerator, LoadReading, RunningTarget
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import (
    SERIES_STEP_S,
    Burst,
    ClosedLoop,
    FailureCode,
    HttpRequest,
    Journey,
    Ladder,
    Limits,
    Load,
    Take,
    Upload,
    UserData,
    Workload,
)

pytestmark = pytest.mark.docker

QUEUE = "listen = 1024"  # a burst is to be served, not to be kept waiting for SYNs
KILL_K6 = """
import pathlib, os, time
found = []
while not found:
    time.sleep(0.1)
    found = [p for p in pathlib.Path("/proc").glob("[0-9]*") if (p / "comm").read_text() == "k6\\n"]
time.sleep(0.3)
os.kill(int(found[0].name), 9)
"""
MEMBERS = """
def application(environ, start_response):
    knows = environ.get("HTTP_COOKIE") == "member=yes"
    answers = {"/login": "409 Conflict" if knows else "200 OK", "/": "200 OK"}
    answers["/inside"] = "200 OK" if knows else "403 Forbidden"
    headers = [("Content-Length", "2")]
    if environ["PATH_INFO"] == "/login":
        headers.append(("Set-Cookie", "member=yes; Path=/"))
    start_response(answers[environ["PATH_INFO"]], headers)
    return [b"ok"]
"""
LOGIN = r"""
import json, secrets
from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qs

PASSWORDS = {"ann": "1 & 2", "bob": "\u00e9"}

def application(environ, start_response):
    cookies = dict(one.split("=", 1) for one in environ.get("HTTP_COOKIE", "").split("; ") if one)
    body = environ["wsgi.input"].read()
    call = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    status, headers, answer = "403 Forbidden", [], b""
    if call == ("GET", "/"):
        status = "200 OK"
    elif call == ("GET", "/login/"):
        token = secrets.token_hex(8)
        status, answer = "200 OK", b'<input name="csrf" value="of-%s">' % token.encode()
        headers.append(("Set-Cookie", f"csrftoken={token}; Path=/; SameSite=Lax"))
    elif call == ("POST", "/login/"):
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        own_page = environ.get("HTTP_REFERER") == f"http://{environ['HTTP_HOST']}/login/"
        is_token = form.get("csrf") == "of-" + cookies.get("csrftoken", "")
        if own_page and is_token and PASSWORDS[form["user"]] == form["password"]:
            status = "302 Found"
            headers.append(("Set-Cookie", f"session={form['user']}; HttpOnly; Path=/"))
    elif call == ("GET", "/profile/") and "session" in cookies:
        status, answer = "200 OK", json.dumps({"data": [{"id": cookies["session"]}]}).encode()
    elif call == ("POST", "/photos/" + cookies.get("session", "")):
        head = f"Content-Type: {environ['CONTENT_TYPE']}\r\n\r\n".encode()
        found = BytesParser(policy=HTTP).parsebytes(head + body).iter_parts()
        parts = [part.get_payload(decode=True) for part in found]
        is_token = environ.get("HTTP_X_CSRFTOKEN") == cookies["csrftoken"]
        if is_token and parts == [f"of {cookies['session']}".encode(), b"x" * 65536]:
            status = "201 Created"
    start_response(status, [*headers, ("Content-Length", str(len(answer)))])
    return [answer]
"""
SLOW = """
import time

def application(environ, start_response):
    time.sleep(0.1)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""
ABSENT = "uwsgi-tuner/load-k6:absent"


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with opened() as made:
        yield made


@dataclass(frozen=True, slots=True)
class Started:
    """An arm that is ready, and the generator that loads it."""

    load: LoadGenerator
    running: RunningTarget
    app: ArmSpec

    def check(self, workload: Workload) -> None:
        self.load.check(self.running, self.app.target, workload)

    def drive(self, load: Load, seconds: float = 1.0) -> LoadReading:
        return self.load.drive(self.running, self.app.target, load, seconds)


@contextmanager
def ready(bench: Bench, app: ArmSpec) -> Iterator[Started]:
    with bench.launcher.launch(app) as running:
        bench.load.wait_ready(running, app.target)
        yield Started(bench.load, running, app)


@contextmanager
def serving(folder: Path, name: str, source: str) -> Iterator[Started]:
    """An app of its own."""
    misbehaving.write_app(folder, name, source)
    ini = (folder / name / "uwsgi.ini").read_text()
    app = ArmSpec(index=0, ini=ini, target=arm(name).target, limits=Limits(cpus=1, memory_mb=256))
    load = Generators(stats_address=real_bench.STATS_ADDRESS)
    with (
        real_bench.engine(folder.joinpath, journey_image=JOURNEY_IMAGE) as launcher,
        launcher.launch(app) as running,
    ):
        load.wait_ready(running, app.target)
        yield Started(load, running, app)


def served(reading: LoadReading) -> int:
    assert reading.before is not None
    assert reading.after is not None
    return reading.after.requests - reading.before.requests


def three(path: str = "/") -> tuple[HttpRequest, ...]:
    return tuple(HttpRequest(path=path, headers={"X-Step": str(step)}) for step in range(3))


def test_a_burst_of_users_is_served_to_the_last_request(bench: Bench) -> None:
    with ready(bench, arm("flawed", QUEUE)) as started:
        reading = started.drive(Burst(kind="burst", users=200, requests=three() * 5))

    assert reading.sent == reading.requests == served(reading) == 3000
    assert reading.errors_by_class == {}
    assert reading.over_limit == 0
    assert sum(reading.series) == pytest.approx(3000, abs=1)  # the last one ends the series
    assert reading.histogram.total == 3000
    app = reading.over_time.usage["app"]
    assert len(app.cores) == len(reading.over_time.queue) == int(reading.wall_s / SERIES_STEP_S)
    assert median(app.cores) > 0  # k6's start of up to a second is not in the series
    assert reading.connect is not None
    assert 0 < reading.connect.p50_ms <= reading.connect.max_ms
    assert reading.host is not None
    assert reading.duration_s < reading.host.wall_s - 0.03  # k6's own start is not part of it


def test_users_give_up_at_the_limit_and_the_next_burst_does_not_meet_what_they_left(
    tmp_path: Path,
) -> None:
    """One request takes 0.1 s: with its first burst, uWSGI is busy for seconds beyond the limit."""
    request = (HttpRequest(),)
    many, few = (
        Burst(kind="burst", users=users, requests=request, limit_s=1.0) for users in (60, 4)
    )
    with serving(tmp_path, "slow", SLOW) as started:
        crowded = started.drive(many)
        calm = started.drive(few)

    assert crowded.sent == 60
    assert crowded.errors_by_class.keys() == {"read_timeout"}
    assert crowded.over_limit is not None
    assert crowded.over_limit > 0.5
    assert crowded.latency_p95_ms == pytest.approx(1000, rel=0.2)
    assert (calm.sent, calm.errors_by_class, calm.over_limit) == (4, {}, 0)


def test_answers_of_the_wrong_status_are_counted_as_uwsgi_counts_them(bench: Bench) -> None:
    app = arm("flawed", QUEUE, processes=1)
    with ready(bench, app) as started:
        reading = started.drive(Burst(kind="burst", users=200, requests=three("/fails")))

    assert reading.sent == served(reading) == 600
    assert reading.errors_by_class == {"http_500": 30}  # one in twenty
    assert reading.requests == 570
    assert reading.over_limit == pytest.approx(0.05)


def test_connections_that_are_reset_are_counted_as_uwsgi_counts_them(bench: Bench) -> None:
    app = arm("flawed", QUEUE, processes=1)
    with ready(bench, app) as started:
        reading = started.drive(Burst(kind="burst", users=200, requests=three("/resets")))

    assert reading.sent == served(reading) == 600
    assert reading.errors_by_class == {"reset": 12}  # one in fifty
    assert reading.requests == 588


def test_users_of_a_journey_go_on_until_the_window_ends(bench: Bench) -> None:
    with ready(bench, arm("flawed")) as started:
        reading = started.drive(Journey(kind="journey", users=8, requests=three()), 1.0)

    assert reading.sent == served(reading)
    assert reading.errors_by_class == {}
    assert reading.duration_s == pytest.approx(0.8)  # a fifth of the run is its head
    assert 0 < reading.requests < reading.sent
    assert len(reading.series) == 4
    assert reading.stalled == 0
    assert reading.wall_s < 10


def test_a_mix_sends_each_request_by_its_weight_and_judges_it_by_its_own_status(
    bench: Bench,
) -> None:
    moody = real_bench.moody_arm()
    mix = ClosedLoop(
        concurrency=8,
        requests=(
            HttpRequest(path="/", weight=3),
            HttpRequest(
                path="/echo", method="POST", body="-x=1", headers={"X-Mood": "-good"}, weight=2
            ),
            HttpRequest(path="/500", expect=500),
        ),
    )
    with ready(bench, moody) as started:
        started.check(mix)
        reading = started.drive(mix)
        unexpected = mix.model_copy(
            update={"requests": (*mix.requests[:2], HttpRequest(path="/500"))}
        )
        failing = started.drive(unexpected)

    assert reading.errors_by_class == {}
    assert reading.sent == served(reading)
    assert reading.over_limit is None
    assert [one.request for one in reading.by_request] == [0, 1, 2]
    assert sum(one.sent for one in reading.by_request) == reading.sent
    assert failing.sent == served(failing)
    assert failing.errors_by_class["http_500"] / failing.sent == share(1 / 6, of=failing.sent)


def test_a_request_of_a_journey_that_is_answered_otherwise_is_named_before_minutes_are_spent(
    bench: Bench,
) -> None:
    journey = Journey(
        kind="journey",
        users=4,
        requests=(HttpRequest(path="/"), HttpRequest(path="/500?a=1", method="POST")),
    )
    with ready(bench, real_bench.moody_arm()) as started:
        with pytest.raises(TargetFailed, match=r"POST /500\?a=1 is answered with 500") as caught:
            started.check(journey)
        started.check(journey.model_copy(update={"requests": journey.requests[:1]}))

    assert caught.value.code == FailureCode.WORKLOAD_REFUSED


def test_a_user_keeps_the_cookies_of_a_journey_and_begins_the_next_without(
    tmp_path: Path,
) -> None:
    """A user who came again with the old cookie would be answered with 409 at the door."""
    journey = Journey(
        kind="journey",
        users=4,
        requests=(HttpRequest(path="/login", method="POST"), HttpRequest(path="/inside")),
    )
    with serving(tmp_path, "members", MEMBERS) as started:
        started.check(journey)
        reading = started.drive(journey, 0.5)
        with pytest.raises(TargetFailed, match="GET /inside is answered with 403"):
            started.check(journey.model_copy(update={"requests": journey.requests[1:]}))

    assert reading.requests > 8
    assert reading.errors_by_class == {}


def test_users_log_in_with_a_csrf_token_and_upload_as_themselves(tmp_path: Path) -> None:
    page = "http://127.0.0.1:8000/login/"
    csrf = Take(regex='name="csrf" value="([^"]+)"')
    form = {"csrf": "{{csrf}}", "user": "{{user}}", "password": "{{password}}"}
    photo = HttpRequest(
        path="/photos/{{id}}",
        method="POST",
        headers={"X-CSRFToken": "{{cookie}}"},
        form={"title": "of {{user}}"},
        upload={"photo": Upload(name="photo.jpg", size_kb=64, content_type="image/jpeg")},
    )
    takes = {"id": Take(json_="$.data[0].id"), "cookie": Take(cookie="csrftoken")}
    journey = Journey(
        kind="journey",
        users=5,
        requests=(
            HttpRequest(path="/login/", take={"csrf": csrf}),
            HttpRequest(
                path="/login/", method="POST", headers={"Referer": page}, form=form, expect=302
            ),
            HttpRequest(path="/profile/", take=takes),
            photo,
        ),
        user_data=UserData(names=("user", "password"), rows=(("ann", "1 & 2"), ("bob", "é"))),
    )
    forged = journey.requests[1].model_copy(update={"form": {**form, "csrf": "of-another"}})
    with serving(tmp_path, "login", LOGIN) as started:
        started.check(journey)
        reading = started.drive(journey, 1.0)
        with pytest.raises(TargetFailed, match="POST /login/ is answered with 403"):
            started.check(journey.model_copy(update={"requests": (journey.requests[0], forged)}))

    assert reading.errors_by_class == {}
    assert reading.sent == served(reading)
    assert reading.requests > 20
    assert [one.request for one in reading.by_request] == [0, 1, 2, 3]
    assert sum(one.sent for one in reading.by_request) == reading.sent
    assert sum(one.histogram.total for one in reading.by_request) == reading.histogram.total


def test_a_value_that_an_answer_lacks_fails_its_step_and_ends_the_pass(tmp_path: Path) -> None:
    steps = (
        HttpRequest(),
        HttpRequest(path="/login/", take={"token": Take(json_="data.token")}),
        HttpRequest(path="/{{token}}"),
    )
    journey = Journey(kind="journey", users=2, requests=steps)
    with serving(tmp_path, "login", LOGIN) as started:
        reading = started.drive(journey, 0.5)
        with pytest.raises(TargetFailed, match="GET /login/ has an answer without the value"):
            started.check(journey)

    first, second = reading.by_request
    assert (first.failed, second.failed) == (0, second.sent)
    assert reading.errors_by_class == {"take_token": second.sent}
    assert reading.sent == served(reading)


def test_more_users_than_the_generator_has_memory_for_are_refused(bench: Bench) -> None:
    with (
        ready(bench, arm("flawed")) as started,
        pytest.raises(TargetFailed, match=r"users need .* MB in the load generator") as caught,
    ):
        started.check(Burst(kind="burst", users=9000))

    assert caught.value.code == FailureCode.WORKLOAD_REFUSED


def test_a_host_without_k6_says_what_to_run() -> None:
    load = Generators(stats_address=real_bench.STATS_ADDRESS)
    app = arm("flawed")
    mix = Ladder(
        kind="ladder",
        concurrencies=(1, 2),
        requests=(HttpRequest(), HttpRequest(method="POST")),
    )
    with real_bench.engine(journey_image=ABSENT) as launcher, launcher.launch(app) as running:
        load.wait_ready(running, app.target)
        load.check(running, app.target, ClosedLoop(concurrency=2))  # which oha sends
        with pytest.raises(TargetFailed, match="run `tuner setup --journeys`") as caught:
            load.check(running, app.target, mix)

    assert caught.value.code == FailureCode.WORKLOAD_REFUSED


def test_a_generator_that_is_killed_is_the_hosts_fault(bench: Bench) -> None:
    with ready(bench, arm("flawed")) as started:
        with ThreadPoolExecutor(1) as pool:
            driving = pool.submit(started.drive, Journey(kind="journey", users=4), 30.0)
            started.running.run_beside(["python3", "-c", KILL_K6], timeout_s=20)
            with pytest.raises(Infrastructure, match="k6 was killed"):
                driving.result()
        again = started.drive(Journey(kind="journey", users=4))

    assert again.sent == served(again)
