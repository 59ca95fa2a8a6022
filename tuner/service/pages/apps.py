"""Apps: what each should deploy, and how that came about; one app with its jobs and files."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tuner.nouns.errors import InvalidInput, NotFound
from tuner.nouns.masking import masked
from tuner.nouns.model import AppInBrief, History, Job, PastAnswer
from tuner.service.api.listings import AfterApp, app_answer, app_page
from tuner.service.api.parameters import Limit
from tuner.service.api.recommendations import App
from tuner.service.api.services import Services, Wired
from tuner.service.api.views import job_page
from tuner.service.pages.answering import page
from tuner.show import charts, evidence
from tuner.show.evidence import Section

router = APIRouter()

_MOST_FILES = 10
"""Answered jobs of an app whose files can be compared: the newest."""

_MOST_JOBS = 20
_CHOICE = re.compile(r"([1-9]\d{0,17})-(yours|new)")

Chosen = Annotated[str | None, Query(description="a file as JOB-yours or JOB-new")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A file of an app that can be compared with another one."""

    value: str
    label: str
    file: str

    @property
    def text(self) -> str:
        """What may be shown of it."""
        return masked(self.file)


@router.get("/")
def apps(request: Request, services: Wired, after: AfterApp = None, limit: Limit = 50) -> Response:
    """All apps."""
    found = app_page(services, after, limit)
    sparks = {app.app: _sparkline(app.answers) for app in found.apps}
    return page(
        request,
        "apps.html.j2",
        calls=[f"/v1/apps?limit={limit}" + (f"&after={after}" if after else "")],
        found=found,
        sparks=sparks,
        after=after,
        limit=limit,
    )


def _sparkline(answers: Sequence[PastAnswer]) -> str:
    """The gains of an app's answers, the oldest first."""
    return charts.sparkline([answer.effect for answer in reversed(answers)])


@router.get("/apps/{app}")
def app(
    app: App, request: Request, services: Wired, left: Chosen = None, right: Chosen = None
) -> Response:
    """One app: its answers, jobs and files."""
    found = services.store.app(app)
    answered = services.store.answered(app, _MOST_FILES)
    choices = list(_choices(answered))
    pair = _pair(choices, left, right) if choices else None
    listed = services.store.jobs(app, None, None, _MOST_JOBS, kind=None)
    return page(
        request,
        "app.html.j2",
        calls=[f"/v1/apps/{app}", f"/v1/jobs?app={app}", *_calls_of_answer(found)],
        found=app_answer(services, found),
        spark=_sparkline(found.answers),
        jobs=job_page(listed, _MOST_JOBS),
        answered=answered,
        changes=_changes(answered[0], services) if answered else (),
        choices=choices,
        pair=pair,
        diff=_diff(*pair) if pair else (),
    )


def _calls_of_answer(found: AppInBrief) -> list[str]:
    return [f"/v1/apps/{found.app}/recommendation"] if found.answers else []


def _changes(job: Job, services: Services) -> tuple[Section, ...]:
    """What the newest answer changes; its rows are not needed for that."""
    rows = History(job=job, trials=(), measurements=(), now=services.now())
    return evidence.changes(evidence.collect(rows))


def _choices(answered: Sequence[Job]) -> Iterator[Choice]:
    for job in answered:
        if job.recommendation is not None:
            new, own = job.recommendation.uwsgi_ini, job.spec.baseline_ini
            yield Choice(value=f"{job.id}-new", label=f"job {job.id}: to deploy", file=new)
            yield Choice(value=f"{job.id}-yours", label=f"job {job.id}: your file", file=own)


def _pair(choices: Sequence[Choice], left: str | None, right: str | None) -> tuple[Choice, Choice]:
    """The two files to compare. Default: the newest job's own, and the one to deploy."""
    return _choice(choices, left) or choices[1], _choice(choices, right) or choices[0]


def _choice(choices: Sequence[Choice], value: str | None) -> Choice | None:
    """Raises `InvalidInput` for what is no name of a file, `NotFound` for one that is not here."""
    if value is None:
        return None
    if not _CHOICE.fullmatch(value):
        raise InvalidInput.at("left, right", "give a file as JOB-yours or JOB-new, as in 7-new")
    for choice in choices:
        if choice.value == value:
            return choice
    raise NotFound(f"{value}: that job is not among the newest {_MOST_FILES} answers of the app")


def _diff(left: Choice, right: Choice) -> Sequence[str]:
    """The lines of the diff, all of both files; empty where they are equal."""
    old, new = left.text.splitlines(), right.text.splitlines()
    return [*difflib.unified_diff(old, new, n=len(old) + len(new), lineterm="")][3:]
