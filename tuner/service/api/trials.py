"""The trials of a tuning job, and the best one so far."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tuner.nouns.errors import NotFound
from tuner.nouns.model import TrialNumber
from tuner.nouns.schemas import Incumbent, TrialAnswer, TrialList
from tuner.service.api import examples, views
from tuner.service.api.conditional import conditional_json
from tuner.service.api.parameters import Id, IfNoneMatch, Number
from tuner.service.api.problems import documented
from tuner.service.api.progress import incumbent_of
from tuner.service.api.services import Wired

router = APIRouter(prefix="/v1/jobs/{id}", tags=["jobs"])


@router.get("/trials", responses=documented(404, 422))
def list_trials(job_id: Id, services: Wired) -> TrialList:
    """All trials of a tuning job."""
    job = services.tuning_job(job_id)
    blocks = services.store.blocks_by_trial(job.id)
    trials = services.store.trials(job.id)
    return TrialList(trials=[views.trial_answer(one, blocks.get(one.number, 0)) for one in trials])


@router.get("/trials/{n}", responses=documented(404, 422))
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


@router.get(
    "/best",
    response_model=Incumbent,
    responses={**examples.NOT_MODIFIED, **documented(404, 422)},
)
def show_best(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """The best feasible trial so far. 404 before the first score."""
    best = incumbent_of(services.store.status(services.tuning_job(job_id).id))
    if best is None:
        raise NotFound(f"job {job_id} has no feasible trial with a score yet")
    return conditional_json(request, best)
