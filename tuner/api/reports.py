"""The report of a tuning job: the answer with all its evidence, for people and for machines."""

from importlib.metadata import version
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from tuner import evidence
from tuner.api import examples
from tuner.api.conditional import conditional
from tuner.api.evidence import tune_report
from tuner.api.parameters import Id, IfNoneMatch
from tuner.api.problems import documented
from tuner.api.recommendations import confirmed
from tuner.api.services import Wired
from tuner.api.views import recommendation_answer
from tuner.model import History, Recommendation
from tuner.schemas import TuneReport

Format = Literal["html", "md", "json"]

router = APIRouter(prefix="/v1/jobs", tags=["recommendations"])

_MEDIA: dict[Format, str] = {
    "html": "text/html",
    "md": "text/markdown",
    "json": "application/json",
}
_ASKED: dict[str, Format] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "md",
    "application/json": "json",
    "text/*": "html",
    "*/*": "html",
}
_ALWAYS = {"Vary": "Accept", "X-Content-Type-Options": "nosniff"}
_OF_PAGES = {"Content-Security-Policy": evidence.POLICY, "Referrer-Policy": "no-referrer"}


@router.get(
    "/{id}/report",
    response_model=TuneReport,
    responses={
        **examples.report(),
        **examples.NOT_MODIFIED,
        **documented(404, 409, 422),
    },
)
def report_of_job(
    job_id: Id,
    request: Request,
    services: Wired,
    form: Annotated[
        Format | None,
        Query(
            alias="format",
            description="a page, Markdown or JSON; else what Accept names first, else a page",
            examples=["html"],
        ),
    ] = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The answer with its evidence: one HTML file that needs nothing else, Markdown, or JSON."""
    job, found = confirmed(services, job_id)
    chosen = form or accepted(request.headers.get("accept", ""))
    headers = {**_ALWAYS, **_OF_PAGES} if chosen == "html" else _ALWAYS
    body = _written(services.store.history(job.id), found, chosen)
    return conditional(request, body, _MEDIA[chosen], headers)


def _written(history: History, found: Recommendation, form: Format) -> str:
    rendered_by = f"uwsgi-tuner {version('uwsgi-tuner')}"
    whole = evidence.gather(history, rendered_by=rendered_by)
    if form == "json":
        answer = tune_report(whole, recommendation_answer(history.job, found))
        return answer.model_dump_json()
    document = evidence.compose(whole)
    return evidence.markdown(document) if form == "md" else evidence.page(document)


def accepted(header: str) -> Format:
    """What an Accept header likes best, of equals the first; a page where it names none of ours."""
    best: Format = "html"
    most = 0.0
    for part in header.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weight = _weight(parameters)
        if media in _ASKED and weight > most:
            best, most = _ASKED[media], weight
    return best


def _weight(parameters: list[str]) -> float:
    """The q of a media type, 1 where there is none; what is no number counts as unwanted."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
