"""Hosts: who measures, what keeps them from it, and how small an effect they can show."""

from fastapi import APIRouter, Request, Response

from tuner.nouns.masking import masked
from tuner.service.api.pools import list_pools
from tuner.service.api.services import Wired
from tuner.service.pages.answering import page

router = APIRouter()


@router.get("/hosts")
def hosts(request: Request, services: Wired) -> Response:
    """Pools with their hosts."""
    found = masked(list_pools(services))
    return page(request, "hosts.html.j2", calls=["/v1/pools"], found=found)
