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
    for router in (
        apps.router,
        jobs.router,
        job.router,
        sharing.router,
        new.router,
        lint.router,
        hosts.router,
        knowledge.router,
        signing_in.router,
        assets.router,
    ):
        app.include_router(router, include_in_schema=False)
    refusals.install(app)
    return app
