"""All pages on an app of `api`."""

from fastapi import FastAPI

from tuner.service.pages import (
    apps,
    assets,
    hosts,
    job,
    jobs,
    knowledge,
    lint,
    new,
    refusals,
    sharing,
    signing_in,
)


def install(app: FastAPI) -> FastAPI:
    """The same app with its pages. Problems are pages too where a browser asks."""
    for part in (apps, jobs, job, sharing, new, lint, hosts, knowledge, signing_in, assets):
        app.include_router(part.router, include_in_schema=False)
    refusals.install(app)
    return app
