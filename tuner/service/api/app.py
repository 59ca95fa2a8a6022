"""Everything put together, and the OpenAPI document."""

import asyncio
import resource
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic.json_schema import models_json_schema
from uvicorn.protocols.http.h11_impl import H11Protocol

from tuner.nouns.model import REQUESTS, Event, NewCheck
from tuner.nouns.schemas import LintRequest, Problem
from tuner.service.api import (
    jobs,
    lint,
    listings,
    monitoring,
    problems,
    recommendations,
    reference,
    reports,
)
from tuner.service.api.parameters import Bodies
from tuner.service.api.security import OPEN_PATHS, SCHEMES, RefuseOtherSites, RequireKey
from tuner.service.api.services import Feed, Services

DESCRIPTION = """\
An app in a container, a workload and the present uwsgi.ini go in; the uwsgi.ini to deploy comes
out, with the evidence. Errors are `application/problem+json` (RFC 9457). Where the service has an
API key, every call but health asks for it.
"""


def create_app(services: Services) -> FastAPI:
    """The HTTP service over `services`. It starts, and answers 503, while PostgreSQL is away."""
    app = FastAPI(
        title="uWSGI autotuner",
        version=version("uwsgi-tuner"),
        description=DESCRIPTION,
        responses=problems.documented(401, 403, 503),
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        lifespan=_reading_events,
    )
    app.state.services = services
    app.state.bodies = Bodies()
    problems.install(app)
    for router in (
        jobs.router,
        jobs.of_links,
        monitoring.router,
        reports.of_trials,
        listings.of_apps,
        recommendations.router,
        reports.router,
        listings.of_pools,
        listings.of_names,
        lint.router,
        monitoring.of_audit,
        monitoring.of_health,
        monitoring.of_metrics,
        reference.router,
    ):
        app.include_router(router)
    _guard(app, services)
    _complete_openapi(app)
    return app


def _guard(app: FastAPI, services: Services) -> None:
    """What each request passes before its route; the last one here is the first."""
    if services.callers is not None:
        app.add_middleware(
            RequireKey,
            callers=services.callers,
            wrong_keys=services.wrong_keys,
            denials=services.denials,
            wrong_key_takes_s=services.wrong_key_takes_s,
        )
    app.add_middleware(RefuseOtherSites, hosts_allowed=services.hosts_allowed)
    app.state.latencies = problems.new_latencies()
    app.add_middleware(problems.ObserveRequests, latencies=app.state.latencies)


@asynccontextmanager
async def _reading_events(app: FastAPI) -> AsyncIterator[None]:
    async with app.state.services.feed.running():
        yield


def _complete_openapi(app: FastAPI) -> None:
    """Add what FastAPI cannot know: the body that we read ourselves, problems, the key."""
    made_by_fastapi = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = made_by_fastapi()
            reference.add_to(document)
            components = document["components"]
            for answer in components["schemas"].values():
                answer["required"] = list(answer.get("properties", ()))  # null, never left out
            components["schemas"] |= _schemas()
            for unused in ("HTTPValidationError", "ValidationError"):
                components["schemas"].pop(unused, None)
            components["securitySchemes"] = SCHEMES
            document["security"] = [{name: []} for name in SCHEMES]
            for path in OPEN_PATHS:
                operation = document["paths"][path]["get"]
                operation["security"] = []
                operation["responses"].pop("401")
            document["paths"]["/healthz"]["get"]["responses"].pop("503")
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI documents it as the way


def _schemas() -> dict[str, Any]:
    _, made = models_json_schema(
        [
            *((model, "validation") for model in REQUESTS.values()),
            (LintRequest, "validation"),
            (NewCheck, "validation"),
            (Problem, "serialization"),
            (Event, "serialization"),
        ],
        ref_template="#/components/schemas/{model}",
    )
    schemas: dict[str, Any] = made["$defs"]
    return schemas


# ---- The API process: uvicorn, which does not wait for streams that never end

STOP_WITHIN_S = 5
HEADERS_WITHIN_S = 20.0
MOST_CONNECTIONS = 2_000  # each stream of events is one
_FAILED_TO_START = 3  # uvicorn's own exit code


class _Protocol(H11Protocol):
    """Closes a connection on which no request begins in time: uvicorn waits for ever."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_watching()

    def _watch(self) -> None:
        """From the first byte on; slow headers do not begin anew with each byte."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_watching()
        elif self._late is None:
            self._late = self.loop.call_later(HEADERS_WITHIN_S, self.transport.close)

    def _stop_watching(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Server(uvicorn.Server):
    """Ends the streams first: it waits for all connections to close."""

    def __init__(self, config: uvicorn.Config, feed: Feed) -> None:
        super().__init__(config)
        self._feed = feed

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._feed.stop()
        await super().shutdown(sockets)


def serve(
    app: FastAPI,
    host: str,
    port: int,
    *,
    base_path: str = "",
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    proxies: Sequence[str] = (),
) -> None:
    """Serve an app of `create_app` until SIGTERM or SIGINT. Exits where it cannot listen.

    With a certificate and its key, https. `proxies` are the addresses whose X-Forwarded-For and
    X-Forwarded-Proto count.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a stream is an open file
    config = uvicorn.Config(
        app,
        http=_Protocol,
        limit_concurrency=MOST_CONNECTIONS,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        root_path=base_path,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=STOP_WITHIN_S,
    )
    server = _Server(config, app.state.services.feed)
    try:
        server.run()
    except KeyboardInterrupt:
        return
    if not server.started:
        sys.exit(_FAILED_TO_START)
