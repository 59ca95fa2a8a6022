"""Everything put together, and the OpenAPI document."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from tuner.nouns.model import REQUESTS, Event, NewCheck
from tuner.nouns.schemas import LintRequest, Problem
from tuner.service.api import (
    apps,
    audit,
    catalogue,
    events,
    examples,
    health,
    jobs,
    links,
    lint,
    metrics,
    observing,
    pools,
    problems,
    recommendations,
    reference,
    reports,
    trials,
)
from tuner.service.api.security import OPEN_PATHS, SCHEMES, RefuseOtherSites, RequireKey
from tuner.service.api.services import Services

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
    problems.install(app)
    for router in (
        jobs.router,
        links.router,
        events.router,
        trials.router,
        apps.router,
        recommendations.router,
        reports.router,
        pools.router,
        catalogue.router,
        lint.router,
        audit.router,
        health.router,
        metrics.router,
        reference.router,
    ):
        app.include_router(router)
    if services.callers is not None:
        app.add_middleware(
            RequireKey, callers=services.callers, wrong_key_takes_s=services.wrong_key_takes_s
        )
    app.add_middleware(RefuseOtherSites, hosts_allowed=services.hosts_allowed)
    app.state.latencies = observing.new_latencies()
    app.add_middleware(observing.ObserveRequests, latencies=app.state.latencies)
    _complete_openapi(app)
    return app


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
            examples.add_to(document)
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
