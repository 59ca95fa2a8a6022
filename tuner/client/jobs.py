"""Jobs of every kind: submit, look at, watch, wait for, call off; and their raw data."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar, Unpack, overload
from uuid import uuid4

from tuner.client.replies import ReadAs
from tuner.client.watching import Watching, states
from tuner.client.wire import Wire
from tuner.errors import NotFound
from tuner.model import Request
from tuner.schemas import (
    CalibrationJobAnswer,
    CalibrationPage,
    CalibrationSummary,
    Incumbent,
    JobAnswer,
    JobPage,
    JobSummary,
    MeasurementAnswer,
    MeasurementPage,
    MeasurementSummary,
    TrialAnswer,
    TrialList,
    WindowList,
)

Kind = Literal["jobs", "measurements", "calibrations"]
"""Jobs by what was asked for; the word of their address."""

KINDS: tuple[Kind, ...] = ("jobs", "measurements", "calibrations")

AnyJob = JobAnswer | MeasurementAnswer | CalibrationJobAnswer

Asked = Request | Mapping[str, Any]
"""A request as a model, or as the document that it would be."""

Page = TypeVar("Page", JobPage, MeasurementPage, CalibrationPage)

_ANSWERS: Mapping[Kind, type[AnyJob]] = {
    "jobs": JobAnswer,
    "measurements": MeasurementAnswer,
    "calibrations": CalibrationJobAnswer,
}


class Jobs:
    """Calls about jobs. The numbers of all kinds count in one row."""

    _wire: Wire

    @overload
    def submit(
        self, request: Asked, kind: Literal["jobs"] = "jobs", *, key: str | None = None
    ) -> JobAnswer: ...
    @overload
    def submit(
        self, request: Asked, kind: Literal["measurements"], *, key: str | None = None
    ) -> MeasurementAnswer: ...
    @overload
    def submit(
        self, request: Asked, kind: Literal["calibrations"], *, key: str | None = None
    ) -> CalibrationJobAnswer: ...
    @overload
    def submit(self, request: Asked, kind: Kind, *, key: str | None = None) -> AnyJob: ...
    def submit(self, request: Asked, kind: Kind = "jobs", *, key: str | None = None) -> AnyJob:
        """Submit a request of that kind; the job.

        `key` makes one job of many equal requests, for ever. Without one, each call makes a job
        of its own, and exactly one, however often it has to be sent.
        """
        own = uuid4().hex if self._wire.retries.times else None
        return self._wire.post(f"/v1/{kind}", ReadAs(_ANSWERS[kind]), request, key=key or own)

    @overload
    def job(self, job_id: int, kind: Literal["jobs"] = "jobs") -> JobAnswer: ...
    @overload
    def job(self, job_id: int, kind: Literal["measurements"]) -> MeasurementAnswer: ...
    @overload
    def job(self, job_id: int, kind: Literal["calibrations"]) -> CalibrationJobAnswer: ...
    @overload
    def job(self, job_id: int, kind: Kind) -> AnyJob: ...
    def job(self, job_id: int, kind: Kind = "jobs") -> AnyJob:
        """A job of that kind as it stands; what has not changed is not sent again."""
        return self._look(job_id, kind)

    def kind_of(self, job_id: int) -> Kind:
        """What kind of job has that number. Raises `NotFound`."""
        unknown: NotFound | None = None
        for kind in KINDS:
            try:
                self._look(job_id, kind)
            except NotFound as error:
                unknown = unknown or error
            else:
                return kind
        raise unknown or NotFound(f"there is no job {job_id}")

    @overload
    def cancel(self, job_id: int, kind: Literal["jobs"] = "jobs") -> JobAnswer: ...
    @overload
    def cancel(self, job_id: int, kind: Literal["measurements"]) -> MeasurementAnswer: ...
    @overload
    def cancel(self, job_id: int, kind: Literal["calibrations"]) -> CalibrationJobAnswer: ...
    @overload
    def cancel(self, job_id: int, kind: Kind) -> AnyJob: ...
    def cancel(self, job_id: int, kind: Kind = "jobs") -> AnyJob:
        """Call a job off; twice is once. Raises `Conflict` where it has ended otherwise."""
        path = f"/v1/{kind}/{job_id:d}/cancel"
        return self._wire.post(path, ReadAs(_ANSWERS[kind]))

    @overload
    def watch(
        self, job_id: int, kind: Literal["jobs"] = "jobs", **how: Unpack[Watching]
    ) -> Iterator[JobAnswer]: ...
    @overload
    def watch(
        self, job_id: int, kind: Literal["measurements"], **how: Unpack[Watching]
    ) -> Iterator[MeasurementAnswer]: ...
    @overload
    def watch(
        self, job_id: int, kind: Literal["calibrations"], **how: Unpack[Watching]
    ) -> Iterator[CalibrationJobAnswer]: ...
    @overload
    def watch(self, job_id: int, kind: Kind, **how: Unpack[Watching]) -> Iterator[AnyJob]: ...
    def watch(self, job_id: int, kind: Kind = "jobs", **how: Unpack[Watching]) -> Iterator[AnyJob]:
        """The job now, and again after each change, until it has ended: that one comes last.

        Raises `Unavailable` once the service has been away for longer than the patience lasts.
        """
        look = partial(self._look, job_id, kind, is_retried=False)
        return states(look, f"job {job_id}", how, self._wire.time)

    @overload
    def wait(
        self, job_id: int, kind: Literal["jobs"] = "jobs", **how: Unpack[Watching]
    ) -> JobAnswer: ...
    @overload
    def wait(
        self, job_id: int, kind: Literal["measurements"], **how: Unpack[Watching]
    ) -> MeasurementAnswer: ...
    @overload
    def wait(
        self, job_id: int, kind: Literal["calibrations"], **how: Unpack[Watching]
    ) -> CalibrationJobAnswer: ...
    @overload
    def wait(self, job_id: int, kind: Kind, **how: Unpack[Watching]) -> AnyJob: ...
    def wait(self, job_id: int, kind: Kind = "jobs", **how: Unpack[Watching]) -> AnyJob:
        """The job once it has ended; one that failed is an answer too: see its `state`.

        Raises `Conflict` where it still goes on after `timeout_s`.
        """
        return deque(self.watch(job_id, kind, **how), maxlen=1).pop()

    def jobs(self, state: str | None = None, *, app: str | None = None) -> Iterator[JobSummary]:
        """Tuning jobs, newest first, over all pages."""
        for page in self._pages("jobs", JobPage, state=state, app=app):
            yield from page.jobs

    def measurements(
        self, state: str | None = None, *, app: str | None = None
    ) -> Iterator[MeasurementSummary]:
        """Measurements, newest first, over all pages."""
        for page in self._pages("measurements", MeasurementPage, state=state, app=app):
            yield from page.measurements

    def calibrations(self, state: str | None = None) -> Iterator[CalibrationSummary]:
        """Calibrations, newest first, over all pages."""
        for page in self._pages("calibrations", CalibrationPage, state=state):
            yield from page.calibrations

    def trials(self, job_id: int) -> Sequence[TrialAnswer]:
        """All trials of a tuning job, by number."""
        return self._wire.get(f"/v1/jobs/{job_id:d}/trials", ReadAs(TrialList)).trials

    def trial(self, job_id: int, number: int, *, raw: bool = False) -> TrialAnswer:
        """One trial; `raw`: with all its windows."""
        path = f"/v1/jobs/{job_id:d}/trials/{number:d}"
        return self._wire.get(path, ReadAs(TrialAnswer), {"raw": "true" if raw else None})

    def best(self, job_id: int) -> Incumbent:
        """The best of a search so far. Raises `NotFound` before any trial has a score."""
        return self._wire.get(f"/v1/jobs/{job_id:d}/best", ReadAs(Incumbent))

    def windows(self, job_id: int) -> WindowList:
        """The raw data of a measurement."""
        return self._wire.get(f"/v1/measurements/{job_id:d}/windows", ReadAs(WindowList))

    def _look(self, job_id: int, kind: Kind, *, is_retried: bool = True) -> AnyJob:
        path = f"/v1/{kind}/{job_id:d}"
        return self._wire.get(path, ReadAs(_ANSWERS[kind]), is_retried=is_retried)

    def _pages(self, kind: Kind, model: type[Page], **asked: str | None) -> Iterator[Page]:
        after: int | None = None
        while True:
            page = self._wire.get(f"/v1/{kind}", ReadAs(model), {**asked, "after": after})
            yield page
            after = page.next
            if after is None:
                return
