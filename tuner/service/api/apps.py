"""All apps: the newest job, the last answers and the last checks of each."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import ValidationError

from tuner.nouns.errors import InvalidInput
from tuner.nouns.masking import masked
from tuner.nouns.model import NAME, AppInBrief, Check, NewCheck
from tuner.nouns.schemas import AppAnswer, AppPage, ScheduleAnswer
from tuner.service.api import examples
from tuner.service.api.parameters import Body, Limit
from tuner.service.api.problems import documented
from tuner.service.api.recommendations import App
from tuner.service.api.services import Services, Wired
from tuner.service.api.shape import mistakes_of_shape

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
    return app_answer(services, services.store.app(app))


@router.post(
    "/{app}/checks",
    status_code=201,
    openapi_extra=examples.body("NewCheck"),
    responses=documented(404, 413, 415, 422),
)
def report_check(app: App, document: Body, services: Wired) -> Check:
    """Report whether what is deployed still has the recommended effect.

    `tuner recommend --check` and `tuner gate` do it by themselves.
    """
    services.require_theirs(app)
    try:
        new = NewCheck.model_validate(document)
    except ValidationError as error:
        raise InvalidInput(mistakes_of_shape(document, error)) from None
    return masked(services.store.report_check(app, new))


def app_page(services: Services, after: str | None, limit: int) -> AppPage:
    """A page of apps; a full page may have a successor."""
    found = services.store.apps(after=after, limit=limit)
    answers = [app_answer(services, each) for each in found]
    return AppPage(apps=answers, next=found[-1].app if len(found) == limit else None)


def app_answer(services: Services, found: AppInBrief) -> AppAnswer:
    """An app as it is sent. Changed lines may hold secrets."""
    return masked(AppAnswer.of(found, schedule=_schedule(services, found.app)))


def _schedule(services: Services, app: str) -> ScheduleAnswer | None:
    known = services.catalogue.apps.get(app)
    if known is None or known.app.schedule is None:
        return None
    schedule = known.app.schedule
    return ScheduleAnswer(**schedule.model_dump(), next_at=schedule.following(services.now()))
