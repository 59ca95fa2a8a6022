"""What `years` asks: the calls and the worker's statements that it times, the answers it compares.

The worker's statements are called as a worker calls them, without the time that it measures.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import httpx

from tests import builders
from tests.filled_years import POOL, Years
from tests.running_api import KEY, running_api
from tuner.nouns.model import JobId, JobKind, MeasurementId, MeasurementResult
from tuner.store.db import Store, make_engine
from tuner.store.db.jobs import next_of
from tuner.store.queue import Queue

WITHIN_S = 60.0
SOME_ANSWERS = 30
_FULL_PAGE = 60  # the number of a job with a page of others before it
_LONG_AGO = timedelta(days=10_000)
SAMPLED = 200
"""Jobs of all years whose answers are compared."""


@dataclass
class Site:
    """A database, its API, and what a caller and a worker remember."""

    url: str
    years: Years
    http: httpx.Client
    store: Store
    app: str
    tags: dict[str, str] = field(default_factory=dict)
    waiting: list[MeasurementId] = field(default_factory=list)  # of the running job
    apps: int = 0  # that have some answers together; 0: not counted yet

    def get(self, path: str) -> bytes:
        """The body of an answer. Raises where it is an error."""
        return self.http.get(path).raise_for_status().content

    def poll(self, path: str) -> None:
        """With the tag of the answer before: from the second time on, nothing may have changed."""
        known = self.tags.get(path)
        answer = self.http.get(path, headers={"If-None-Match": known} if known else {})
        assert answer.status_code == (304 if known else 200), answer.text
        self.tags[path] = answer.headers["etag"]


@contextmanager
def opened(url: str, years: Years, home: Path) -> Iterator[Site]:
    """A site; `home` is a folder for its API's log."""
    home.mkdir()
    engine = make_engine(url)
    try:
        store = Store(engine, Queue())
        app = store.app_of(years.newest)
        waiting = [made.id for made in store.measurements(years.running) if made.is_open]
        with (
            running_api(url, home) as api,
            httpx.Client(base_url=api.url, headers={"X-API-Key": KEY}, timeout=WITHIN_S) as http,
        ):
            yield Site(url, years, http, store, app, waiting=waiting)
    finally:
        engine.dispose()


Call = Callable[[Site], bytes | None]
"""Returns the body of an answer, where it is one to compare in size."""


def _get(path: str) -> Call:
    return lambda site: site.get(_of(site, path))


def _poll(path: str) -> Call:
    return lambda site: site.poll(_of(site, path))


def _of(site: Site, path: str) -> str:
    years = site.years
    return path.format(
        app=site.app,
        newest=years.newest,
        compared=years.compared,
        running=years.running,
        queued=years.queued,
        middle=max(years.newest // 2, _FULL_PAGE),
    )


def _some_answers(site: Site) -> bytes:
    """As many apps as have some 30 answers, whatever the size of the database."""
    if not site.apps:
        answers = itertools.accumulate(len(app.answers) for app in site.store.apps())
        site.apps = 1 + sum(count < SOME_ANSWERS for count in answers)
    return site.get(f"/v1/apps?limit={site.apps}")


def _events(site: Site) -> None:
    """A stream begins: until its first event."""
    with site.http.stream("GET", "/v1/events") as stream:
        assert any(line.startswith("data:") for line in stream.iter_lines())


def _claim_and_release(site: Site) -> None:
    claim = site.store.claim(site.waiting[-1], "bench-1")
    assert claim is not None
    site.store.release(claim.measurement.id, claim.measurement.attempt, fault=None)


def _claim_and_complete(site: Site) -> None:
    claim = site.store.claim(site.waiting.pop(0), "bench-1")
    assert claim is not None
    windows = tuple(builders.window(n % 2, 100.0, index=n) for n in range(8))
    result = MeasurementResult(windows=windows, load_s=10.0, setup_s=1.0)
    assert site.store.complete(claim.measurement.id, claim.measurement.attempt, result)


def _read_all(site: Site) -> None:
    site.store.advance(site.years.running, lambda history: None)


def _recover(site: Site) -> None:
    assert site.store.recover(POOL) == 0


def _prune_nothing(site: Site) -> None:
    assert site.store.prune_windows(_LONG_AGO) == 0


def _next(site: Site) -> None:
    with site.store._transaction() as connection:
        assert next_of(connection, POOL) is not None


def _submit_and_cancel(site: Site) -> None:
    spec = builders.spec(app=site.app)
    made = site.store.create_job(
        spec, idempotency_key=None, request_sha256="", by="years", most_waiting=10_000
    )
    site.store.cancel(made[0].job.id, by="years")


CALLS: Mapping[str, Call] = {
    "jobs": _get("/v1/jobs"),
    "jobs, from the middle on": _get("/v1/jobs?after={middle}"),
    "jobs that failed": _get("/v1/jobs?state=failed"),
    "jobs that run": _get("/v1/jobs?state=running"),
    "jobs that wait": _get("/v1/jobs?state=queued"),
    "calibrations that failed: none": _get("/v1/jobs?kind=calibrate&state=failed"),
    "jobs of an app": _get("/v1/jobs?app={app}"),
    "jobs of an app that were cancelled": _get("/v1/jobs?app={app}&state=cancelled"),
    "jobs of no app": _get("/v1/jobs?app=nobody"),
    "apps": _get("/v1/apps"),
    "apps with 30 answers together": _some_answers,
    "apps, a page of 10": _get("/v1/apps?after=app-19&limit=10"),
    "an app": _get("/v1/apps/{app}"),
    "poll of a job, 304": _poll("/v1/jobs/{newest}"),
    "poll of the running job": _get("/v1/jobs/{running}"),
    "poll of the last job in the queue": _get("/v1/jobs/{queued}"),
    "poll of the same, 304": _poll("/v1/jobs/{queued}"),
    "poll of the newest uwsgi.ini, 304": _poll("/v1/apps/{app}/uwsgi.ini"),
    "the newest answer": _get("/v1/apps/{app}/recommendation"),
    "trials of a job": _get("/v1/jobs/{newest}/trials"),
    "windows of a job": _get("/v1/jobs/{newest}/windows"),
    "report": _get("/v1/jobs/{compared}/report?format=json"),
    "a stream of events begins": _events,
    "metrics": _get("/metrics"),
    "pools": _get("/v1/pools"),
    "audit": _get("/v1/audit"),
    "page of all apps": _get("/"),
    "page of an app": _get("/apps/{app}"),
    "page of jobs": _get("/jobs"),
    "page of a job": _get("/jobs/{newest}"),
    "worker: claim, give back": _claim_and_release,
    "worker: claim, complete": _claim_and_complete,
    "worker: all rows of the job": _read_all,
    "worker: recover": _recover,
    "worker: the next job": _next,
    "worker: nothing to prune": _prune_nothing,
    "submit and cancel": _submit_and_cancel,
}
"""All that is timed, by name."""


def answers(site: Site) -> Mapping[str, bytes]:
    """Bodies of jobs of all years, of lists and of files, by path."""
    years = site.years
    step = max(1, years.jobs // SAMPLED) | 1
    paths = ["/v1/jobs", "/v1/jobs?state=failed", "/v1/apps", "/v1/audit", f"/apps/{site.app}"]
    for number in range(years.newest, 0, -step):
        for job in site.store.jobs(after=JobId(number + 1), limit=1):
            own = f"/v1/jobs/{job.id}"
            paths += [own, f"{own}/windows", f"/jobs/{job.id}"]
            if job.kind is JobKind.TUNE:
                paths.append(f"{own}/trials")
            if job.verdict is not None:
                paths += [f"{own}/{what}" for what in ("recommendation", "uwsgi.ini")]
    return {path: site.get(path) for path in paths}
