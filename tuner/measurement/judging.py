"""One stretch of load, judged: what client, uWSGI and kernel say, and what does not agree."""

from tuner.measurement.host import LoadReading, SideSpec, Usage
from tuner.model import Doubt, Window

CLIENT_SATURATED_ABOVE = 0.8  # share of the load generator's CPUs
COUNTERS_MAY_DIFFER_BY = 0.001  # of the requests; plus one request in flight per connection


def window_of(
    reading: LoadReading,
    before: Usage,
    after: Usage,
    *,
    index: int,
    side: SideSpec,
    concurrency: int,
    client_cpus: int,
    shares_cpus: bool,
) -> Window:
    """Bring the client's figures, uWSGI's and the kernel's together, with what to doubt in them."""
    seconds = reading.duration_s
    periods = after.periods - before.periods
    errors = sum(reading.errors_by_class.values())
    served, respawns, busy = _server_side(reading)
    client_cpu = reading.client_cpu_s / (seconds * client_cpus) if seconds else 0.0
    doubts = {
        Doubt.CLIENT_SATURATED: client_cpu > CLIENT_SATURATED_ABOVE,
        Doubt.ERRORS: errors > 0,
        Doubt.COUNTER_MISMATCH: served is not None
        and not counters_agree(served, reading.requests + errors, errors + concurrency),
        Doubt.PORTS_EXHAUSTED: reading.ports_exhausted,
        Doubt.SHARED_CPUS: shares_cpus,
        Doubt.DISTURBED: respawns > 0,
    }
    return Window(
        index=index,
        side=side.index,
        started_at=reading.started_at,
        duration_s=seconds,
        requests=reading.requests,
        errors=errors,
        errors_by_class=dict(reading.errors_by_class),
        throughput_rps=reading.requests / seconds if seconds else 0.0,
        latency_p50_ms=reading.latency_p50_ms,
        latency_p95_ms=reading.latency_p95_ms,
        latency_p99_ms=reading.latency_p99_ms,
        memory_mb=after.memory_mb,
        served=served,
        respawns=respawns,
        client_cpu=client_cpu,
        target_cpu=(after.cpu_s - before.cpu_s) / (seconds * side.limits.cpus) if seconds else None,
        throttled=(after.throttled_periods - before.throttled_periods) / periods
        if periods
        else None,
        busy=busy,
        listen_overflows=reading.listen_overflows,
        time_wait=reading.time_wait,
        doubts=tuple(doubt for doubt, holds in doubts.items() if holds),
    )


def counters_agree(served: int, sent: int, in_doubt: int) -> bool:
    """Whether uWSGI's count fits the client's, give or take `in_doubt` requests.

    In doubt are requests that failed (they may or may not have reached the app) and one per
    connection that was in flight when the clock stopped.
    """
    return abs(served - sent) <= in_doubt + COUNTERS_MAY_DIFFER_BY * sent


def _server_side(reading: LoadReading) -> tuple[int | None, int, float | None]:
    """uWSGI's own view: requests served, processes replaced, share of slots busy."""
    before, after = reading.before, reading.after
    if before is None or after is None:
        return None, 0, None
    slots_us = reading.duration_s * 1e6 * after.cores
    busy = (after.running_us - before.running_us) / slots_us if slots_us else None
    return after.requests - before.requests, max(0, after.respawns - before.respawns), busy
