"""Alive, and ready: for load balancers, orchestrators and whoever waits for a start."""

from fastapi import APIRouter

from tuner.api import examples
from tuner.api.measured import what_is_away
from tuner.api.problems import documented
from tuner.api.services import Wired
from tuner.errors import Unavailable
from tuner.schemas import Health

router = APIRouter(tags=["health"])


@router.get("/healthz", responses=examples.ok(examples.HEALTH))
def alive() -> Health:
    """200 as long as the process lives."""
    return Health(status="ok")


@router.get("/readyz", responses={**examples.ok(examples.HEALTH), **documented(503)})
def ready(services: Wired) -> Health:
    """200 when a job that is submitted now would be measured; 503 says what is away."""
    services.store.ping()
    services.require_room()
    away = what_is_away(services.store.hosts(), services.now())
    if away is not None:
        raise Unavailable(*away)
    return Health(status="ok")
