"""Counters to the bottleneck."""

from typing import Any

import pytest

from tests.builders import block, history, job, space, spec, window
from tuner.judge import diagnosis
from tuner.judge.diagnosis import diagnose
from tuner.judge.diagnosis.rules import WATCHED, figures_of
from tuner.nouns import wording
from tuner.nouns.model import (
    Bottleneck,
    Burst,
    Diagnosis,
    Doubt,
    HttpRequest,
    JobKind,
    Ladder,
    Limits,
    OpenLoop,
    Origin,
    ProxyTimes,
    ServerFigures,
    ServiceFigures,
    Spread,
    Surroundings,
    Trial,
    TrialNumber,
    TrialState,
    Variant,
)

LIMITS = Limits(cpus=1.0, memory_mb=512)
TWO_CORES = Limits(cpus=2.0, memory_mb=512)


def spread(p95_ms: float) -> Spread:
    return Spread(p50_ms=p95_ms / 2, p95_ms=p95_ms, max_ms=p95_ms)


def proxy(connect_p95_ms: float) -> ProxyTimes:
    return ProxyTimes(
        requests=100,
        by_status={"200": 100},
        connect=spread(connect_p95_ms),
        header=spread(10.0),
        response=spread(10.0),
        request=spread(10.0),
    )


def seen_with(
    limits: Limits = TWO_CORES, *, server: dict[str, Any] | None = None, **seen: Any
) -> Diagnosis:
    """Of three equal windows; keywords of `diagnose` are told from those of a window."""
    known = ("processes", "threads", "connections", "wants_kept", "is_uwsgi")
    options = {key: seen.pop(key) for key in known if key in seen}
    return diagnose([window(server=ServerFigures(**(server or {})), **seen)] * 3, limits, **options)


@pytest.mark.parametrize(
    ("seen", "threads", "bottleneck"),
    [
        ({"requests": 90, "errors": 10}, 1, Bottleneck.APP_ERRORS),
        ({"memory_mb": 520.0}, 1, Bottleneck.MEMORY),
        ({"target_cpu": 0.97, "busy": 1.0}, 1, Bottleneck.CPU_QUOTA),
        ({"throttled": 0.5, "target_cpu": 0.8}, 1, Bottleneck.CPU_QUOTA),
        ({"client_cpu": 0.95, "busy": 0.4}, 1, Bottleneck.LOAD_GENERATOR),
        ({"target_cpu": 0.7, "busy": 0.95}, 8, Bottleneck.GIL),
        ({"target_cpu": 0.1, "busy": 1.0}, 1, Bottleneck.IO_WAIT),
        ({"listen_overflows": 4, "busy": 0.3}, 1, Bottleneck.BACKLOG),
        ({}, 1, Bottleneck.UNKNOWN),
    ],
)
def test_each_bottleneck_shows_in_its_counters(
    seen: dict[str, Any], threads: int, bottleneck: Bottleneck
) -> None:
    found = diagnose([window(**seen)] * 3, LIMITS, threads=threads)
    assert found.bottleneck is bottleneck
    assert found.sentence


def test_the_evidence_is_what_was_watched() -> None:
    found = diagnose([window(busy=None, target_cpu=0.97)], LIMITS)
    assert found.evidence["target_cpu"] == 0.97
    assert "busy" not in found.evidence


def test_without_windows_nothing_is_known() -> None:
    assert diagnose([], LIMITS).bottleneck is Bottleneck.UNKNOWN


def test_every_bottleneck_has_a_sentence_that_ends_without_a_full_stop() -> None:
    from tuner.judge.diagnosis.rules import Seen
    from tuner.judge.diagnosis.sentences import sentence_of

    seen = Seen(evidence={}, cpus=1.0, processes=1, threads=1, connections=None)
    for bottleneck in Bottleneck:
        assert not sentence_of(bottleneck, seen).endswith(".")


def test_a_slot_for_every_connection_leaves_only_the_workload_as_the_limit() -> None:
    found = diagnose([window()] * 3, LIMITS, processes=8, threads=2, connections=16)
    assert found.bottleneck is Bottleneck.CONCURRENCY
    waiting = diagnose(
        [window(busy=1.0, target_cpu=0.1)], LIMITS, processes=8, threads=2, connections=16
    )
    assert waiting.bottleneck is Bottleneck.CONCURRENCY
    busy = diagnose([window(target_cpu=0.95)], LIMITS, processes=8, threads=2, connections=16)
    assert busy.bottleneck is Bottleneck.CPU_QUOTA
    fewer = diagnose([window(busy=0.6)], LIMITS, processes=8, threads=1, connections=16)
    assert fewer.bottleneck is Bottleneck.UNKNOWN


@pytest.mark.parametrize(
    ("cpus", "words"),
    [(1.0, "its one core is"), (2.0, "both cores are"), (4.0, "all 4 cores are"), (0.5, "0.5 CPU")],
)
def test_a_full_cpu_says_how_much_cpu_that_is(cpus: float, words: str) -> None:
    found = seen_with(Limits(cpus=cpus), target_cpu=0.97, busy=1.0)
    assert words in found.sentence
    assert "no uWSGI option will help" in found.sentence


def test_a_process_that_fills_a_core_while_cpu_is_left_is_the_gil() -> None:
    server = {"busiest_process": 0.97}
    threads = seen_with(target_cpu=0.5, busy=1.0, threads=8, server=server)
    assert threads.bottleneck is Bottleneck.GIL
    assert "threads will not" in threads.sentence
    single = seen_with(target_cpu=0.5, busy=1.0, server=server)
    assert single.bottleneck is Bottleneck.GIL
    assert "more processes would use it" in single.sentence


def test_busy_slots_whose_processes_hardly_compute_wait() -> None:
    found = seen_with(target_cpu=0.1, busy=1.0, threads=4, server={"busiest_process": 0.05})
    assert found.bottleneck is Bottleneck.IO_WAIT
    assert "all 4 slots are busy waiting" in found.sentence


def test_a_router_that_fills_its_core_is_the_bottleneck_even_where_the_quota_is_full() -> None:
    found = seen_with(LIMITS, target_cpu=0.95, busy=0.2, server={"router": 0.9})
    assert found.bottleneck is Bottleneck.ROUTER
    shared = seen_with(LIMITS, target_cpu=0.95, busy=1.0, server={"router": 0.4})
    assert shared.bottleneck is Bottleneck.CPU_QUOTA
    assert "http router takes 40 % of the quota" in shared.sentence
    little = seen_with(LIMITS, target_cpu=0.95, busy=1.0, server={"router": 0.1})
    assert "no uWSGI option will help" in little.sentence


def test_a_kill_for_memory_comes_before_the_errors_that_it_makes() -> None:
    found = seen_with(errors_by_class={"reset": 10}, errors=10, server={"oom_kills": 1})
    assert found.bottleneck is Bottleneck.MEMORY
    assert found.evidence["oom_kills"] == 3
    assert "killed processes for memory" in found.sentence


def test_processes_that_wake_each_other_come_before_the_cpu_that_they_burn() -> None:
    server = {"system_share": 0.8, "switches_per_request": 12.0}
    herd = seen_with(target_cpu=0.95, busy=0.3, processes=32, server=server)
    assert herd.bottleneck is Bottleneck.LOCK_CONTENTION
    assert "thunder-lock" in herd.sentence
    few = seen_with(target_cpu=0.95, busy=0.3, processes=2, server=server)
    assert few.bottleneck is Bottleneck.CPU_QUOTA


def test_connections_that_wait_while_all_is_idle_are_held_up_by_the_log() -> None:
    idle: dict[str, Any] = {"busy": 0.1, "target_cpu": 0.1, "processes": 2, "connections": 64}
    queue = {"queue_p95": 0.6, "queue_size": 100, "queue_max": 62}
    assert seen_with(**idle, server=queue).bottleneck is Bottleneck.LOG_SINK
    assert seen_with(**idle).bottleneck is Bottleneck.LOG_SINK
    starved = seen_with(**idle, server=queue, surroundings=Surroundings(foreign_cpu=1.7))
    assert starved.bottleneck is Bottleneck.UNKNOWN
    empty = {"queue_p95": 0.0, "queue_size": 100, "queue_max": 0}
    assert seen_with(**idle, server=empty).bottleneck is Bottleneck.UNKNOWN


def test_a_server_that_keeps_up_with_a_fixed_rate_is_not_held_up() -> None:
    now_and_then = {"queue_p95": 0.02, "queue_size": 100, "queue_max": 3}
    found = seen_with(busy=0.3, target_cpu=0.2, processes=1, server=now_and_then)
    assert found.bottleneck is Bottleneck.UNKNOWN


def test_a_master_that_writes_the_log_for_all_is_a_log_sink() -> None:
    found = seen_with(target_cpu=0.6, busy=0.9, server={"master": 0.7})
    assert found.bottleneck is Bottleneck.LOG_SINK
    assert "log-master" in found.sentence


@pytest.mark.parametrize(
    "waits",
    [
        {"listen_overflows": 40},
        {"connect": spread(1010.0)},
        {"proxy": proxy(2000.0)},
    ],
)
def test_free_slots_while_connections_wait_are_a_backlog_however_it_shows(
    waits: dict[str, Any],
) -> None:
    assert seen_with(busy=0.5, target_cpu=0.4, **waits).bottleneck is Bottleneck.BACKLOG


def test_a_full_server_and_the_place_of_its_wait_are_both_named() -> None:
    full: dict[str, Any] = {"target_cpu": 0.97, "busy": 1.0, "processes": 2}
    outside = seen_with(**full, listen_overflows=900, connect=spread(3020.0))
    assert outside.bottleneck is Bottleneck.CPU_QUOTA
    assert "connections wait 3.0 s to be accepted" in outside.sentence
    assert "total time will not change" in outside.sentence
    queue = {"queue_p95": 0.1, "queue_size": 4096, "queue_max": 490}
    inside = seen_with(**full, connect=spread(2.0), server=queue)
    assert inside.bottleneck is Bottleneck.CPU_QUOTA
    assert "410 connections wait in the listen queue" in inside.sentence
    assert "total time will not change" in inside.sentence


def test_the_queue_of_a_closed_loop_is_no_news() -> None:
    queue = {"queue_p95": 0.62, "queue_size": 100, "queue_max": 63}
    found = seen_with(target_cpu=0.97, busy=1.0, connections=64, server=queue)
    assert found.bottleneck is Bottleneck.CPU_QUOTA
    assert "queue" not in found.sentence


def test_a_neighbour_on_the_host_is_named_where_no_limit_was_reached() -> None:
    found = seen_with(busy=0.7, surroundings=Surroundings(foreign_cpu=0.8))
    assert found.bottleneck is Bottleneck.UNKNOWN
    assert "something else kept 0.8 CPUs of the host busy" in found.sentence


def test_what_a_full_queue_makes_of_requests_is_not_held_against_the_app() -> None:
    full: dict[str, Any] = {"target_cpu": 0.97, "busy": 1.0, "errors": 10, "requests": 90}
    timeouts = seen_with(**full, errors_by_class={"connect_timeout": 10})
    assert timeouts.bottleneck is Bottleneck.CPU_QUOTA
    gateway = seen_with(**full, errors_by_class={"http_504": 10}, proxy=proxy(5000.0))
    assert gateway.bottleneck is Bottleneck.CPU_QUOTA
    own = seen_with(**full, errors_by_class={"http_504": 10})
    assert own.bottleneck is Bottleneck.APP_ERRORS


def test_connections_that_nobody_answered_are_named_and_blamed_on_keep_alive() -> None:
    found = seen_with(busy=0.1, target_cpu=0.1, processes=4, connections=64, stalled=60)
    assert found.bottleneck is Bottleneck.UNKNOWN
    assert "60 connections never got an answer" in found.sentence


def test_of_a_ladder_the_top_rung_counts() -> None:
    ladder = spec(workload=Ladder(kind="ladder", concurrencies=(2, 200)))
    windows = [window(connections=2, busy=0.1), window(connections=200, busy=1.0, target_cpu=0.97)]
    found = diagnosis.of_file(windows, ladder, "[uwsgi]\nprocesses = 2\n")
    assert found.bottleneck is Bottleneck.CPU_QUOTA


def test_void_windows_say_something_only_where_there_are_no_others() -> None:
    void = window(busy=1.0, target_cpu=0.1, doubts=(Doubt.PORTS_EXHAUSTED,))
    good = window(target_cpu=0.97)
    ini = "[uwsgi]\nprocesses = 2\n"
    assert diagnosis.of_file([void, void, good], spec(), ini).bottleneck is Bottleneck.CPU_QUOTA
    assert diagnosis.of_file([void], spec(), ini).bottleneck is Bottleneck.IO_WAIT


@pytest.mark.parametrize(
    "workload", [OpenLoop(kind="open_loop", rate_rps=50), Burst(kind="burst", users=4)]
)
def test_where_load_comes_by_itself_connections_are_no_limit(workload: Any) -> None:
    found = diagnosis.of_file([window()], spec(workload=workload), "[uwsgi]\nprocesses = 8\n")
    assert found.bottleneck is Bottleneck.UNKNOWN


def beside(**services: dict[str, float]) -> dict[str, ServiceFigures]:
    """Services by name, with their share of CPU and of throttled periods."""
    return {
        name: ServiceFigures(cores=seen.get("cpu", 0.0), memory_mb=90.0, **seen)  # type: ignore[arg-type]
        for name, seen in services.items()
    }


WAITS: dict[str, Any] = {"target_cpu": 0.2, "busy": 1.0, "processes": 4}


def test_a_service_at_its_limit_is_named_before_the_slots_that_wait_for_it() -> None:
    assert seen_with(**WAITS).bottleneck is Bottleneck.IO_WAIT
    services = beside(redis={"cpu": 0.1}, postgres={"cpu": 0.984, "throttled": 0.3})
    found = seen_with(**WAITS, services=services)
    assert found.bottleneck is Bottleneck.BACKING_SERVICE
    assert found.sentence == (
        "postgres uses 98 % of its CPU: no uWSGI option will help; look at its slow queries or"
        " give it more CPU"
    )
    assert (found.evidence["postgres.cpu"], found.evidence["redis.cpu"]) == (0.984, 0.1)
    assert found.evidence["postgres.throttled"] == 0.3
    assert "redis.throttled" not in found.evidence


def test_a_service_that_is_stopped_most_of_the_time_is_full_too() -> None:
    found = seen_with(**WAITS, services=beside(postgres={"cpu": 0.7, "throttled": 0.8}))
    assert found.bottleneck is Bottleneck.BACKING_SERVICE
    assert found.sentence.startswith("postgres is throttled in 80 % of its periods: no uWSGI")


@pytest.mark.parametrize(
    ("seen", "bottleneck"),
    [
        ({"cpu": 0.89}, Bottleneck.IO_WAIT),
        ({"cpu": 0.9}, Bottleneck.BACKING_SERVICE),
        ({"cpu": 0.5, "throttled": 0.4}, Bottleneck.IO_WAIT),
        ({}, Bottleneck.IO_WAIT),
    ],
)
def test_a_service_with_cpu_left_is_no_bottleneck(
    seen: dict[str, float], bottleneck: Bottleneck
) -> None:
    assert seen_with(**WAITS, services=beside(postgres=seen)).bottleneck is bottleneck


@pytest.mark.parametrize(
    ("seen", "bottleneck"),
    [
        ({"target_cpu": 0.97, "busy": 1.0}, Bottleneck.CPU_QUOTA),
        ({"target_cpu": 0.5, "errors": 10, "requests": 90}, Bottleneck.APP_ERRORS),
        ({"target_cpu": 0.5, "server": {"busiest_process": 0.97}}, Bottleneck.BACKING_SERVICE),
        ({"target_cpu": 0.1, "busy": 0.1, "connections": 64}, Bottleneck.BACKING_SERVICE),
        ({"target_cpu": 0.1, "busy": 0.1}, Bottleneck.BACKING_SERVICE),
        ({"target_cpu": 0.1, "connections": 1}, Bottleneck.BACKING_SERVICE),
    ],
)
def test_a_full_service_comes_after_the_apps_own_limit_and_before_all_guesses(
    seen: dict[str, Any], bottleneck: Bottleneck
) -> None:
    full = beside(postgres={"cpu": 0.97})
    assert seen_with(**seen, services=full).bottleneck is bottleneck


def test_of_two_full_services_the_fuller_one_is_named() -> None:
    found = seen_with(**WAITS, services=beside(a={"cpu": 0.92}, b={"cpu": 0.99}))
    assert found.sentence.startswith("b uses 99 %")


def test_the_middle_window_says_how_full_a_service_is() -> None:
    windows = [
        window(busy=1.0, target_cpu=0.2, services=beside(redis={"cpu": share}))
        for share in (0.1, 0.95, 0.97)
    ]
    assert diagnose(windows, LIMITS).sentence.startswith("redis uses 95 %")
    assert diagnose(windows[:2], LIMITS).bottleneck is Bottleneck.IO_WAIT


def test_a_service_that_is_seen_in_some_windows_keeps_its_figures() -> None:
    part = [
        window(services={"redis": ServiceFigures(cores=0.2, memory_mb=mb, **more)})
        for mb, more in (
            (8.0, {"oom_kills": 1}),
            (10.0, {"oom_kills": 1, "written_mb": 3.5, "rtt_ms": 0.5}),
        )
    ]
    found = diagnosis.services_of([window(), *part])
    used = ServiceFigures(cores=0.2, memory_mb=9.0, oom_kills=2, written_mb=3.5, rtt_ms=0.5)
    assert found == {"redis": used}


REFUSAL = "FATAL:  sorry, too many clients already"


def test_a_refused_connection_explains_the_errors_that_it_makes() -> None:
    refused = Surroundings(refusal=REFUSAL)
    failing: dict[str, Any] = {"errors": 10, "requests": 90, "processes": 8, "threads": 4}
    found = seen_with(**failing, surroundings=refused)
    assert found.bottleneck is Bottleneck.BACKING_SERVICE
    assert found.sentence == (
        f"a service refused connections ({REFUSAL}): 32 slots (processes x threads) exceed what"
        " it allows; set max_slots"
    )
    assert seen_with(**failing).bottleneck is Bottleneck.APP_ERRORS
    few = seen_with(errors=1, requests=999, surroundings=refused)
    assert few.bottleneck is Bottleneck.UNKNOWN


def trial(number: int, **params: int) -> Trial:
    return Trial(
        number=TrialNumber(number), params=params, origin=Origin.SAMPLER, state=TrialState.RUNNING
    )


def test_a_trial_is_diagnosed_from_its_own_windows_and_its_own_file() -> None:
    chosen = spec(search_space=space(processes={"type": "int", "low": 1, "high": 64}))
    windows = [window(0, target_cpu=0.97), window(1, busy=0.4)]
    rows = history(
        job=job(spec=chosen),
        trials=(trial(0, processes=2), trial(3, processes=64)),
        measurements=(block(windows, arms=(0, 3)),),
    )
    assert diagnosis.of_trial(rows, TrialNumber(0)).bottleneck is Bottleneck.CPU_QUOTA
    assert diagnosis.of_trial(rows, TrialNumber(3)).bottleneck is Bottleneck.CONCURRENCY


def test_a_trial_of_a_comparison_is_one_of_the_given_files() -> None:
    many = Variant(name="b.ini", ini="[uwsgi]\nprocesses = 64\n")
    chosen = spec(kind=JobKind.COMPARE, variants=(Variant(name="a.ini", ini="[uwsgi]\n"), many))
    rows = history(
        job=job(spec=chosen),
        measurements=(block([window(0), window(1, busy=0.4)], arms=(0, 1)),),
    )
    assert diagnosis.of_trial(rows, TrialNumber(1)).bottleneck is Bottleneck.CONCURRENCY


BURST = Burst(kind="burst", users=500, limit_s=5.0)


@pytest.mark.parametrize(
    ("target_cpu", "bottleneck"), [(0.65, Bottleneck.CPU_QUOTA), (0.3, Bottleneck.IO_WAIT)]
)
def test_a_burst_beyond_the_slots_is_no_matter_of_the_queue(
    target_cpu: float, bottleneck: Bottleneck
) -> None:
    dropped = window(
        duration_s=12.0, busy=0.7, target_cpu=target_cpu, over_limit=0.4, listen_overflows=900
    )
    found = diagnosis.of_file([dropped], spec(workload=BURST), "[uwsgi]\nprocesses = 2\n")
    assert found.bottleneck is bottleneck
    assert "raising listen moves the wait" in found.sentence


def test_every_request_of_a_journey_has_its_own_time_to_wait() -> None:
    three = BURST.model_copy(update={"requests": (HttpRequest(),) * 3})
    dropped = window(duration_s=12.0, busy=0.7, over_limit=0.2, listen_overflows=900)
    found = diagnosis.of_file([dropped], spec(workload=three), "[uwsgi]\nprocesses = 2\n")
    assert found.bottleneck is Bottleneck.BACKLOG


def test_a_burst_that_the_slots_could_serve_in_time_waits_for_the_queue() -> None:
    dropped = window(duration_s=6.0, busy=0.3, target_cpu=0.2, over_limit=0.2, listen_overflows=900)
    found = diagnosis.of_file([dropped], spec(workload=BURST), "[uwsgi]\nprocesses = 2\n")
    assert found.bottleneck is Bottleneck.BACKLOG


@pytest.mark.parametrize(
    ("wants_kept", "connections", "is_said"),
    [(True, 1.0, True), (True, 0.01, False), (False, 1.0, False), (True, None, False)],
)
def test_connections_that_clients_cannot_keep_are_named(
    wants_kept: bool, connections: float | None, is_said: bool
) -> None:
    server = {"connections_per_request": connections}
    found = seen_with(busy=0.95, target_cpu=0.2, wants_kept=wants_kept, server=server)
    assert found.bottleneck is Bottleneck.IO_WAIT
    assert ("http with http-keepalive" in found.sentence) is is_said


@pytest.mark.parametrize(
    ("seen", "bottleneck", "words"),
    [
        (
            {"target_cpu": 0.7},
            Bottleneck.CPU_QUOTA,
            "the app (0.70 CPU) and what runs beside it (redis 0.25)",
        ),
        ({"target_cpu": 0.7, "together": 0.5}, Bottleneck.IO_WAIT, "busy waiting"),
        ({"target_cpu": 0.9}, Bottleneck.CPU_QUOTA, "its one core is busy in the app"),
        ({"target_cpu": 0.02, "redis": 0.95}, Bottleneck.BACKING_SERVICE, "redis uses 95 %"),
    ],
)
def test_cpus_that_app_and_services_use_up_together_are_no_wait(
    seen: dict[str, float], bottleneck: Bottleneck, words: str
) -> None:
    redis, together = seen.get("redis", 0.25), seen.get("together", 0.95)
    used = window(
        busy=0.97,
        target_cpu=seen["target_cpu"],
        services={"redis": ServiceFigures(cores=redis, cpu=redis, memory_mb=9.0)},
        surroundings=Surroundings(with_services=together),
    )
    found = diagnose([used] * 3, LIMITS.model_copy(update={"cpus": 1.0}))
    assert found.bottleneck is bottleneck
    assert words in found.sentence


def test_of_another_server_only_cgroup_kernel_and_client_count() -> None:
    def seen(**figures: Any) -> Diagnosis:
        return seen_with(is_uwsgi=False, busy=None, **figures)

    assert seen(target_cpu=0.95).bottleneck is Bottleneck.CPU_QUOTA
    assert seen(target_cpu=0.95).sentence == "the server uses up its CPU"
    waits: dict[str, Any] = {"target_cpu": 0.2, "connect": spread(1_000.0)}
    assert seen(**waits).bottleneck is Bottleneck.UNKNOWN
    assert seen_with(busy=0.1, **waits).bottleneck is Bottleneck.BACKLOG
    for bottleneck in diagnosis.rules.OF_ANY_SERVER:
        assert "uWSGI" not in diagnosis.sentences.sentence_of(
            bottleneck,
            diagnosis.rules.Seen(
                evidence={}, cpus=1.0, processes=1, threads=1, connections=None, is_uwsgi=False
            ),
        )


def test_every_figure_that_is_watched_has_its_words() -> None:
    used = ServiceFigures(cores=0.1, cpu=0.25, throttled=0.5, memory_mb=9.5)
    killed = window(server=ServerFigures(oom_kills=2), memory_mb=50.0)
    known = figures_of([killed], spec().limits, {"db": used})
    shown = dict(wording.watched(name, value) for name, value in known.items())
    assert shown["CPU of db, of its limit"] == "25.0 %"
    assert shown["processes that the kernel killed for memory"] == "2"
    assert {*WATCHED} <= {*wording.WATCHED}
    assert wording.watched("watched_once", 0.5) == ("watched_once", "0.5")
