"""oha and the probe beside a real uWSGI: what they count, see and refuse."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests import real_bench
from tests.patience import share
from tuner.bench.engine import DockerLauncher
from tuner.bench.load import Generators, Oha
from tuner.bench.measurement import ArmSpec, LoadReading, RunningTarget
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import (
    SERIES_STEP_S,
    ClosedLoop,
    FailureCode,
    HttpRequest,
    OpenLoop,
    Workload,
)

pytestmark = pytest.mark.docker

TARGET = real_bench.moody()
LOADS = Generators(stats_address=real_bench.STATS_ADDRESS)
OHA = Oha(stats_address=real_bench.STATS_ADDRESS, ready_timeout_s=real_bench.READY_TIMEOUT_S)


@pytest.fixture
def launcher() -> Iterator[DockerLauncher]:
    with real_bench.engine() as launcher:
        yield launcher.for_measurement("1", "7")


@contextmanager
def ready(launcher: DockerLauncher, *front: str) -> Iterator[RunningTarget]:
    """The moody app behind these lines, or behind its own http-socket."""
    arm = real_bench.moody_arm()
    own = "http-socket = :8000"
    ini = arm.ini.replace(own, "\n".join(front or (own,)))
    changed = ArmSpec(index=0, ini=ini, target=arm.target, limits=arm.limits)
    with launcher.launch(changed) as running:
        OHA.wait_ready(running, TARGET)
        yield running


def served(reading: LoadReading) -> int:
    assert reading.before is not None
    assert reading.after is not None
    return reading.after.requests - reading.before.requests


def of(path: str, concurrency: int = 8, *, keep_alive: bool = False) -> ClosedLoop:
    requests = (HttpRequest(path=path),)
    return ClosedLoop(requests=requests, concurrency=concurrency, keep_alive=keep_alive)


def test_every_figure_of_a_window_is_of_the_same_requests(launcher: DockerLauncher) -> None:
    with ready(launcher) as running:
        reading = OHA.drive(running, TARGET, of("/"), 2.0)
    assert served(reading) == reading.sent
    assert reading.errors_by_class == {}
    assert reading.duration_s == pytest.approx(1.6)
    assert reading.body_bytes == len("ok") * reading.requests
    app = reading.over_time.usage["app"]
    lengths = [*map(len, (reading.series, reading.over_time.queue, app.cores, app.memory_mb))]
    assert lengths == [8, 8, 8, 8]
    # All but the few that were answered after the end.
    assert 0.98 * reading.sent <= sum(reading.series) <= reading.sent
    assert reading.histogram.total == pytest.approx(reading.requests, rel=0.02)
    assert reading.latency_p95_ms is not None
    assert reading.histogram.percentile_ms(0.95) == pytest.approx(reading.latency_p95_ms, rel=0.01)
    assert reading.stalled == 0


def test_errors_are_counted_as_uwsgi_counts_them(launcher: DockerLauncher) -> None:
    with ready(launcher) as running:
        reading = OHA.drive(running, TARGET, of("/half"), 1.0)
    assert set(reading.errors_by_class) == {"http_500"}
    assert served(reading) == reading.sent
    assert reading.errors_by_class["http_500"] / reading.sent == share(1 / 2, of=reading.sent)
    assert reading.requests < reading.sent


def test_uwsgis_processes_and_the_host_are_seen(launcher: DockerLauncher) -> None:
    with ready(launcher) as running:
        before = running.usage()
        reading = OHA.drive(running, TARGET, of("/work"), 2.0)
        after = running.usage()
    assert reading.processes is not None
    assert 0 < reading.processes.busiest_cpu_s < 2 * reading.wall_s
    assert reading.processes.switches > 0
    assert reading.processes.router_cpu_s is None
    assert reading.host is not None
    assert reading.host.busy_s > 0
    assert reading.host.own_s >= reading.client_cpu_s > 0
    app = reading.over_time.usage["app"]
    used_s = sum(app.cores) * SERIES_STEP_S
    assert used_s == pytest.approx(after.cpu_s - before.cpu_s, rel=0.15)
    assert app.memory_mb[-1] == pytest.approx(after.memory_mb, rel=0.1)


def test_the_router_has_a_process_and_two_queues(launcher: DockerLauncher) -> None:
    front = ("http = :8000", "listen = 50")
    with ready(launcher, *front) as running:
        reading = OHA.drive(running, TARGET, of("/wait", 20), 1.5)
    assert reading.processes is not None
    assert reading.processes.router_cpu_s is not None
    # 20 connections and two processes: the others wait behind the router, where nothing is public.
    assert reading.queue is not None
    assert 10 <= reading.queue.p95 <= 20
    assert reading.queue.size == 50


@pytest.mark.parametrize(
    "front", ["http-socket = :8000", "socket = 127.0.0.1:3031", "socket = /tmp/app.sock"]
)
def test_the_queue_before_uwsgi_is_seen_filling(launcher: DockerLauncher, front: str) -> None:
    with ready(launcher, front, "listen = 50") as running:
        reading = OHA.drive(running, TARGET, of("/wait", 20), 1.5)
    assert reading.queue is not None
    assert 10 <= reading.queue.p95 <= reading.queue.max <= 20
    assert reading.queue.size == 50
    assert max(reading.over_time.queue) == reading.queue.max


def test_a_full_queue_tells_connects_that_took_too_long(launcher: DockerLauncher) -> None:
    with ready(launcher, "http-socket = :8000", "listen = 8") as running:
        reading = OHA.drive(running, TARGET, of("/wait", 60), 1.5)
    assert reading.listen_overflows > 0
    assert reading.errors_by_class["connect_timeout"] > 2  # 8 to 30, as the kernel repeats them
    assert reading.queue is not None
    assert reading.queue.max > reading.queue.size == 8
    assert served(reading) < reading.sent  # what never got in was never served


def test_connections_that_http11_socket_starves_are_counted(launcher: DockerLauncher) -> None:
    with ready(launcher, "http11-socket = :8000") as running:
        reading = OHA.drive(running, TARGET, of("/", 10, keep_alive=True), 1.5)
        fair = OHA.drive(running, TARGET, of("/", 2, keep_alive=True), 1.0)
    assert reading.stalled == 8
    assert fair.stalled == 0


def test_a_slow_app_starves_nobody(launcher: DockerLauncher) -> None:
    with ready(launcher) as running:
        reading = OHA.drive(running, TARGET, of("/wait", 20), 1.5)  # 3 s for each
    assert reading.latency_p50_ms is not None
    assert reading.latency_p50_ms > 1500
    assert reading.stalled == 0


def test_latencies_of_a_fixed_rate_count_from_when_requests_were_due(
    launcher: DockerLauncher,
) -> None:
    load = OpenLoop(
        kind="open_loop", rate_rps=20, concurrency=4, requests=(HttpRequest(path="/wait"),)
    )
    with ready(launcher) as running:
        reading = OHA.drive(running, TARGET, load, 2.0)
    # 6.7 a second can be served: the last of those that were sent was long due by then.
    assert reading.latency_p99_ms is not None
    assert reading.latency_p99_ms > 900


def test_a_mix_is_sent_by_weight(launcher: DockerLauncher) -> None:
    mix = ClosedLoop(
        requests=(HttpRequest(path="/"), HttpRequest(path="/500", weight=3)), concurrency=4
    )
    with ready(launcher) as running:
        reading = OHA.drive(running, TARGET, mix, 1.0)
    wanted = 0.75 * reading.sent
    assert abs(reading.errors_by_class["http_500"] - wanted) < 5 * math.sqrt(0.25 * wanted)
    first, second = reading.by_request
    assert (first.failed, second.failed) == (0, reading.errors_by_class["http_500"])
    assert first.sent + second.sent == reading.sent


def test_a_megabyte_of_body_arrives(launcher: DockerLauncher) -> None:
    request = HttpRequest(path="/echo", method="POST", headers={"X-Mood": "-good"}, body="-x=1")
    large = request.model_copy(update={"body": "x" * 1_000_000})
    with ready(launcher) as running:
        small = OHA.drive(running, TARGET, ClosedLoop(requests=(request,), concurrency=1), 0.5)
        with pytest.raises(TargetFailed, match="http_500"):  # it is not the body that /echo wants
            OHA.drive(running, TARGET, ClosedLoop(requests=(large,), concurrency=1), 0.5)
    assert small.errors_by_class == {}


KEPT = ("http = :8000", "http-keepalive = 1")


def prepared(running: RunningTarget, workload: ClosedLoop) -> Workload:
    """The workload as it is sent to this server, if it can be measured."""
    OHA.check(running, TARGET, workload)
    return LOADS.as_served(running, TARGET, workload)


@pytest.mark.parametrize(
    ("front", "path", "words"),
    [
        (("http11-socket = :8000",), "/unframed", "neither a length nor chunks"),
        (KEPT, "/500", "GET /500 is answered with 500"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    launcher: DockerLauncher, front: tuple[str, ...], path: str, words: str
) -> None:
    with ready(launcher, *front) as running, pytest.raises(TargetFailed, match=words) as failed:
        prepared(running, of(path, keep_alive=True))
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED


def test_keep_alive_that_is_kept_is_measured(launcher: DockerLauncher) -> None:
    front = (*KEPT, "http-auto-chunked = true")
    with ready(launcher, *front) as running:
        for path in ("/", "/unframed"):
            asked = of(path, keep_alive=True)
            assert LOADS.as_served(running, TARGET, asked) == asked
        reading = OHA.drive(running, TARGET, of("/", 4, keep_alive=True), 1.0)
    assert reading.errors_by_class == {}
    assert served(reading) == reading.sent > 0
    assert reading.connects is not None
    assert reading.connects <= 4 + 0.1 * reading.sent


@pytest.mark.parametrize("front", [("http = :8000",), ("http-socket = :8000",)])
def test_a_client_opens_connections_anew_where_the_server_closes_them(
    launcher: DockerLauncher, front: tuple[str, ...]
) -> None:
    with ready(launcher, *front) as running:
        load = LOADS.as_served(running, TARGET, of("/", 4, keep_alive=True))
        assert load == of("/", 4)
        reading = OHA.drive(running, TARGET, load, 1.0)
    assert reading.errors_by_class == {}
    assert reading.connects is not None
    assert abs(reading.connects - reading.sent) <= 4 + 0.01 * reading.sent


def test_what_the_generator_cannot_send_is_refused(launcher: DockerLauncher) -> None:
    with ready(launcher) as running:
        OHA.check(running, TARGET, OpenLoop(kind="open_loop", rate_rps=50))
        with pytest.raises(TargetFailed, match="cannot send 900000 requests/s") as failed:
            OHA.check(running, TARGET, OpenLoop(kind="open_loop", rate_rps=900_000))
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED
