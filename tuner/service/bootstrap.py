"""The only place where settings meet adapters; the entries get finished parts here.

Only a worker needs Optuna and the Docker client, so its functions import them: the API and its
commands start a second faster.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import Event, History, JobSpec, Params, Request, Step
from tuner.service.images import STATS_ADDRESS, engine_config
from tuner.service.settings import Settings
from tuner.store import db
from tuner.store.db import EmbeddedPostgres, Liveness, Store, dumps, make_engine, roles, upgrading
from tuner.store.queue import Queue
from tuner.study import decider, resolve
from tuner.targets.catalogue import HostCatalogue

if TYPE_CHECKING:
    from tuner.bench.engine import DockerLauncher
    from tuner.bench.load import Generators


def embedded(settings: Settings) -> EmbeddedPostgres | None:
    """A server of our own, not yet started; None if the settings name a database."""
    return None if settings.database_url else EmbeddedPostgres(settings.data_dir)


def database_url(settings: Settings) -> str:
    """The database of the settings, else the embedded one."""
    return settings.database_url or EmbeddedPostgres(settings.data_dir).url


def conninfo(settings: Settings) -> str:
    """The same database for libpq, as the queue needs it."""
    return db.conninfo(database_url(settings))


def store(settings: Settings) -> Store:
    """The store on the database of the settings; it connects on first use."""
    return Store(make_engine(database_url(settings)), Queue())


def new_events(settings: Settings) -> Callable[[], AsyncGenerator[Sequence[Event]]]:
    """What reads the events of the database, for ever."""
    return partial(db.new_events, database_url(settings))


def host_alive(settings: Settings, pool: str) -> AbstractContextManager[Liveness]:
    """Be the one worker of this host. Raises `Conflict` or `Unavailable`."""
    return db.host_alive(database_url(settings), settings.worker_name, pool)


def upgrade_cluster(settings: Settings, old_bin: Path | None, say: Callable[[str], None]) -> None:
    """Bring the embedded PostgreSQL's files to our major version; `say` hears each step.

    `old_bin` has the programs of the older one, default: found. Raises `Conflict`, `InvalidInput`
    or `Unavailable`, and then has changed nothing.
    """
    if settings.database_url is None:
        upgrading.upgrade(settings.data_dir, old_bin, say)
    elif old_bin is not None:
        message = "is for the embedded PostgreSQL, and TUNER_DATABASE_URL names another"
        raise InvalidInput.at("--old-bin", message)


def kept_clusters(settings: Settings) -> Mapping[Path, int]:
    """What upgrades of the embedded PostgreSQL have kept: folders, each with its bytes."""
    return {} if settings.database_url else upgrading.kept_clusters(settings.data_dir)


def upgrade(settings: Settings) -> None:
    """Bring the database's tables up to date, after a dump of an older one.

    Raises `InvalidInput` or `Unavailable`, and then has changed nothing.
    """
    url, folder = database_url(settings), settings.dump_dir
    if folder is None and settings.database_url is None:
        folder = settings.data_dir / "dumps"
    dumps.upgrade(url, dump_into=folder)


def make_roles(settings: Settings, prefix: str) -> Mapping[str, str]:
    """Roles of PostgreSQL for API and workers; the URLs of new ones. Raises `Unavailable`."""
    return roles.make_roles(database_url(settings), prefix)


def dump(settings: Settings, target: Path) -> None:
    """Write the database to a file. Raises `InvalidInput` or `Unavailable`."""
    dumps.dump(database_url(settings), target)


def restore(settings: Settings, source: Path, *, is_trusted: bool) -> None:
    """Fill a database without jobs from such a file.

    Raises `Conflict`, `InvalidInput` or `Unavailable`.
    """
    dumps.restore(database_url(settings), source, is_trusted=is_trusted)


def catalogue(settings: Settings) -> HostCatalogue:
    """All target apps and search spaces. Raises `InvalidInput` with every mistake in them."""
    return HostCatalogue.load(settings.target_apps, settings.search_spaces)


def resolver(
    known: HostCatalogue,
    earlier: Callable[[str], Sequence[Params]] = lambda app: (),
    images_allowed: Sequence[str] = (),
) -> Callable[[Request], JobSpec]:
    """Turns requests into jobs; `earlier` gives an app's earlier recommendations."""
    return partial(resolve, catalogue=known, earlier=earlier, images_allowed=images_allowed)


def decide() -> Callable[[History], Step | None]:
    """The state machine with its sampler."""
    from tuner.study.sampler import TrialOptimiser

    return decider(TrialOptimiser())


def launcher(
    settings: Settings,
    known: HostCatalogue,
    owner: str | None = None,
    service_ready_s: float | None = None,
) -> DockerLauncher:
    """This host's containers, with labels of the `owner`; default: this service's database.

    Each service of an app may take `service_ready_s` to get ready; default: as long as in a job.
    """
    from tuner.bench.engine import DockerLauncher
    from tuner.bench.load import DELAY_COMMAND, probe_files

    config = engine_config(settings, owner or instance(settings))
    secrets = {**config.secrets, **known.secret_files()}
    config = replace(
        config, generator_files=probe_files(), delay_command=DELAY_COMMAND, secrets=secrets
    )
    if service_ready_s is not None:
        config = replace(config, service_ready_s=service_ready_s)
    return DockerLauncher(config, known.build_dir, known.app_dir)


def load_generator(settings: Settings) -> Generators:
    """The load generator."""
    from tuner.bench.load import Generators

    return Generators(stats_address=STATS_ADDRESS, ready_timeout_s=settings.ready_timeout_s)


def instance(settings: Settings) -> str:
    """The mark of our containers among those of other services on the same Docker Engine."""
    name = f"{database_url(settings)} {settings.worker_name}"
    return hashlib.sha256(name.encode()).hexdigest()[:16]
