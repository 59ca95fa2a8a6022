"""For operators: /metrics for Prometheus, alive and ready, and what callers have changed."""

import logging
import time
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from datetime import datetime
from functools import cache
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent
from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder

from tuner.nouns.errors import NotFound, Unavailable
from tuner.nouns.model import (
    LABELS,
    Activity,
    BenchmarkHost,
    Counted,
    Event,
    JobId,
    JobState,
    Labels,
    OpenJobs,
    Total,
    is_live,
)
from tuner.nouns.schemas import AuditPage, Health
from tuner.service.api import reference
from tuner.service.api.listings import what_is_away
from tuner.service.api.parameters import MAX_ID, After, Id, Limit
from tuner.service.api.problems import documented
from tuner.service.api.security import is_still_known
from tuner.service.api.services import Services, Wired

# ---- /metrics, for Prometheus: figures of jobs and hosts are read from PostgreSQL at each scrape
#
# So every API process sends the same, and a restart loses nothing. Only the latencies of requests
# and the figures of the process are its own.

NO_POOL = "unknown"
"""The label of all pools without a host: anybody who submits jobs can name such a pool."""

COUNTERS: Mapping[Counted, tuple[str, str]] = {
    Counted.JOBS_STARTED: ("tuner_jobs_started", "Jobs that have started"),
    Counted.WAITED_S: ("tuner_jobs_waited_seconds", "Seconds from submission to start of a job"),
    Counted.JOBS_ENDED: ("tuner_jobs_ended", "Jobs that have ended, by state and verdict"),
    Counted.BLOCKS: ("tuner_blocks", "Blocks that are complete or have failed"),
    Counted.MEASURED_S: ("tuner_measured_seconds", "Seconds that hosts spent on measurements"),
    Counted.LOAD_S: ("tuner_load_seconds", "The part of them in which load was driven"),
    Counted.WINDOWS: ("tuner_windows", "Windows that were stored"),
    Counted.DOUBTS: ("tuner_doubts", "Windows with this doubt"),
    Counted.HOST_FAULTS: ("tuner_host_faults", "Measurements repeated because the host failed"),
}
"""Name and help of each counter; the name gets `_total`."""

log = logging.getLogger(__name__)
of_metrics = APIRouter(include_in_schema=False)


@of_metrics.get("/metrics")
def metrics(request: Request, services: Wired) -> Response:
    """All metrics in the format that the scraper accepts. Without PostgreSQL, what is left."""
    registry = CollectorRegistry()
    registry.register(_Stored(services))
    registry.register(request.app.state.latencies)
    ProcessCollector(registry=registry)
    encode, media_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(registry), media_type=media_type)


class _Stored:
    """What the store knows, as prometheus_client collects it."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterator[Metric]:
        """The families, in the order in which they are sent."""
        store = self._services.store
        try:
            activity, hosts = store.activity(), store.hosts()
        except Unavailable as away:
            log.warning("api.unavailable system=%s detail=%s", away.system, away.detail)
            yield _database(0)
            return
        yield _database(1)
        yield from families(activity, hosts, self._services.now())


def families(activity: Activity, hosts: Sequence[BenchmarkHost], now: datetime) -> Iterator[Metric]:
    """All metrics of jobs and hosts."""
    pools = {host.pool for host in hosts}
    for counted, (name, text) in COUNTERS.items():
        found = [total for total in activity.totals if total.counted is counted]
        yield _family(CounterMetricFamily, name, text, _summed(counted, found, pools))
    yield from _of_open_jobs(activity.open_jobs, pools)
    yield from _of_hosts(hosts, now)


Kind = type[CounterMetricFamily] | type[GaugeMetricFamily]
Samples = Iterable[tuple[Mapping[str, str], float]]


def _family(kind: Kind, name: str, text: str, samples: Samples) -> Metric:
    """The metric of samples that have the same labels."""
    found = list(samples)
    names = list(found[0][0]) if found else []
    family = kind(name, text, labels=names)
    for labels, value in found:
        family.add_metric([labels[name] for name in names], value)
    return family


def _database(answers: int) -> Metric:
    text = "Whether PostgreSQL answers"
    return _family(GaugeMetricFamily, "tuner_database_up", text, [({}, answers)])


def _known(pool: str, pools: Collection[str]) -> str:
    return pool if pool in pools else NO_POOL


def _summed(counted: Counted, found: Iterable[Total], pools: Collection[str]) -> Samples:
    """One sample for each pool and all labels that there may be."""
    empty = [_sorted(pool, labels) for pool in sorted(pools) for labels in LABELS[counted]]
    sums = dict.fromkeys(empty, 0.0)
    for total in found:
        key = _sorted(_known(total.pool, pools), total.labels)
        sums[key] = sums.get(key, 0.0) + total.value
    return [(dict(key), value) for key, value in sums.items()]


def _sorted(pool: str, labels: Labels) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({"pool": pool, **labels}.items()))


def _of_open_jobs(found: Iterable[OpenJobs], pools: Collection[str]) -> Iterator[Metric]:
    states = (JobState.QUEUED, JobState.RUNNING)
    counts = {(pool, state): 0 for pool in sorted(pools) for state in states}
    oldest_s = defaultdict(float, dict.fromkeys(sorted(pools), 0.0))
    for jobs in found:
        pool = _known(jobs.pool, pools)
        counts[pool, jobs.state] = counts.get((pool, jobs.state), 0) + jobs.count
        if jobs.state is JobState.QUEUED:
            oldest_s[pool] = max(oldest_s[pool], jobs.oldest_s)
    states_of = [({"pool": pool, "state": state}, n) for (pool, state), n in counts.items()]
    yield _family(GaugeMetricFamily, "tuner_jobs", "Jobs that wait or run", states_of)
    ages = [({"pool": pool}, age_s) for pool, age_s in oldest_s.items()]
    text = "Age of the job that has waited longest; 0 where none waits"
    yield _family(GaugeMetricFamily, "tuner_queue_oldest_seconds", text, ages)


def _of_hosts(hosts: Iterable[BenchmarkHost], now: datetime) -> Iterator[Metric]:
    """The text of a problem is no label: `GET /v1/pools` has it."""
    labelled = [({"pool": host.pool, "host": host.name}, host) for host in hosts]
    live = [(labels, int(is_live(host, now))) for labels, host in labelled]
    problem = [
        (labels, int(is_live(host, now) and host.problem is not None)) for labels, host in labelled
    ]
    text = "Whether its worker has reported lately"
    yield _family(GaugeMetricFamily, "tuner_host_live", text, live)
    text = "Whether something keeps a live host from measuring"
    yield _family(GaugeMetricFamily, "tuner_host_problem", text, problem)
    drained = [(labels, int(host.drained_at is not None)) for labels, host in labelled]
    text = "Whether an operator has drained the host"
    yield _family(GaugeMetricFamily, "tuner_host_drained", text, drained)


# ---- Alive and ready: for load balancers and orchestrators

of_health = APIRouter(tags=["health"])


@of_health.get("/healthz")
async def alive() -> Health:
    """200 while the process runs; it needs no thread, which other calls may all have."""
    return Health(status="ok")


@of_health.get("/readyz", responses=documented(503))
def ready(services: Wired) -> Health:
    """200 if the service can measure a job now. 503 names what is away."""
    services.store.ping()
    services.require_room()
    services.feed.require_reading()
    away = what_is_away(services.store.hosts(), services.now())
    if away is not None:
        raise Unavailable(*away)
    return Health(status="ok")


# ---- What callers have changed

of_audit = APIRouter(prefix="/v1/audit", tags=["service"])


@of_audit.get("", responses=documented(422))
def read_audit(services: Wired, after: After = None, limit: Limit = 50) -> AuditPage:
    """What was changed, and with which key, newest first. It needs a key of scope admin."""
    entries = services.store.audit(after, limit)
    return AuditPage(entries=entries, next=entries[-1].id if len(entries) == limit else None)


# ---- What has changed, as server-sent events: of one job, or of all

router = APIRouter(prefix="/v1", tags=["events"])

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        description="`id` of the last event that you have: what came after it follows",
        examples=["1041"],
    ),
]
Stream = AsyncIterator[ServerSentEvent]
KEY_LOOKED_AT_S = 5.0
"""A stream looks this often at its key, before it sends."""

_DATA = {
    "contentMediaType": "application/json",
    "contentSchema": reference.schema_reference("Event"),
}
_ANSWERS = reference.text("events", "text/event-stream")
_ANSWERS[200]["content"]["text/event-stream"]["itemSchema"] = {"properties": {"data": _DATA}}


# Dependencies, because an error must come before the first byte of the stream.
async def _of_all(services: Wired, last_event_id: LastEventId = None) -> AsyncIterator[Stream]:
    await services.feed.ready()
    with services.feed.stream(_readable(services), _place(last_event_id)) as stream:
        yield stream


def _readable(services: Services) -> Callable[[Event], bool]:
    """Whether the caller may read the job of an event; each job is looked up once."""
    if not services.caller.reads:
        return lambda event: True

    @cache
    def may_read(job_id: JobId) -> bool:
        try:
            services.store.pool_of(job_id)
        except NotFound:
            return False
        return True

    return lambda event: event.job is None or may_read(event.job)


async def _of_job(
    job_id: Id, services: Wired, last_event_id: LastEventId = None
) -> AsyncIterator[Stream]:
    pool = await run_in_threadpool(services.store.pool_of, JobId(job_id))
    await services.feed.ready()
    with services.feed.stream(
        lambda event: event.job == job_id or event.pool == pool, _place(last_event_id)
    ) as stream:
        yield stream


@router.get(
    "/events",
    response_class=EventSourceResponse,
    responses={**_ANSWERS, **documented(404, 422)},
)
async def stream_events(request: Request, stream: Annotated[Stream, Depends(_of_all)]) -> Stream:
    """Every change as a server-sent event.

    The stream begins with `reset`, which asks you to read all that you show. Come back with
    `Last-Event-ID`, as browsers do, and nothing is missed: what you missed follows, or `reset`
    where that is no longer kept. A comment comes every 15 s without an event. Who reads too slowly
    is disconnected.
    """
    async for message in _while_known(request, stream):
        yield message


@router.get(
    "/jobs/{id}/events",
    response_class=EventSourceResponse,
    responses={**_ANSWERS, **documented(404, 422)},
)
async def stream_events_of_job(
    request: Request, stream: Annotated[Stream, Depends(_of_job)]
) -> Stream:
    """The same of one job, with what changes in the queue and the hosts of its pool."""
    async for message in _while_known(request, stream):
        yield message


async def _while_known(request: Request, stream: Stream) -> Stream:
    """The messages until the key is revoked or ends; nothing is sent after that."""
    looked = time.monotonic()
    async for message in stream:
        if time.monotonic() - looked > KEY_LOOKED_AT_S:
            if not await is_still_known(request):
                return
            looked = time.monotonic()
        yield message


def _place(last_event_id: str | None) -> int | None:
    """The number; None for none, or for one that is not ours."""
    text = last_event_id or ""
    is_ours = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_ID))
    return int(text) if is_ours else None
