"""What the API needs from outside; `bootstrap` supplies it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Protocol

from fastapi import Depends
from fastapi import Request as HttpRequest

from tuner.catalogue import HostCatalogue
from tuner.errors import NotFound
from tuner.model import (
    AnswerInBrief,
    BenchmarkHost,
    History,
    Job,
    JobId,
    JobKind,
    JobSpec,
    JobState,
    JobStatus,
    JobSummary,
    Measurement,
    Request,
    Trial,
    TrialNumber,
)


class ServiceStore(Protocol):
    """All jobs. Every method may raise `Unavailable`; lookups raise `NotFound`."""

    def create_job(
        self, spec: JobSpec, *, idempotency_key: str | None, request_sha256: str
    ) -> tuple[JobStatus, bool]:
        """The job and whether it is new. Raises `Conflict` for a key used with another request."""

    def job(self, job_id: JobId) -> Job:
        """The job of that id."""

    def jobs(
        self,
        app: str | None,
        state: JobState | None,
        after: JobId | None,
        limit: int,
        *,
        kind: JobKind | None,
    ) -> Sequence[JobSummary]:
        """A page of jobs, newest first; `after` is the last id of the page before."""

    def status(self, job_id: JobId) -> JobStatus:
        """A job with the figures of its trials and measurements."""

    def version(self, job_id: JobId) -> str:
        """The version of that status, in one statement. For polls."""

    def cancel(self, job_id: JobId) -> JobStatus:
        """Cancel a job. Raises `Conflict` where it has ended otherwise."""

    def trials(self, job_id: JobId) -> Sequence[Trial]:
        """All trials of a job, by number."""

    def trial(self, job_id: JobId, number: TrialNumber) -> Trial:
        """One trial."""

    def blocks_by_trial(self, job_id: JobId) -> Mapping[TrialNumber, int]:
        """In how many complete blocks each trial was measured; a trial in none is left out."""

    def measurements(self, job_id: JobId, *, detailed: bool = True) -> Sequence[Measurement]:
        """All measurements of a job, by sequence, with their windows."""

    def history(self, job_id: JobId) -> History:
        """All rows of a job, with windows without series and histograms."""

    def answer_in_brief(self, job_id: JobId) -> AnswerInBrief | None:
        """A tuning job that has its answer, without its documents. For polls."""

    def latest_in_brief(self, app: str) -> AnswerInBrief | None:
        """The app's newest tuning job that has its answer, without its documents. For polls."""

    def hosts(self, pool: str | None = None) -> Sequence[BenchmarkHost]:
        """All hosts that have reported, of one pool or of all pools."""

    def ping(self) -> None:
        """Raise `Unavailable` if the database does not answer."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Handed to `create_app`.

    `resolve` raises `InvalidInput` with every mistake in a request, `require_room` `Unavailable`
    where the disk of the rows is full.
    """

    store: ServiceStore
    catalogue: HostCatalogue
    resolve: Callable[[Request], JobSpec]
    api_key: str | None = field(default=None, repr=False)
    now: Callable[[], datetime] = _utc_now
    require_room: Callable[[], None] = lambda: None

    def tuning_job(self, job_id: int) -> Job:
        """A job of kind tune. Raises `NotFound`, also for a job of another kind."""
        job = self.store.job(JobId(job_id))
        if job.spec.kind is not JobKind.TUNE:
            raise NotFound(f"job {job_id} is of kind {job.spec.kind}: only kind tune has that")
        return job


async def _of_request(request: HttpRequest) -> Services:
    services: Services = request.app.state.services
    return services


Wired = Annotated[Services, Depends(_of_request)]
"""An endpoint's parameter for the services of its app."""
