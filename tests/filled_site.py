"""The service with filled rows, to look at its pages: `python -m tests.filled_site --port 8400`.

It needs no Docker. PostgreSQL is the embedded one, in a folder that goes with this process. The job
that searches goes on, and so does a comparison: one block every few seconds.
"""

import argparse
import itertools
import random
import threading
from datetime import UTC, datetime, timedelta
from functools import partial

import uvicorn
from sqlalchemy import update

from tests import builders, finished_jobs
from tests.filled_rows import NEW, PHASES, fill, running_spec, step_on, worker_of
from tests.postgres import fresh_database
from tests.unit.study.scenes import SPACE
from tuner.nouns.model import Budget, JobId, JobKind, Phase
from tuner.service import bootstrap, pages
from tuner.service.api import Services, create_app
from tuner.service.api.services import Feed
from tuner.service.settings import Settings
from tuner.store.db import Store, make_engine, new_events
from tuner.store.db.tables import jobs
from tuner.store.queue import Queue

LIVE_BUDGET = Budget(
    trials=40,
    calibrate_blocks=4,
    race=6,
    race_blocks=4,
    ablate_runs=24,
    confirm_blocks=24,
    cycles=2,
    window_s=1.0,
)


def main() -> None:
    """Fill a database, serve it, and let one job go on until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8400)
    parser.add_argument("--base-path", default="", help="as behind a proxy, such as /tuner")
    parser.add_argument("--api-key", default=None)
    parser.add_argument("--every-s", type=float, default=3.0, help="seconds between two blocks")
    parser.add_argument(
        "--large", action="store_true", help="one more job: 500 trials, 10 000 windows"
    )
    asked = parser.parse_args()
    with fresh_database() as url:
        store = Store(make_engine(url), Queue())
        found = fill(store)
        spread_over_weeks(store)
        if asked.large:
            print(f"large job: {large(store)}")  # noqa: T201
        for kind in (JobKind.TUNE, JobKind.COMPARE):
            going_on = (store, kind, asked.every_s)
            threading.Thread(target=go_on, args=going_on, daemon=True).start()
        known = bootstrap.catalogue(Settings.from_environ({}))
        services = Services(
            store=store,
            feed=Feed(partial(new_events, url)),
            catalogue=known,
            resolve=bootstrap.resolver(known, store.recommended),
            api_key=asked.api_key,
        )
        app = pages.install(create_app(services))
        print(f"http://127.0.0.1:{asked.port}{asked.base_path}/ {found}", flush=True)  # noqa: T201
        uvicorn.run(app, port=asked.port, root_path=asked.base_path, log_level="warning")


def spread_over_weeks(store: Store) -> None:
    """The jobs that have ended did so on different days."""
    now, draw = datetime.now(UTC), random.Random(1)  # noqa: S311
    with store._engine.begin() as connection:
        ended = connection.execute(jobs.select().where(jobs.c.finished_at.is_not(None))).mappings()
        numbers = sorted(row["id"] for row in ended)
        for ago, number in enumerate(reversed(numbers)):
            at = now - timedelta(days=4 * ago, hours=draw.random() * 20)
            times = {
                "created_at": at - timedelta(minutes=50),
                "started_at": at - timedelta(minutes=48),
            }
            statement = update(jobs).where(jobs.c.id == number)
            connection.execute(statement.values(finished_at=at, **times))


def large(store: Store) -> JobId:
    """A job that searches with 500 trials and 10 000 windows."""
    made = store.create_job(builders.spec(app="large", pool="large"), **NEW)[0].job
    finished_jobs.measured(store, made.id, blocks=500, windows=20)
    return made.id


def go_on(store: Store, kind: JobKind, every_s: float) -> None:
    """Keep the hosts alive, and let a job be measured block by block; then the next one."""
    pool = f"live-{kind}"
    worker, job_id = worker_of(store, pool), JobId(0)
    spec = builders.spec(app="live", budget=LIVE_BUDGET, search_space=SPACE)
    if kind is JobKind.COMPARE:
        spec = running_spec(Phase.COMPARE)
    wait = threading.Event()
    for _ in itertools.count():
        for name, its in [("bench-1", "default"), *((f"host-{p}", p.value) for p in PHASES)]:
            store.see_host(name, its, builders.FINGERPRINT, None)
        store.see_host(worker.name, pool, builders.FINGERPRINT, None)
        if not job_id or not step_on(store, worker, job_id):
            job_id = store.create_job(spec.model_copy(update={"pool": pool}), **NEW)[0].job.id
        wait.wait(every_s)


if __name__ == "__main__":
    main()
