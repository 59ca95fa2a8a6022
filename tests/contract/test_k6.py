"""k6 on the real thing: its counts are uWSGI's, and what it cannot measure it says before."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import misbehaving, real_bench
from tests.bench_arms import JOURNEY_IMAGE, arm, opened
from tests.patience import share
from tuner.errors import Infrastructure, TargetFailed
from tuner.load import Generators
from tuner.measurement import ArmSpec, Bench, LoadGenerator, LoadReading, RunningTarget
from tuner.model import (
    Burst,
    ClosedLoop,
    FailureCode,
    HttpRequest,
    Journey,
    Ladder,
    Limits,
    Load,
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


def served(reading: LoadReading) -> int:
    assert reading.before is not None
    assert reading.after is not None
    return reading.after.requests - reading.before.requests


def three(path: str = "/") -> tuple[HttpRequest, ...]:
    return tuple(HttpRequest(path=path, headers={"X-Step": str(step)}) for step in range(3))


def test_a_burst_of_users_is_served_to_the_last_request(bench: Bench) -> None:
    with ready(bench, arm("flawed", QUEUE)) as started:
        reading = started.drive(Burst(kind="burst", users=200, requests=three()))

    assert reading.sent == reading.requests == served(reading) == 600
    assert reading.errors_by_class == {}
    assert reading.over_limit == 0
    assert sum(reading.series) == pytest.approx(600, abs=1)  # the last one ends the series
    assert reading.histogram.total == 600
    assert reading.connect is not None
    assert 0 < reading.connect.p50_ms <= reading.connect.max_ms
    assert reading.host is not None
    assert reading.duration_s < reading.host.wall_s - 0.03  # k6's own start is not part of it


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
    assert reading.wall_s < 2


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
    misbehaving.write_app(tmp_path, "members", MEMBERS)
    load = Generators(stats_address=real_bench.STATS_ADDRESS)
    journey = Journey(
        kind="journey",
        users=4,
        requests=(HttpRequest(path="/login", method="POST"), HttpRequest(path="/inside")),
    )
    app = arm("members").target
    ini = (tmp_path / "members" / "uwsgi.ini").read_text()
    members = ArmSpec(index=0, ini=ini, target=app, limits=Limits(cpus=1, memory_mb=256))
    with (
        real_bench.engine(tmp_path.joinpath, journey_image=JOURNEY_IMAGE) as launcher,
        launcher.launch(members) as running,
    ):
        load.wait_ready(running, app)
        load.check(running, app, journey)
        reading = load.drive(running, app, journey, 0.5)
        with pytest.raises(TargetFailed, match="GET /inside is answered with 403"):
            load.check(running, app, journey.model_copy(update={"requests": journey.requests[1:]}))

    assert reading.requests > 8
    assert reading.errors_by_class == {}


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
        with pytest.raises(TargetFailed, match="run `make journeys`") as caught:
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
