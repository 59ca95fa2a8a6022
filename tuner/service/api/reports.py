"""The figures of a job, for people and for machines."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.exceptions import HTTPException

from tuner.judge import report
from tuner.nouns.errors import Conflict, NotFound
from tuner.nouns.masking import masked
from tuner.nouns.model import History, Job, JobId, JobKind, Recommendation, Report, TrialNumber
from tuner.nouns.schemas import (
    CalibrationReport,
    Incumbent,
    ReportAnswer,
    ReportForm,
    TrialAnswer,
    TrialList,
    TuneReport,
)
from tuner.service.api import reference, views
from tuner.service.api.parameters import Id, IfNoneMatch, Number, conditional, conditional_json
from tuner.service.api.problems import documented
from tuner.service.api.recommendations import why_unfinished
from tuner.service.api.services import Services, Wired
from tuner.service.api.sizes import incumbent_of
from tuner.service.api.views import (
    calibration_answer,
    recommendation_answer,
    report_answer,
    sees,
    tune_report,
)
from tuner.show import evidence

# ---- The trials of a tuning job, and the best one so far

of_trials = APIRouter(prefix="/v1/jobs/{id}", tags=["jobs"])


@of_trials.get("/trials", responses=documented(404, 422))
def list_trials(job_id: Id, services: Wired) -> TrialList:
    """All trials of a tuning job."""
    job = services.tuning_job(job_id)
    blocks = services.store.blocks_by_trial(job.id)
    trials = services.store.trials(job.id)
    return TrialList(trials=[views.trial_answer(one, blocks.get(one.number, 0)) for one in trials])


@of_trials.get("/trials/{n}", responses=documented(404, 422))
def show_trial(
    job_id: Id,
    trial_number: Number,
    services: Wired,
    raw: Annotated[
        bool, Query(description="also send all windows of the trial", examples=[True])
    ] = False,
) -> TrialAnswer:
    """One trial."""
    job = services.tuning_job(job_id)
    trial = services.store.trial(job.id, TrialNumber(trial_number))
    history = services.store.history(job.id)
    if raw:
        history = replace(history, measurements=tuple(services.store.measurements(job.id)))
    blocks = services.store.blocks_by_trial(job.id).get(trial.number, 0)
    return views.whole_trial_answer(trial, blocks, history, raw=raw)


@of_trials.get(
    "/best",
    response_model=Incumbent,
    responses={**reference.NOT_MODIFIED, **documented(404, 422)},
)
def show_best(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """The best feasible trial so far. 404 before the first score."""
    best = incumbent_of(services.store.status(services.tuning_job(job_id).id))
    if best is None:
        raise NotFound(f"job {job_id} has no feasible trial with a score yet")
    return conditional_json(request, best)


# ---- The figures of a job, for people and for machines; of a calibration as JSON only

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

_MEDIA: dict[ReportForm, str] = {
    "html": "text/html",
    "md": "text/markdown",
    "json": "application/json",
    "csv": "text/csv",
}
_ASKED: dict[str, Sequence[ReportForm]] = {
    "text/html": ["html"],
    "application/xhtml+xml": ["html"],
    "text/markdown": ["md"],
    "text/csv": ["csv"],
    "application/json": ["json"],
    "application/*": ["json"],
    "text/*": ["html"],
    "*/*": ["html", "json"],
}
_OFFERED: dict[JobKind, Sequence[ReportForm]] = {
    JobKind.TUNE: ("html", "md", "json"),
    JobKind.COMPARE: ("html", "md", "json", "csv"),
    JobKind.CALIBRATE: ("json",),
}
_PROGRAM = f"uwsgi-tuner {version('uwsgi-tuner')}"
_ALWAYS = {"Vary": "Accept", "X-Content-Type-Options": "nosniff"}
_OF_PAGES = {"Content-Security-Policy": evidence.POLICY, "Referrer-Policy": "no-referrer"}


@router.get(
    "/{id}/report",
    response_model=TuneReport | ReportAnswer | CalibrationReport,
    responses={
        **reference.texts(html="text/html", markdown="text/markdown", csv="text/csv"),
        **reference.NOT_MODIFIED,
        **documented(404, 406, 409, 422),
    },
)
def report_of_job(
    job_id: Id,
    request: Request,
    services: Wired,
    form: Annotated[
        ReportForm | None,
        Query(
            alias="format",
            description="page, Markdown or JSON; of kind compare also CSV, with a row for each "
            "file, rung and block. Default: as Accept asks. Kind calibrate has JSON only",
            examples=["json"],
        ),
    ] = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The figures of a job: one HTML file that needs nothing else, Markdown, JSON, or CSV."""
    job = services.store.job(JobId(job_id))
    offered = _OFFERED[job.spec.kind]
    chosen = form or accepted(request.headers.get("accept") or "*/*", offered) or "html"
    if chosen not in offered:
        reason = f"job {job_id} is of kind {job.spec.kind}, whose report is no {chosen}"
        raise HTTPException(406, f"{reason}: ask for format={' or '.join(offered)}")
    headers = {**_ALWAYS, **_OF_PAGES} if chosen == "html" else _ALWAYS
    return conditional(request, _written(services, job, chosen), _MEDIA[chosen], headers)


def _written(services: Services, job: Job, form: ReportForm) -> str:
    if job.recommendation is not None:
        return _of_tuning(services.store.history(job.id), job.recommendation, form)
    if job.report is not None:
        return _of_comparison(services, job, job.report, form)
    found = calibration_answer(job.calibration)
    if found is None or job.spec.kind is not JobKind.CALIBRATE:
        raise Conflict(f"job {job.id} {why_unfinished(job)}")
    return CalibrationReport(calibration=found, sees=sees(job.calibration)).model_dump_json()


def _of_comparison(services: Services, job: Job, found: Report, form: ReportForm) -> str:
    match form:
        case "json":
            return report_answer(found).model_dump_json()
        case "csv":
            return report.csv_of(job, services.store.measurements(job.id))
        case _:
            whole = evidence.measured_job(services.store.history(job.id), rendered_by=_PROGRAM)
            return _for_people(evidence.compose_comparison(whole), form)


def _of_tuning(history: History, found: Recommendation, form: ReportForm) -> str:
    whole = evidence.collect(history, rendered_by=_PROGRAM)
    if form == "json":
        answer = tune_report(whole, recommendation_answer(history.job, found))
        return masked(answer).model_dump_json()
    return _for_people(evidence.compose(whole), form)


def _for_people(document: evidence.Document, form: ReportForm) -> str:
    return evidence.markdown(document) if form == "md" else evidence.page(document)


def accepted(header: str, offered: Sequence[ReportForm]) -> ReportForm | None:
    """The offered format that an Accept header likes best; of equals, the first one."""
    best: ReportForm | None = None
    most = 0.0
    for part in header.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        meant = [form for form in _ASKED.get(media, ()) if form in offered]
        weight = _weight(parameters)
        if meant and weight > most:
            best, most = meant[0], weight
    return best


def _weight(parameters: list[str]) -> float:
    """The q of a media type; 1 without one, 0 if it is no number."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
