"""What becomes of one run of load: its figures, and what is doubted in them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tuner.bench.load.probe.rows import bucket
from tuner.bench.measurement import (
    Circumstances,
    HostReading,
    LoadReading,
    Placement,
    ProcessReading,
    QueueReading,
    Usage,
    counters_agree,
    service_figures,
    window_of,
)
from tuner.nouns.model import (
    ClosedLoop,
    Doubt,
    Histogram,
    Limits,
    Metric,
    OpenLoop,
    Service,
    ServiceFigures,
    Window,
)
from tuner.uwsgi.topology import Stats


def stats(requests: int, respawns: int = 0) -> Stats:
    return Stats(
        cores=4,
        requests=requests,
        respawns=respawns,
        running_us=requests * 10_000,
    )


APART = Placement(target="0", generator="1")
READING = LoadReading(
    started_at=datetime(2026, 11, 21, tzinfo=UTC),
    duration_s=1.5,
    wall_s=2.0,
    sent=400,
    requests=300,
    errors_by_class={},
    latency_p50_ms=10.0,
    latency_p95_ms=20.0,
    latency_p99_ms=30.0,
    client_cpu_s=0.4,
    stalled=0,
    before=stats(100),
    after=stats(500),
    listen_overflows=0,
    time_wait=12,
    ports_exhausted=False,
    processes=ProcessReading(busiest_cpu_s=1.2, master_cpu_s=0.02, router_cpu_s=None, switches=800),
    queue=QueueReading(p95=40.0, max=55, size=100),
    host=HostReading(cpus=2, busy_s=2.1, steal_s=0.02, own_s=0.5, wall_s=2.0, pressure_s=0.3),
)
BEFORE = Usage(
    cpu_s=1.0,
    periods=10,
    throttled_periods=0,
    memory_mb=50.0,
    system_cpu_s=0.1,
    engine_cpu_s=7.0,
)
AFTER = Usage(
    cpu_s=2.5,
    periods=30,
    throttled_periods=1,
    memory_mb=60.0,
    system_cpu_s=0.4,
    memory_peak_mb=70.0,
    engine_cpu_s=7.04,
)
UNDER = Circumstances(
    arm=1,
    load=ClosedLoop(concurrency=8),
    planned_s=2.0,
    limits=Limits(cpus=1.0),
    placement=APART,
)


def judged(reading: LoadReading = READING, after: Usage = AFTER, **circumstances: Any) -> Window:
    return window_of(reading, BEFORE, after, index=3, under=replace(UNDER, **circumstances))


def test_a_window_brings_client_server_and_kernel_together() -> None:
    window = judged()
    assert (window.index, window.arm, window.connections) == (3, 1, 8)
    assert window.throughput_rps == 200  # of the stretch after the head
    assert (window.sent, window.served) == (400, 400)  # of the whole run
    assert window.client_cpu == pytest.approx(0.25)  # probe and proxy included
    assert window.target_cpu == pytest.approx(0.75)
    assert window.throttled == pytest.approx(0.05)
    assert window.busy == pytest.approx(0.5)
    assert window.memory_mb == 60
    assert window.doubts == ()


def test_a_window_looks_inside_the_target() -> None:
    server = judged().server
    assert server.busiest_process == pytest.approx(0.6)
    assert server.router is None
    assert server.system_share == pytest.approx(0.2)
    assert server.switches_per_request == pytest.approx(2.0)
    assert server.queue_p95 == pytest.approx(0.4)
    assert (server.queue_max, server.queue_size) == (55, 100)
    assert server.memory_peak_mb == 70
    assert server.cores == pytest.approx(0.75)


def test_throughput_per_cpu_is_that_of_the_cpu_time_used() -> None:
    assert judged().value(Metric.RPS_PER_CPU) == pytest.approx(200 / 0.75)
    idle = replace(AFTER, cpu_s=BEFORE.cpu_s)
    assert judged(after=idle).value(Metric.RPS_PER_CPU) is None


def test_throughput_per_cpu_needs_as_many_requests_as_throughput() -> None:
    few = replace(READING, requests=24)
    for metric in (Metric.THROUGHPUT_RPS, Metric.RPS_PER_CPU):
        assert Doubt.TOO_FEW_REQUESTS in judged(few, metrics={metric}).doubts
        assert Doubt.TOO_FEW_REQUESTS not in judged(metrics={metric}).doubts


def test_a_window_looks_at_the_host_around() -> None:
    around = judged(cpu_speed=19.5).surroundings
    assert around.steal == pytest.approx(0.005)
    assert around.foreign_cpu == pytest.approx((2.1 - 0.5 - 1.5 - 0.04) / 2)
    assert around.engine_cpu == pytest.approx(0.02)
    assert around.pressure == pytest.approx(0.15)
    assert around.cpu_speed == 19.5
    assert judged().surroundings.cpu_speed is None


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        ({"client_cpu_s": 1.7}, Doubt.CLIENT_SATURATED),
        ({"errors_by_class": {"http_502": 3}}, Doubt.ERRORS),
        ({"after": stats(540)}, Doubt.COUNTER_MISMATCH),
        ({"after": stats(440)}, Doubt.COUNTER_MISMATCH),
        ({"ports_exhausted": True}, Doubt.PORTS_EXHAUSTED),
        ({"stalled": 1}, Doubt.UNFINISHED_CONNECTIONS),
        ({"requests": 20}, Doubt.TOO_FEW_REQUESTS),
        ({"after": stats(500, respawns=1)}, Doubt.DISTURBED),
        (
            {"host": HostReading(cpus=2, busy_s=2.8, steal_s=0.0, own_s=0.5, wall_s=2.0)},
            Doubt.NOISY_HOST,
        ),
        (
            {"host": HostReading(cpus=2, busy_s=2.0, steal_s=0.2, own_s=0.5, wall_s=2.0)},
            Doubt.NOISY_HOST,
        ),
    ],
)
def test_what_does_not_agree_becomes_a_doubt(changes: dict[str, Any], doubt: Doubt) -> None:
    assert judged(replace(READING, **changes)).doubts == (doubt,)


@pytest.mark.parametrize(
    ("after", "doubt"),
    [
        (replace(AFTER, throttled_periods=5), Doubt.THROTTLED),
        (replace(AFTER, oom_kills=1), Doubt.DISTURBED),
    ],
)
def test_what_the_kernel_did_becomes_a_doubt(after: Usage, doubt: Doubt) -> None:
    assert judged(after=after).doubts == (doubt,)


def test_connections_that_a_full_queue_drops_do_not_void_a_window() -> None:
    starved = judged(replace(READING, stalled=4, listen_overflows=60))
    assert Doubt.UNFINISHED_CONNECTIONS not in starved.doubts


def test_what_the_engine_logs_for_the_target_is_no_noise() -> None:
    busy = replace(READING, host=HostReading(cpus=2, busy_s=3.0, steal_s=0, own_s=0.5, wall_s=2.0))
    assert Doubt.NOISY_HOST in judged(busy).doubts
    assert judged(busy, after=replace(AFTER, engine_cpu_s=7.9)).doubts == ()


def test_where_the_engine_cannot_be_told_apart_more_is_borne() -> None:
    unseen = replace(AFTER, engine_cpu_s=None)
    for busy_s, is_noisy in ((3.0, False), (4.0, True)):
        host = HostReading(cpus=2, busy_s=busy_s, steal_s=0, own_s=0.5, wall_s=2.0)
        doubts = judged(replace(READING, host=host), after=unseen).doubts
        assert (Doubt.NOISY_HOST in doubts) is is_noisy


def used(cpu_s: float, periods: int = 0, throttled: int = 0, **more: Any) -> Usage:
    return Usage(cpu_s=cpu_s, periods=periods, throttled_periods=throttled, memory_mb=200.0, **more)


def test_a_service_is_measured_against_what_it_may_have() -> None:
    services = {
        "postgres": Service(image="postgres:16", cpus=0.5),
        "redis": Service(image="redis:7"),
        "search": Service(image="search:1", cpus=8),
        "migrate": Service(image="shop:1"),
    }
    before = {
        "postgres": used(3.0, 5, 1),
        "redis": used(1.0),
        "search": used(0),
        "migrate": used(9),
    }
    after = {"postgres": used(3.9, 25, 11, oom_kills=1), "redis": used(1.5), "search": used(1.0)}
    found = service_figures(
        READING,
        before,
        after,
        services=services,
        placement=replace(APART, elsewhere="2,3"),
        written_mb={"postgres": 12.5},
        round_trips_ms={"postgres": 0.52},
    )
    assert set(found) == {"postgres", "redis", "search"}  # what has ended used nothing
    assert found["postgres"].cores == pytest.approx(0.45)
    assert found["postgres"].cpu == pytest.approx(0.9)
    assert found["postgres"].throttled == pytest.approx(0.5)
    assert (found["postgres"].memory_mb, found["postgres"].oom_kills) == (200, 1)
    assert (found["postgres"].written_mb, found["redis"].written_mb) == (12.5, None)
    assert (found["postgres"].rtt_ms, found["redis"].rtt_ms) == (0.52, None)
    assert found["redis"].cpu == pytest.approx(0.25 / 2)  # two CPUs for all services
    assert found["search"].cpu == pytest.approx(0.5 / 2)  # its limit is above what there is
    assert found["redis"].throttled is None
    limits = {name: each.is_limit_of_bench for name, each in found.items()}
    assert limits == {"postgres": False, "redis": True, "search": True}
    busy = service_figures(
        READING,
        before,
        {"postgres": used(4.2)},
        services=services,
        placement=APART,
        written_mb={},
        round_trips_ms={},
    )
    assert busy["postgres"].cpu == 1.0


def test_what_a_service_uses_is_not_foreign() -> None:
    busy = replace(READING, host=HostReading(cpus=2, busy_s=3.0, steal_s=0, own_s=0.5, wall_s=2.0))
    assert Doubt.NOISY_HOST in judged(busy).doubts
    services = {"postgres": ServiceFigures(cores=0.4, cpu=0.4, memory_mb=200.0)}
    window = judged(busy, services=services)
    assert window.doubts == ()
    assert window.surroundings.foreign_cpu == pytest.approx(1.0 / 2 - 0.04 / 2 - 0.4)
    assert window.services == services
    assert window.surroundings.with_services is None


def test_cpus_that_target_and_services_share_are_full_with_the_work_of_both() -> None:
    busy = replace(READING, host=HostReading(cpus=2, busy_s=3.0, steal_s=0, own_s=0.5, wall_s=2.0))
    services = {"postgres": ServiceFigures(cores=0.15, memory_mb=200.0)}
    beside = replace(APART, has_beside=True)
    window = judged(busy, services=services, beside={"postgres"}, placement=beside)
    assert window.surroundings.with_services == pytest.approx(0.75 + 0.15)
    assert window.surroundings.generator_with_services is None
    assert window.doubts == judged(busy).doubts, "the user says that production is like this"


@pytest.mark.parametrize(
    ("cores", "doubts"),
    [(0.5, ()), (0.56, (Doubt.BENCH_BUSY,)), (0.71, (Doubt.BENCH_FULL,))],
)
def test_cpus_that_generator_and_services_share_may_run_out(
    cores: float, doubts: tuple[Doubt, ...]
) -> None:
    services = {
        "postgres": ServiceFigures(cores=cores, memory_mb=200.0),
        "redis": ServiceFigures(cores=0.3, memory_mb=20.0),
    }
    placement = replace(APART, elsewhere="1", has_beside=True)
    window = judged(services=services, beside={"redis"}, placement=placement)
    assert window.surroundings.generator_with_services == pytest.approx(0.25 + cores)
    assert window.doubts == doubts
    assert window.is_void is (Doubt.BENCH_FULL in doubts)


@pytest.mark.parametrize(
    ("figures", "is_doubted"),
    [
        ({"cpu": 0.96}, True),
        ({"cpu": 0.95}, False),
        ({"cpu": 0.7, "throttled": 0.51}, True),
        ({"cpu": 0.7, "throttled": 0.5}, False),
        ({}, False),
    ],
)
def test_a_service_at_its_limit_marks_a_window(figures: Any, is_doubted: bool) -> None:
    idle = ServiceFigures(cores=0.0, cpu=0.0, memory_mb=10.0)
    services = {"redis": idle, "postgres": ServiceFigures(cores=0.1, memory_mb=200.0, **figures)}
    window = judged(services=services)
    assert window.doubts == ((Doubt.SERVICES_SATURATED,) if is_doubted else ())
    assert not window.is_void


def test_a_refusal_marks_a_window_and_keeps_its_line() -> None:
    window = judged(refusal="FATAL:  sorry, too many clients already")
    assert window.doubts == (Doubt.SERVICE_REFUSED,)
    assert window.surroundings.refusal == "FATAL:  sorry, too many clients already"
    without_host = judged(replace(READING, host=None), refusal="too many")
    assert without_host.surroundings.refusal == "too many"


def test_circumstances_become_doubts() -> None:
    shared = replace(APART, generator="0,1")
    assert judged(placement=shared).doubts == (Doubt.SHARED_CPUS,)
    assert judged(steady=False).doubts == (Doubt.NOT_STEADY,)


def test_a_percentile_that_is_used_needs_its_number_of_requests() -> None:
    assert judged(metrics={Metric.LATENCY_P50_MS}).doubts == ()
    assert judged(metrics={Metric.LATENCY_P99_MS}).doubts == (Doubt.TOO_FEW_REQUESTS,)


@pytest.mark.parametrize(("rate_rps", "falls_short"), [(200.0, False), (210.0, True)])
def test_a_rate_that_was_not_sent_is_a_doubt(rate_rps: float, falls_short: bool) -> None:
    load = OpenLoop(kind="open_loop", rate_rps=rate_rps, concurrency=8)
    assert (Doubt.RATE_NOT_REACHED in judged(load=load).doubts) is falls_short


@pytest.mark.parametrize(
    "doubt",
    [
        Doubt.PORTS_EXHAUSTED,
        Doubt.COUNTER_MISMATCH,
        Doubt.UNFINISHED_CONNECTIONS,
        Doubt.BENCH_FULL,
    ],
)
def test_a_window_that_does_not_show_the_configuration_is_void(doubt: Doubt) -> None:
    assert replace(judged(), doubts=(doubt,)).is_void


def test_every_other_doubt_only_marks() -> None:
    marking = [doubt for doubt in Doubt if not doubt.voids]
    assert len(marking) == len(Doubt) - 4
    assert not replace(judged(), doubts=tuple(marking)).is_void


def test_every_doubt_has_a_sentence_of_its_own() -> None:
    assert len({doubt.sentence for doubt in Doubt}) == len(Doubt)


@pytest.mark.parametrize(
    ("served", "agree"), [(10_000, True), (10_018, True), (10_019, False), (9_981, False)]
)
def test_counters_may_differ_by_a_thousandth_and_what_was_in_flight(
    served: int, agree: bool
) -> None:
    assert counters_agree(served, 10_000, 8) is agree


@pytest.mark.parametrize(
    ("keep_alive", "connects", "doubt"),
    [
        (False, 400, None),
        (False, 408, None),  # one in flight on each connection
        (False, 300, Doubt.COUNTER_MISMATCH),
        (True, 8, Doubt.UNCOUNTED),
        (True, 400, None),  # the server closes each
    ],
)
def test_requests_of_another_server_are_counted_by_their_connections(
    keep_alive: bool, connects: int, doubt: Doubt | None
) -> None:
    seen = replace(READING, before=None, after=None, processes=None, connects=connects)
    load = ClosedLoop(concurrency=8, keep_alive=keep_alive)
    found = judged(seen, load=load)
    counts = {Doubt.COUNTER_MISMATCH, Doubt.UNCOUNTED} & {*found.doubts}
    assert counts == ({doubt} if doubt else set())
    assert found.served is None
    assert found.is_void is (doubt is Doubt.COUNTER_MISMATCH)


def slow(requests: int, latency_s: float | None, errors: int = 0) -> LoadReading:
    """1 000 connections for 2 s."""
    counts = {} if latency_s is None else {bucket(round(1e6 * latency_s)): 1_000}
    return replace(
        READING,
        duration_s=2.0,
        sent=3_000,
        requests=requests,
        errors_by_class={"refused": errors} if errors else {},
        histogram=Histogram(counts),
    )


@pytest.mark.parametrize(
    ("requests", "latency_s", "is_doubted"),
    [
        (2_000, 1.0, False),  # 1 000 requests/s x 1.0 s are all connections
        (2_000, 1.23, True),  # a wave too many
        (2_000, 0.8, True),  # a wave too few
        (2_000, 1.07, False),
        (4_000, 0.3, False),  # the client was slow: it had 600 requests under way
        (0, None, True),  # the first wave took longer than the window
    ],
)
def test_a_rate_that_the_latencies_contradict_is_doubted(
    requests: int, latency_s: float | None, is_doubted: bool
) -> None:
    window = judged(slow(requests, latency_s), load=ClosedLoop(concurrency=1000))
    assert (Doubt.WINDOW_TOO_SHORT in window.doubts) == is_doubted


def test_where_requests_fail_or_come_at_a_rate_latencies_contradict_nothing() -> None:
    failing = judged(slow(2_000, 1.23, errors=100), load=ClosedLoop(concurrency=1000))
    at_a_rate = judged(
        slow(2_000, 1.23), load=OpenLoop(kind="open_loop", rate_rps=1000, concurrency=1000)
    )
    for window in (failing, at_a_rate):
        assert Doubt.WINDOW_TOO_SHORT not in window.doubts
