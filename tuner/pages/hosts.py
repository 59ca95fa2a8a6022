"""Hosts: who measures, what keeps them from it, and how small an effect they can show."""

from fastapi import APIRouter, Request, Response

from tuner.api.pools import list_pools
from tuner.api.services import Wired
from tuner.masking import masked
from tuner.pages.answering import page

router = APIRouter()


@router.get("/hosts")
def hosts(request: Request, services: Wired) -> Response:
    """Pools with their hosts."""
    found = masked(list_pools(services))
    return page(request, "hosts.html.j2", calls=["/v1/pools"], found=found)
