"""Alive and ready: for load balancers and orchestrators."""

from fastapi import APIRouter

from tuner.nouns.errors import Unavailable
from tuner.nouns.schemas import Health
from tuner.service.api.pools import what_is_away
from tuner.service.api.problems import documented
from tuner.service.api.services import Wired

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def alive() -> Health:
    """200 while the process runs; it needs no thread, which other calls may all have."""
    return Health(status="ok")


@router.get("/readyz", responses=documented(503))
def ready(services: Wired) -> Health:
    """200 if the service can measure a job now. 503 names what is away."""
    services.store.ping()
    services.require_room()
    away = what_is_away(services.store.hosts(), services.now())
    if away is not None:
        raise Unavailable(*away)
    return Health(status="ok")
