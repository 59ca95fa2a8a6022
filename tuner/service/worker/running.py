"""The process that runs the tasks of one benchmark host, and what it does between two of them."""

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from tuner.nouns.errors import TunerError, Unavailable
from tuner.nouns.model import (
    Job,
    JobKind,
    JobSpec,
    JobState,
    Request,
    Schedule,
    Target,
)
from tuner.service import bootstrap
from tuner.service.settings import Settings
from tuner.service.worker.making import Patience
from tuner.service.worker.working import Worker
from tuner.store.db import Store
from tuner.store.queue import run_worker
from tuner.study import followed, reasons, renewed, target_of
from tuner.targets.catalogue import CataloguedApp, HostCatalogue

# ---- What a worker removes, between two measurements: it would disturb them

PRUNES = "17 * * * *"  # cron

log = logging.getLogger(__name__)


def prune(store: Store, windows_kept: timedelta | None, jobs_kept: timedelta | None) -> None:
    """Remove what is older, from the end of its job on. None: it is kept for ever."""
    deleted = store.prune_jobs(jobs_kept) if jobs_kept else 0
    thinned = store.prune_windows(windows_kept) if windows_kept else 0
    if deleted or thinned:
        log.info("old jobs: %d deleted, %d lost windows and series", deleted, thinned)


# ---- Which apps are tuned again by themselves: between two measurements, one worker of the pool
# looks
#
# A time of a schedule gives at most one job, whoever looks and how often: it is the job's key.

LOOKS = "* * * * *"  # cron
SUBMITTER = "schedule"


MOST_LOOKED = 200
"""Jobs of an app that are looked through for those of this pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedules:
    """The schedules of the target apps of one host.

    `catalogue` reads the folders of now, `image` names the image that a target has now.
    """

    pool: str
    store: Store
    catalogue: Callable[[], HostCatalogue]
    resolver: Callable[[HostCatalogue], Callable[[Request], JobSpec]]
    image: Callable[[Target], str | None]
    apps: Mapping[str, Schedule]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _looked: dict[str, datetime] = field(default_factory=dict)
    """The last time of each schedule that this worker has looked at."""

    @staticmethod
    def in_catalogue(known: HostCatalogue) -> dict[str, Schedule]:
        """The schedules that the worker has from its start on, by app."""
        found = {name: each.app.schedule for name, each in known.apps.items()}
        return {name: schedule for name, schedule in found.items() if schedule is not None}

    def submit_due(self) -> None:
        """Submit a job for each app that is due and has a reason.

        Raises `Unavailable` if PostgreSQL is away. Other faults are logged: while the engine is
        away or a target.yaml is wrong, the next minute tries again.
        """
        due = {name: at for name, each in self.apps.items() if (at := each.due(self.now()))}
        due = {name: at for name, at in due.items() if self._looked.get(name) != at}
        if not due:
            return
        try:
            known = self.catalogue()
        except TunerError as fault:
            log.warning("schedules wait: %s", fault)
            return
        for name, at in due.items():
            try:
                log.info("schedule of %s: %s", name, self._look(name, at, known))
                self._looked[name] = at
            except TunerError as fault:
                if isinstance(fault, Unavailable) and fault.system == "postgresql":
                    raise
                log.warning("schedule of %s: %s", name, fault)

    def _look(self, name: str, at: datetime, known: HostCatalogue) -> str:
        """Submit a job if there is a reason; what was done, in a sentence."""
        app = known.apps.get(name)
        if app is None:
            return "the target app is gone: restart this worker"
        if self._has_open(name):
            return "a job of the app has not ended: no new one"
        answered = self._newest(name, JobState.SUCCEEDED, JobKind.TUNE)
        last = answered or self._newest_here(name)
        if last is not None and last.spec.pool != self.pool:
            return f"its jobs run in pool {last.spec.pool}"
        because = reasons(answered, app, self._image(answered, app), self.apps[name], self.now())
        if not because:
            return f"nothing has changed since job {last.id if last else 0}: no new job"
        return self._submitted(name, at, known, last, because)

    def _image(self, answered: Job | None, app: CataloguedApp) -> str | None:
        return self.image(target_of(answered.spec, app)) if answered is not None else None

    def _submitted(
        self,
        name: str,
        at: datetime,
        known: HostCatalogue,
        last: Job | None,
        because: tuple[str, ...],
    ) -> str:
        request = renewed(name, last.spec if last else None, known.apps[name], self.pool)
        earlier = {"because": because, "follows": followed(last) if last else None}
        spec = self.resolver(known)(request).model_copy(update=earlier)
        key = f"schedule of {name}, {at:%Y-%m-%d %H:%M} UTC"
        sha256 = hashlib.sha256(key.encode()).hexdigest()
        status, is_new = self.store.create_job(
            spec, idempotency_key=key, request_sha256=sha256, by=SUBMITTER, by_key=SUBMITTER
        )
        return f"{'submitted' if is_new else 'has'} job {status.job.id}: {'; '.join(because)}"

    def _has_open(self, app: str) -> bool:
        """Whether a job of the app waits or runs here; one in a pool without a host never ends."""
        states = (JobState.RUNNING, JobState.QUEUED)
        found = (job for state in states for job in self.store.jobs(app, state, None, MOST_LOOKED))
        return any(job.pool == self.pool for job in found)

    def _newest_here(self, app: str) -> Job | None:
        """Its newest tuning job in this pool that has no answer."""
        found = self.store.jobs(app, None, None, MOST_LOOKED, kind=JobKind.TUNE)
        here = next((job.id for job in found if job.pool == self.pool), None)
        return self.store.job(here) if here is not None else None

    def _newest(self, app: str, state: JobState | None, kind: JobKind | None = None) -> Job | None:
        found = self.store.jobs(app, state, None, 1, kind=kind)
        return self.store.job(found[0].id) if found else None


# ---- The process that runs the tasks of one benchmark host


def run(settings: Settings, pool: str) -> None:
    """Work for a pool until SIGTERM or SIGINT.

    Raises `Conflict` if this host already has a worker, `Unavailable` if PostgreSQL is away at
    the start; later the worker waits for it.
    """
    worker, schedules = _wired(settings, pool)
    with bootstrap.host_alive(settings, pool) as liveness:
        worker.start()
        conninfo = bootstrap.conninfo(settings)
        prunes = PRUNES if settings.windows_kept or settings.jobs_kept else None
        looks = LOOKS if schedules.apps else None
        run_worker(
            worker,
            liveness,
            conninfo=conninfo,
            pool=pool,
            host=worker.name,
            prunes=prunes,
            looks=looks,
        )
        worker.clear()


def _wired(settings: Settings, pool: str) -> tuple[Worker, Schedules]:
    known, store = bootstrap.catalogue(settings), bootstrap.store(settings)
    host = bootstrap.launcher(settings, known)
    allowed = settings.images_allowed
    schedules = Schedules(
        pool=pool,
        store=store,
        catalogue=partial(bootstrap.catalogue, settings),
        resolver=lambda now: bootstrap.resolver(now, store.recommended, allowed),
        image=host.image,
        apps=Schedules.in_catalogue(known),
    )
    worker = Worker(
        name=settings.worker_name,
        pool=pool,
        store=store,
        host=host,
        load=bootstrap.load_generator(settings),
        decide=bootstrap.decide(),
        patience=Patience(settings.docker_wait_s),
        prune=partial(prune, store, settings.windows_kept, settings.jobs_kept),
        submit_due=schedules.submit_due,
    )
    return worker, schedules
