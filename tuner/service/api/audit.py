"""What callers have changed."""

from fastapi import APIRouter

from tuner.nouns.schemas import AuditPage
from tuner.service.api.parameters import After, Limit
from tuner.service.api.problems import documented
from tuner.service.api.services import Wired

router = APIRouter(prefix="/v1/audit", tags=["service"])


@router.get("", responses=documented(422))
def read_audit(services: Wired, after: After = None, limit: Limit = 50) -> AuditPage:
    """What was changed, and with which key, newest first. It needs a key of scope admin."""
    entries = services.store.audit(after, limit)
    return AuditPage(entries=entries, next=entries[-1].id if len(entries) == limit else None)
