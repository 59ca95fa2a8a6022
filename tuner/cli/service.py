"""Commands that run the service: serve, worker, api."""

import logging
import os
import socket
from typing import Annotated

import typer

from tuner.cli.logs import log_to_stderr
from tuner.cli.output import say
from tuner.nouns.errors import Conflict
from tuner.service.settings import Settings

log = logging.getLogger(__name__)


def serve(
    with_worker: Annotated[
        bool, typer.Option("--worker/--no-worker", help="Run a worker on this machine.")
    ] = True,
) -> None:
    """Run the API, a worker, and PostgreSQL unless TUNER_DATABASE_URL names one."""
    from tuner.service import bootstrap, supervisor

    settings = settings_and_log()
    settings.check_may_serve()
    _check_port_is_free(settings)
    bootstrap.catalogue(settings)  # report its mistakes now, not in every child
    children = {"api": supervisor.own_command("api")}
    if with_worker:
        children["worker"] = supervisor.own_command("worker")
    announcement = f"tuner serves {settings.served_at} (pages there, calls at /docs)"
    if settings.log_format == "json":  # standard error then holds nothing else
        log.info(announcement)
    else:
        say(announcement)
    code = supervisor.run(
        children,
        environ={**os.environ, "TUNER_DATABASE_URL": bootstrap.database_url(settings)},
        database=bootstrap.embedded(settings),
        prepare=lambda: bootstrap.upgrade(settings),
    )
    raise typer.Exit(code)


def worker(
    pool: Annotated[
        str | None, typer.Option(help="The pool of like hosts to join [default: TUNER_POOL].")
    ] = None,
) -> None:
    """Run a worker: it measures on this machine. Run one for each benchmark host."""
    from tuner.service import worker as work

    settings = settings_and_log()
    work.run(settings, pool or settings.pool)


def api() -> None:
    """Run the API alone. `tuner serve` starts it and keeps it alive."""
    from tuner.service import bootstrap, pages
    from tuner.service.api import Feed, Services, create_app, serving
    from tuner.store.db import require_room

    settings = settings_and_log()
    settings.check_may_serve()
    catalogue, store = bootstrap.catalogue(settings), bootstrap.store(settings)
    if settings.is_open_to_every_image:
        log.warning("TUNER_IMAGES_ALLOWED is not set: who reaches this API can run every image")
    services = Services(
        store=store,
        catalogue=catalogue,
        feed=Feed(bootstrap.new_events(settings)),
        resolve=bootstrap.resolver(catalogue, store.recommended, settings.images_allowed),
        api_key=settings.api_key,
        hosts_allowed=(settings.host, *settings.hosts_allowed),
        job_minutes=settings.job_minutes,
        jobs_waiting=settings.jobs_waiting,
        require_room=lambda: require_room(settings.data_dir),
    )
    app = pages.install(create_app(services))
    serving.serve(
        app,
        settings.host,
        settings.port,
        base_path=settings.base_path,
        tls_cert=settings.tls_cert,
        tls_key=settings.tls_key,
        proxies=settings.proxies,
    )


def settings_and_log() -> Settings:
    """The settings of the environment; logs go to standard error as these say."""
    settings = Settings.from_environ(os.environ)
    log_to_stderr(settings.log_level, as_json=settings.log_format == "json")
    return settings


def _check_port_is_free(settings: Settings) -> None:
    """Raise `Conflict` now: as a child, the API would fail again and again."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            raise Conflict(
                f"cannot listen on {where}: {error.strerror}; is the service running already? "
                "Set TUNER_PORT to another port, or use the running service"
            ) from error
