"""The process that runs the tasks of one benchmark host."""

from functools import partial

from tuner.service import bootstrap
from tuner.service.settings import Settings
from tuner.service.worker.patience import Patience
from tuner.service.worker.pruning import PRUNES, prune
from tuner.service.worker.scheduling import LOOKS, Schedules
from tuner.service.worker.working import Worker
from tuner.store.queue import run_worker


def run(settings: Settings, pool: str) -> None:
    """Work for a pool until SIGTERM or SIGINT.

    Raises `Conflict` if this host already has a worker, `Unavailable` if PostgreSQL is away at
    the start; later the worker waits for it.
    """
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
