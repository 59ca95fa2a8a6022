"""All apps: the newest job and the last answers of each."""

from typing import Annotated

from fastapi import APIRouter, Query

from tuner.api.parameters import NAME, Limit
from tuner.api.problems import documented
from tuner.api.recommendations import App
from tuner.api.services import Services, Wired
from tuner.masking import masked
from tuner.model import AppInBrief
from tuner.schemas import AppAnswer, AppPage

router = APIRouter(prefix="/v1/apps", tags=["apps"])

AfterApp = Annotated[
    str | None,
    Query(pattern=NAME, description="`next` of the previous page", examples=["checkout"]),
]


@router.get("", responses=documented(422))
def list_apps(services: Wired, after: AfterApp = None, limit: Limit = 50) -> AppPage:
    """Apps with their answers so far, by name."""
    return app_page(services, after, limit)


@router.get("/{app}", responses=documented(404, 422))
def show_app(app: App, services: Wired) -> AppAnswer:
    """One app with its answers so far, the newest first."""
    return app_answer(services.store.app(app))


def app_page(services: Services, after: str | None, limit: int) -> AppPage:
    """A page of apps; a full page may have a successor."""
    found = services.store.apps(after=after, limit=limit)
    answers = [app_answer(each) for each in found]
    return AppPage(apps=answers, next=found[-1].app if len(found) == limit else None)


def app_answer(found: AppInBrief) -> AppAnswer:
    """An app as it is sent. Changed lines may hold secrets."""
    return masked(AppAnswer.of(found))
