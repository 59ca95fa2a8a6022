"""Commands that run the service: serve, worker, api; and their log on stderr."""

import json
import logging
import os
import re
import socket
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.shared import say
from tuner.nouns import log_context
from tuner.nouns.errors import Conflict
from tuner.nouns.masking import masked
from tuner.service.settings import Settings

if TYPE_CHECKING:
    from tuner.service.api.provider import IdentityProvider

# ---- The log on stderr: no message can end its line, colour the terminal or show a secret

FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s %(message)s"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def log_to_stderr(level: str, *, as_json: bool = False) -> None:
    """Log what is at least of this level."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else OneLine(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # our own lines say what is away


class OneLine(logging.Formatter):
    """One line for each message; control characters as escapes. A traceback is indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return _visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """The traceback below it."""
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        """The stack below it."""
        return _indented(stack_info)


class JsonLines(logging.Formatter):
    """One JSON object in one line for each record, with the ids of what it is about."""

    def format(self, record: logging.LogRecord) -> str:
        """The line: ASCII, so nothing in it can end it."""
        time = datetime.fromtimestamp(record.created, UTC)
        found: dict[str, object] = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "process": record.process,
            "logger": record.name,
            "message": masked(record.getMessage()),
            **log_context.present(),
        }
        if record.exc_info:
            found["traceback"] = masked(self.formatException(record.exc_info))
        if record.stack_info:
            found["stack"] = masked(record.stack_info)
        return json.dumps(found)


def _visible(text: str) -> str:
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), masked(text))


def _indented(text: str) -> str:
    return "\n".join(f"  {_visible(line)}" for line in text.split("\n"))


# ---- Commands that run the service: serve, worker, api

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
    from tuner.service.api import Feed, Services, create_app
    from tuner.service.api.app import serve as serve_app
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
        provider=_provider(settings),
        hosts_allowed=(settings.host, *settings.hosts_allowed),
        job_minutes=settings.job_minutes,
        jobs_waiting=settings.jobs_waiting,
        link_days=settings.link_days,
        require_room=lambda: require_room(settings.data_dir),
    )
    app = pages.install(create_app(services))
    serve_app(
        app,
        settings.host,
        settings.port,
        base_path=settings.base_path,
        tls_cert=settings.tls_cert,
        tls_key=settings.tls_key,
        proxies=settings.proxies,
    )


def _provider(settings: Settings) -> "IdentityProvider | None":
    if settings.oidc_file is None:
        return None
    from tuner.service.api.oidc import Provider  # slow to import

    return Provider.of_file(settings.oidc_file)


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
