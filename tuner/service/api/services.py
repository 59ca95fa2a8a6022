"""What the API needs from outside; `bootstrap` supplies it."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Protocol

from fastapi import Depends
from fastapi import Request as HttpRequest

from tuner.nouns import log_context
from tuner.nouns.errors import Forbidden, NotFound
from tuner.nouns.model import (
    ANYBODY,
    Activity,
    AnswerInBrief,
    AppInBrief,
    AuditEntry,
    BenchmarkHost,
    Caller,
    Check,
    History,
    Job,
    JobId,
    JobKind,
    JobSpec,
    JobState,
    JobStatus,
    JobSummary,
    Key,
    Link,
    Measurement,
    NewCheck,
    Phase,
    Request,
    Trial,
    TrialNumber,
)
from tuner.service.api.callers import Callers
from tuner.service.api.feed import Feed
from tuner.service.api.security import caller_of
from tuner.targets.catalogue import HostCatalogue


class ServiceStore(Protocol):
    """All jobs. `tuner.store.db.Store` says what each method does.

    Every method may raise `Unavailable`, and a look-up raises `NotFound`.
    """

    def create_job(
        self,
        spec: JobSpec,
        *,
        idempotency_key: str | None,
        request_sha256: str,
        by: str | None,
        most_waiting: int | None,
    ) -> tuple[JobStatus, bool]: ...
    def job(self, job_id: JobId) -> Job: ...
    def jobs(
        self,
        app: str | None,
        state: JobState | None,
        after: JobId | None,
        limit: int,
        *,
        kind: JobKind | None,
    ) -> Sequence[JobSummary]: ...
    def next_jobs(self, limit: int) -> Sequence[JobId]: ...
    def status(self, job_id: JobId) -> JobStatus: ...
    def version(self, job_id: JobId) -> str: ...
    def pool_of(self, job_id: JobId) -> str: ...

    def app_of(self, job_id: JobId) -> str: ...
    def cancel(self, job_id: JobId, *, by: str | None) -> JobStatus: ...
    def delete_job(self, job_id: JobId, *, by: str | None) -> None: ...
    def trials(self, job_id: JobId) -> Sequence[Trial]: ...
    def trial(self, job_id: JobId, number: TrialNumber) -> Trial: ...
    def blocks_by_trial(self, job_id: JobId) -> Mapping[TrialNumber, int]: ...
    def measurements(self, job_id: JobId, *, detailed: bool = True) -> Sequence[Measurement]: ...
    def history(self, job_id: JobId, *, windows_of: Collection[Phase] | None = None) -> History: ...
    def apps(
        self, *, app: str | None = None, after: str | None = None, limit: int
    ) -> Sequence[AppInBrief]: ...
    def app(self, name: str) -> AppInBrief: ...
    def answered(self, app: str, limit: int) -> Sequence[Job]: ...
    def report_check(self, app: str, new: NewCheck) -> Check: ...
    def answer_in_brief(self, job_id: JobId) -> AnswerInBrief | None: ...
    def latest_in_brief(self, app: str) -> AnswerInBrief | None: ...
    def share(
        self, job_id: JobId, token: str, expires_at: datetime | None, *, by: str | None
    ) -> Link: ...
    def links(self, job_id: JobId) -> Sequence[Link]: ...
    def unshare(self, job_id: JobId, link: int, *, by: str | None) -> None: ...
    def shared_job(self, token: str) -> JobId: ...
    def hosts(self, pool: str | None = None) -> Sequence[BenchmarkHost]: ...
    def key_of(self, secret: str) -> Key | None: ...
    def key(self, number: int) -> Key | None: ...
    def audit(self, after: int | None, limit: int) -> Sequence[AuditEntry]: ...
    def activity(self) -> Activity: ...
    def ping(self) -> None: ...


_NUMBER = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Handed to `create_app`.

    `resolve` raises `InvalidInput` with every mistake in a request, `require_room` `Unavailable`
    where the disk of the rows is full. `hosts_allowed` are globs of the service's own host names.
    `api_key` is the first key; `caller` is who sends the present request.
    `wrong_key_takes_s` is how long a wrong key waits for its answer: guessing is slow.
    """

    store: ServiceStore
    catalogue: HostCatalogue
    resolve: Callable[[Request], JobSpec]
    feed: Feed = field(default_factory=Feed)
    api_key: str | None = field(default=None, repr=False)
    wrong_key_takes_s: float = 0.5
    hosts_allowed: Sequence[str] = ()
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    require_room: Callable[[], None] = lambda: None
    caller: Caller = ANYBODY
    job_minutes: float | None = None  # that a job may take; None: any
    jobs_waiting: int | None = None  # of one key; None: any

    @property
    def callers(self) -> Callers | None:
        """Who may send requests; None where the service asks for no key."""
        return Callers(self.api_key, self.store) if self.api_key is not None else None

    @property
    def by(self) -> str | None:
        """The name of who sends the request, for what it changes."""
        return self.caller.name

    def require_theirs(self, app: str) -> None:
        """Refuse an app that the caller's key may not change. Raises `Forbidden`."""
        if not self.caller.may_change(app):
            raise Forbidden(f"this key may change {', '.join(self.caller.apps)}, and not {app}")

    def changed(self, job_id: int) -> JobId:
        """A job that the caller may change. Raises `NotFound`, `Forbidden`."""
        if self.caller.apps:
            self.require_theirs(self.store.app_of(JobId(job_id)))
        return JobId(job_id)

    def tuning_job(self, job_id: int) -> Job:
        """A job of kind tune. Raises `NotFound`, also for a job of another kind."""
        job = self.store.job(JobId(job_id))
        if job.spec.kind is not JobKind.TUNE:
            raise NotFound(f"job {job_id} is of kind {job.spec.kind}: only kind tune has that")
        return job


async def _of_request(request: HttpRequest) -> Services:
    if _NUMBER.fullmatch(job_id := request.path_params.get("id", "")):
        log_context.add(job=int(job_id))
    services: Services = request.app.state.services
    return replace(services, caller=caller_of(request))


Wired = Annotated[Services, Depends(_of_request)]
"""An endpoint's parameter for the services of its app."""
