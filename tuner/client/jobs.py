"""Jobs of every kind: submit, look at, watch, wait for, cancel, delete; their raw data."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Unpack
from uuid import uuid4

from tuner.client.documents import ReadAs, job_and_novelty
from tuner.client.watching import SILENT_S, Pauses, Watching, events, states
from tuner.client.wire import Wire
from tuner.nouns.model import Event, JobKind, JobSummary, Request
from tuner.nouns.schemas import (
    CalibrationReport,
    Incumbent,
    JobAnswer,
    JobPage,
    ReportAnswer,
    TrialAnswer,
    TrialList,
    WindowList,
)

Asked = Request | Mapping[str, Any]
"""A request as a model, or as a document. A document without `kind` is of kind tune."""


class Jobs:
    """Calls about jobs. Jobs of all kinds share one sequence of numbers."""

    _wire: Wire

    def submit(self, request: Asked, *, key: str | None = None) -> JobAnswer:
        """Submit a request; the job.

        Equal requests with the same `key` make one job. Without a key, each call makes one job
        of its own, also if the client has to send the request several times.
        """
        return self._wire.post("/v1/jobs", ReadAs(JobAnswer), request, key=key or self._own_key())

    def go_on(self, request: Asked, *, max_age_days: float | None = None) -> tuple[JobAnswer, bool]:
        """The job of an equal request that has not ended, and False; else a new one, and True.

        With `max_age_days`, also one that succeeded at most so many days ago.
        """
        params = {"go_on": "true", "max_age_days": max_age_days}
        return self._wire.post(
            "/v1/jobs", job_and_novelty, request, key=self._own_key(), params=params
        )

    def job(self, job_id: int) -> JobAnswer:
        """A job. The service does not send an unchanged job again."""
        return self._look(job_id)

    def cancel(self, job_id: int) -> JobAnswer:
        """Cancel a job. Cancelling twice is no error. Raises `Conflict` if the job has ended."""
        return self._wire.post(f"{_path(job_id)}/cancel", ReadAs(JobAnswer))

    def finish(self, job_id: int) -> JobAnswer:
        """Have a tuning job confirm its best so far, and end. Twice in a phase is once.

        Raises `Conflict` if the job has ended, or has nothing to confirm yet.
        """
        return self._wire.post(f"{_path(job_id)}/finish", ReadAs(JobAnswer))

    def delete(self, job_id: int) -> None:
        """Delete a job with all its data. Raises `Conflict` if it has not ended."""
        self._wire.delete(_path(job_id))

    def watch(self, job_id: int, **how: Unpack[Watching]) -> Iterator[JobAnswer]:
        """The job now and after each change. The last one has a final state.

        The service's events say when to look; where none come, `poll_s` does.
        Raises `Unavailable` if the service is away for longer than `patience_s`.
        """
        look = partial(self._look, job_id, is_retried=False)
        opened = partial(self._wire.stream, f"{_path(job_id)}/events")
        with closing(Pauses(opened, self._wire.time)) as pauses:
            clock = self._wire.time.clock
            yield from states(look, f"job {job_id}", how, clock, pauses.pause)

    def wait(self, job_id: int, **how: Unpack[Watching]) -> JobAnswer:
        """The job once it has ended, also if it failed: see its `state`.

        Raises `Conflict` if the job is not done after `timeout_s`.
        """
        return deque(self.watch(job_id, **how), maxlen=1).pop()

    def jobs(
        self, state: str | None = None, *, app: str | None = None, kind: JobKind | None = None
    ) -> Iterator[JobSummary]:
        """Jobs, newest first, over all pages."""
        after: int | None = None
        while True:
            asked = {"state": state, "app": app, "kind": kind, "after": after}
            page = self._wire.get("/v1/jobs", ReadAs(JobPage), asked)
            yield from page.jobs
            after = page.next
            if after is None:
                return

    def events(self, job_id: int | None = None, *, after: int | None = None) -> Iterator[Event]:
        """Each change of a job and its pool, or of all jobs, for ever; see `Event`.

        It goes on after number `after`, else now, and then goes on by itself when a stream breaks.
        An event of kind `reset` comes first, and wherever events may be missing: read again all
        that you use. Raises `Unavailable` if the service is away for longer than a minute.
        """
        path = "/v1/events" if job_id is None else f"{_path(job_id)}/events"
        opened = partial(self._wire.stream, path, silent_s=SILENT_S)
        return events(opened, after, self._wire.time)

    def trials(self, job_id: int) -> Sequence[TrialAnswer]:
        """All trials of a tuning job, by number."""
        return self._wire.get(f"{_path(job_id)}/trials", ReadAs(TrialList)).trials

    def trial(self, job_id: int, number: int, *, raw: bool = False) -> TrialAnswer:
        """One trial; `raw`: with all its windows."""
        path = f"{_path(job_id)}/trials/{number:d}"
        return self._wire.get(path, ReadAs(TrialAnswer), {"raw": "true" if raw else None})

    def best(self, job_id: int) -> Incumbent:
        """The best trial so far. Raises `NotFound` before the first score."""
        return self._wire.get(f"{_path(job_id)}/best", ReadAs(Incumbent))

    def windows(self, job_id: int) -> WindowList:
        """The raw data of a job."""
        return self._wire.get(f"{_path(job_id)}/windows", ReadAs(WindowList))

    def comparison(self, job_id: int) -> ReportAnswer:
        """The report of a job of kind compare. Raises `Conflict` before it is done."""
        return self._wire.get(f"{_path(job_id)}/report", ReadAs(ReportAnswer), {"format": "json"})

    def calibration(self, job_id: int) -> CalibrationReport:
        """The report of a job of kind calibrate. Raises `Conflict` before it is done."""
        path = f"{_path(job_id)}/report"
        return self._wire.get(path, ReadAs(CalibrationReport), {"format": "json"})

    def _own_key(self) -> str | None:
        return uuid4().hex if self._wire.retries else None

    def _look(self, job_id: int, *, is_retried: bool = True) -> JobAnswer:
        return self._wire.get(_path(job_id), ReadAs(JobAnswer), is_retried=is_retried)


def _path(job_id: int) -> str:
    return f"/v1/jobs/{job_id:d}"
