"""The store in memory, for whole studies in milliseconds. `tests/contract` keeps it honest."""

import copy
import itertools
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, assert_never

from tests import builders
from tests.fake_checks import FakeChecks
from tests.statuses import answered_of, apps_of, blocks_by_trial, status_of, summary_of
from tuner.nouns.errors import Conflict, LimitReached, NotFound
from tuner.nouns.model import (
    ANEW,
    DROPPED,
    HOST_IS_STALE_AFTER,
    Action,
    AnswerInBrief,
    AppInBrief,
    Asked,
    BenchmarkHost,
    Calibration,
    Claim,
    Enter,
    Fail,
    Failure,
    Histogram,
    History,
    HostFingerprint,
    Job,
    JobId,
    JobKind,
    JobSpec,
    JobState,
    JobStatus,
    JobSummary,
    Measure,
    Measurement,
    MeasurementId,
    MeasurementResult,
    MeasurementState,
    OverTime,
    Params,
    Phase,
    Plan,
    Priority,
    Settle,
    Step,
    Succeed,
    Trial,
    TrialNumber,
    TrialState,
    Verdict,
    too_many_waiting,
    what_is_missing,
    why_not_finish,
)
from tuner.service.api.limited import is_among
from tuner.store.db.status import DETAILED

Deferred = tuple[Literal["advance", "measure"], int]


class FakeStore(FakeChecks):
    """Same methods, same answers as `tuner.store.db.Store`. What it defers is in `deferred`."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.deferred: deque[Deferred] = deque()
        self._clock = clock
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._jobs: dict[JobId, Job] = {}
        self._revisions: dict[JobId, int] = {}
        self._keys: dict[tuple[str, str | None], tuple[JobId, str]] = {}
        self._by_key: dict[JobId, str] = {}
        self._asked: dict[JobId, str | None] = {}
        self._trials: dict[JobId, dict[TrialNumber, Trial]] = {}
        self._measurements: dict[MeasurementId, Measurement] = {}
        self._faults: dict[MeasurementId, int] = {}
        self._workers: dict[str, object] = {}  # of the hosts that live
        self._holders: dict[MeasurementId, object] = {}
        self._hosts: dict[str, BenchmarkHost] = {}

    def run_deferred(
        self,
        advance: Callable[[JobId], None],
        measure: Callable[[MeasurementId], None],
        *,
        at_most: int = 10_000,
    ) -> int:
        """Run what was deferred, one after the other, until nothing is left; how many that were."""
        for done in range(at_most):
            if not self.deferred:
                return done
            kind, id_ = self.deferred.popleft()
            if kind == "advance":
                advance(JobId(id_))
            else:
                measure(MeasurementId(id_))
        raise RuntimeError(f"no end after {at_most} tasks")

    # ---- jobs

    def create_job(
        self,
        spec: JobSpec,
        asked: Asked = ANEW,
        *,
        idempotency_key: str | None,
        request_sha256: str,
        by: str | None = None,
        by_key: str = "",
        most_waiting: int | None = None,
    ) -> tuple[JobStatus, bool]:
        with self._all_or_nothing():
            equal = (n for n, sha256 in self._asked.items() if sha256 == asked.sha256)
            known = (self._jobs[job_id] for job_id in equal if job_id in self._jobs)
            if (earlier := asked.earlier(known)) is not None:
                return self.status(earlier), False
            own_key = by_key, idempotency_key
            if own_key in self._keys:
                job_id, sha = self._keys[own_key]
                if sha != request_sha256:
                    raise Conflict(f"the idempotency key {idempotency_key!r} is taken")
                return self.status(job_id), False
            queued = (job.id for job in self._jobs.values() if job.state is JobState.QUEUED)
            waiting = sum(self._by_key[job_id] == by_key for job_id in queued)
            if most_waiting is not None and waiting >= most_waiting:
                raise LimitReached(too_many_waiting(by_key, most_waiting))
            job = Job(
                id=JobId(next(self._numbers)),
                spec=spec,
                state=JobState.QUEUED,
                phase=Phase.VALIDATE,
                created_at=self._clock(),
                submitted_by=by,
            )
            self._jobs[job.id] = job
            self.note(by, Action.SUBMIT, job.id, spec.app)
            self._asked[job.id] = asked.sha256
            self._by_key[job.id] = by_key
            self._revisions[job.id] = 1
            self._trials[job.id] = {}
            if idempotency_key is not None:
                self._keys[own_key] = (job.id, request_sha256)
            self.deferred.append(("advance", job.id))
            return self.status(job.id), True

    def job(self, job_id: JobId) -> Job:
        if job_id not in self._jobs:
            raise NotFound(f"there is no job {job_id}")
        return self._jobs[job_id]

    def jobs(
        self,
        app: str | None = None,
        state: JobState | None = None,
        after: JobId | None = None,
        limit: int = 50,
        *,
        kind: JobKind | None = None,
        among: Collection[str] = (),
    ) -> list[JobSummary]:
        found = [
            job
            for job in reversed(self._jobs.values())
            if (kind is None or job.spec.kind is kind)
            and (app is None or job.spec.app == app)
            and (state is None or job.state is state)
            and (after is None or job.id < after)
            and is_among(job.spec.app, among)
        ]
        return [summary_of(job) for job in found[:limit]]

    def next_jobs(self, limit: int) -> list[JobId]:
        queued = [job for job in self._jobs.values() if job.state is JobState.QUEUED]
        queues: defaultdict[str, list[JobId]] = defaultdict(list)
        for job in sorted(queued, key=self._turn_of):
            queues[job.spec.pool].append(job.id)
        places = ((place, job) for queue in queues.values() for place, job in enumerate(queue))
        return [job for _, job in sorted(places)][:limit]

    def statuses(self, job_ids: Collection[JobId]) -> list[JobStatus]:
        return [self.status(job_id) for job_id in job_ids if job_id in self._jobs]

    def status(self, job_id: JobId) -> JobStatus:
        job = self.job(job_id)
        return status_of(
            job,
            self.trials(job_id),
            self.measurements(job_id),
            revision=self.revision_of(job_id),
            queue_position=self._ahead_of(job) if job.state is JobState.QUEUED else None,
            waits_for=None if job.state.is_final else what_is_missing(self._problems_in(job)),
        )

    def revision_of(self, job_id: JobId) -> int:
        """It rises with every change of the job."""
        return self._revisions[job_id]

    def _live_hosts(self, job: Job) -> list[BenchmarkHost]:
        oldest = self._clock() - HOST_IS_STALE_AFTER
        return [host for host in self.hosts(job.spec.pool) if host.last_seen > oldest]

    def _problems_in(self, job: Job) -> dict[str, str | None]:
        return {host.name: host.problem for host in self._live_hosts(job)}

    def pool_of(self, job_id: JobId) -> str:
        return self.job(job_id).spec.pool

    def app_of(self, job_id: JobId) -> str:
        return self.job(job_id).spec.app

    def version(self, job_id: JobId) -> str:
        return self.status(job_id).version

    def blocks_by_trial(self, job_id: JobId) -> dict[TrialNumber, int]:
        return blocks_by_trial(self.measurements(job_id))

    def history(self, job_id: JobId, *, windows_of: Collection[Phase] | None = None) -> History:
        job = self.job(job_id)
        made = self._measurements_of(job_id, detailed=DETAILED & {job.phase})
        if windows_of is not None:
            made = tuple(m if m.phase in windows_of else _without_windows(m) for m in made)
        return History(
            job=job,
            trials=self.trials(job_id),
            measurements=made,
            now=self._clock(),
            revision=self._revisions[job_id],
            may_start=self._ahead_of(job) == 0,
        )

    def advance(self, job_id: JobId, decide: Callable[[History], Step | None]) -> None:
        for _ in range(5_000):
            history = self.history(job_id)
            step = None if history.job.state.is_final else decide(history)
            if step is None:
                return
            with self._all_or_nothing():
                if history.revision == self._revisions[job_id]:
                    self._apply(history.job, step)
        raise RuntimeError(f"job {job_id}: no end after 5000 steps")

    def cancel(self, job_id: JobId, *, by: str | None = None) -> JobStatus:
        with self._all_or_nothing():
            job = self.job(job_id)
            if job.state is JobState.CANCELLED:
                return self.status(job_id)
            if job.state.is_final:
                raise Conflict(f"job {job_id} has {job.state.value} and cannot be cancelled")
            self.note(by, Action.CANCEL, job_id)
            self._finish(job, state=JobState.CANCELLED)
            return self.status(job_id)

    def finish_now(self, job_id: JobId, *, by: str | None = None) -> JobStatus:
        with self._all_or_nothing():
            job = self.job(job_id)
            if (reason := why_not_finish(job)) is not None:
                raise Conflict(reason)
            if job.finish_in is not job.phase:
                self.note(by, Action.FINISH, job_id)
                self._jobs[job_id] = replace(job, finish_in=job.phase)
                self._bump(job_id)
                for made in self.measurements(job_id):
                    if made.is_open and made.phase is job.phase and job.phase in DROPPED:
                        cancelled = MeasurementState.CANCELLED
                        self._put(made, state=cancelled, finished_at=self._clock())
                self.deferred.append(("advance", job_id))
            return self.status(job_id)

    def delete_job(self, job_id: JobId, *, by: str | None = None) -> None:
        with self._all_or_nothing():
            job = self.job(job_id)
            if not job.state.is_final:
                raise Conflict(f"job {job_id} is {job.state.value}: cancel it first")
            for made in self.measurements(job_id):
                del self._measurements[made.id]
            del self._jobs[job_id], self._trials[job_id], self._revisions[job_id]
            self._keys = {key: kept for key, kept in self._keys.items() if kept[0] != job_id}
            self.note(by, Action.DELETE, job_id, job.spec.app)
            self.forget_links(job_id)
            self.forget_checks(job_id)

    def latest_in_brief(self, app: str) -> AnswerInBrief | None:
        found = self.jobs(app=app, state=JobState.SUCCEEDED, limit=1, kind=JobKind.TUNE)
        return self.answer_in_brief(JobId(found[0].id)) if found else None

    def answer_in_brief(self, job_id: JobId) -> AnswerInBrief | None:
        job = self._jobs.get(job_id)
        if job is None or job.recommendation is None or job.finished_at is None:
            return None
        return AnswerInBrief(
            job=job.id,
            revision=self.revision_of(job.id),
            verdict=job.recommendation.verdict,
            finished_at=job.finished_at,
            doubts=job.recommendation.doubts,
        )

    def apps(
        self,
        *,
        app: str | None = None,
        after: str | None = None,
        limit: int = 200,
        among: Collection[str] = (),
    ) -> list[AppInBrief]:
        allowed = [job for job in self._jobs.values() if is_among(job.spec.app, among)]
        return apps_of(allowed, app, after, limit, self.checks)

    def app(self, name: str) -> AppInBrief:
        found = self.apps(app=name)
        if not found:
            raise NotFound(f"there is no job for an app {name!r} yet")
        return found[0]

    def answered(self, app: str, limit: int) -> list[Job]:
        return answered_of(self._jobs.values(), app)[:limit]

    def recommended(self, app: str, limit: int = 3) -> list[Params]:
        jobs = self.jobs(app=app, state=JobState.SUCCEEDED, limit=10_000, kind=JobKind.TUNE)
        answers = [self._jobs[JobId(job.id)].recommendation for job in jobs]
        better = [found for found in answers if found and found.verdict is Verdict.BETTER]
        return [found.params for found in better[:limit]]

    # ---- trials and measurements

    def trials(self, job_id: JobId) -> tuple[Trial, ...]:
        self.job(job_id)
        return tuple(self._trials[job_id][number] for number in sorted(self._trials[job_id]))

    def trial(self, job_id: JobId, number: TrialNumber) -> Trial:
        self.job(job_id)
        if number not in self._trials[job_id]:
            raise NotFound(f"job {job_id} has no trial {number}")
        return self._trials[job_id][number]

    def measurements(self, job_id: JobId, *, detailed: bool = True) -> tuple[Measurement, ...]:
        return self._measurements_of(job_id, detailed=tuple(Phase) if detailed else ())

    def _measurements_of(
        self, job_id: JobId, *, detailed: Collection[Phase]
    ) -> tuple[Measurement, ...]:
        self.job(job_id)
        found = [
            m if m.phase in detailed else _without_details(m)
            for m in self._measurements.values()
            if m.job_id == job_id
        ]
        return tuple(sorted(found, key=lambda measurement: measurement.sequence))

    def claim(self, measurement_id: MeasurementId, host: str) -> Claim | None:
        with self._all_or_nothing():
            measurement = self._measurements.get(measurement_id)
            if measurement is None or not self._may_take(measurement, host):
                return None
            measurement = self._put(
                measurement,
                state=MeasurementState.RUNNING,
                attempt=measurement.attempt + 1,
                host=host,
                started_at=self._clock(),
            )
            self._holders[measurement_id] = self._workers.get(host)
            trials = self._trials[measurement.job_id]
            return Claim(
                measurement=measurement,
                job=self._jobs[measurement.job_id],
                params=tuple(trials[arm].params for arm in measurement.arms),
            )

    def is_current(self, measurement_id: MeasurementId, attempt: int) -> bool:
        return self._current(measurement_id, attempt) is not None

    def complete(
        self, measurement_id: MeasurementId, attempt: int, result: MeasurementResult
    ) -> bool:
        return self._ended(measurement_id, attempt, state=MeasurementState.COMPLETE, result=result)

    def fail(self, measurement_id: MeasurementId, attempt: int, failure: Failure) -> bool:
        return self._ended(measurement_id, attempt, state=MeasurementState.FAILED, failure=failure)

    def release(self, measurement_id: MeasurementId, attempt: int, *, fault: str | None) -> int:
        with self._all_or_nothing():
            measurement = self._current(measurement_id, attempt)
            faults = self._faults.get(measurement_id, 0)
            if measurement is None:
                return faults
            self._put(measurement, state=MeasurementState.QUEUED, host=None)
            self._faults[measurement_id] = faults + (fault is not None)
            return self._faults[measurement_id]

    def open_jobs(self) -> set[JobId]:
        with self._all_or_nothing():
            return {job.id for job in self._jobs.values() if not job.state.is_final}

    def recover(self, pool: str) -> int:
        with self._all_or_nothing():
            lost: list[Deferred] = []
            open_jobs = [job for job in self._jobs.values() if job.spec.pool == pool]
            open_jobs = [job for job in open_jobs if not job.state.is_final]
            for measurement in self._measurements.values():
                if self._jobs[measurement.job_id] in open_jobs and self._may_take(measurement, ""):
                    lost.append(("measure", measurement.id))
            running = [job for job in open_jobs if job.state is JobState.RUNNING]
            for job in (running or open_jobs)[:1]:
                if not any(m.is_open for m in self.measurements(job.id)):
                    lost.append(("advance", job.id))
            lost = [task for task in lost if task not in self.deferred]
            self.deferred.extend(lost)
            return len(lost)

    # ---- hosts

    @contextmanager
    def host_alive(self, name: str) -> Iterator[None]:
        """A worker of that name lives, as under `tuner.store.db.host_alive`."""
        self._workers[name] = object()
        try:
            yield
        finally:
            del self._workers[name]

    def see_host(
        self,
        name: str,
        pool: str,
        fingerprint: HostFingerprint | None = None,
        problem: str | None = None,
    ) -> None:
        with self._all_or_nothing():
            known = self._hosts.get(name)
            self._hosts[name] = BenchmarkHost(
                name=name,
                pool=pool,
                fingerprint=fingerprint or (known.fingerprint if known else None),
                last_seen=self._clock(),
                problem=problem,
                calibration=known.calibration if known else None,
                calibrated_at=known.calibrated_at if known else None,
                calibrated_with=known.calibrated_with if known else None,
            )

    def hosts(self, pool: str | None = None) -> list[BenchmarkHost]:
        found = sorted(self._hosts.values(), key=lambda host: host.name)
        return [host for host in found if pool is None or host.pool == pool]

    def ping(self) -> None:
        """It is always there."""

    # ---- steps

    def _apply(self, job: Job, step: Step) -> None:
        match step:
            case Enter():
                self._enter(job, step)
            case Settle(number=number, outcome=outcome):
                trial = self._trials[job.id][number]
                is_open = trial.state in (TrialState.WAITING, TrialState.RUNNING)
                if is_open or (trial.outcome and trial.outcome.blocks < outcome.blocks):
                    settled = replace(trial, state=outcome.state, outcome=outcome)
                    self._trials[job.id][number] = settled
                self._bump(job.id)
            case Measure(plans=plans, trials=trials):
                for trial in trials:
                    self._trials[job.id].setdefault(trial.number, trial)
                for plan in plans:
                    self._plan(job, plan)
                self._bump(job.id)
            case Succeed():
                self._keep_calibration(job, step.calibration)
                self._finish(
                    job,
                    state=JobState.SUCCEEDED,
                    phase=Phase.DONE,
                    recommendation=step.recommendation,
                    report=step.report,
                    calibration=step.calibration or job.calibration,
                )
            case Fail(failure=failure):
                self._finish(job, state=JobState.FAILED, failure=failure)
            case _:
                assert_never(step)

    def _keep_calibration(self, job: Job, found: Calibration | None) -> None:
        for name in found.hosts if found else ():
            if name in self._hosts:
                self._hosts[name] = replace(
                    self._hosts[name],
                    calibration=found,
                    calibrated_at=self._clock(),
                    calibrated_with=job.spec.target.name,
                )

    def _enter(self, job: Job, step: Enter) -> None:
        self._keep_calibration(job, step.calibration)
        started = job.state is JobState.QUEUED
        self._jobs[job.id] = replace(
            job,
            phase=step.phase,
            state=JobState.RUNNING,
            started_at=self._clock() if started else job.started_at,
            spec=job.spec.with_file(step.baseline_ini) if step.baseline_ini else job.spec,
            facts=step.facts or job.facts,
            calibration=step.calibration or job.calibration,
            finalist=job.finalist if step.finalist is None else step.finalist,
        )
        self._bump(job.id)

    def _plan(self, job: Job, plan: Plan) -> None:
        if any(m.sequence == plan.sequence for m in self.measurements(job.id)):
            return
        measurement = builders.planned(plan, MeasurementId(len(self._measurements) + 1), job.id)
        self._measurements[measurement.id] = measurement
        self.deferred.append(("measure", measurement.id))

    def _finish(self, job: Job, **values: Any) -> None:
        self._jobs[job.id] = replace(job, finished_at=self._clock(), **values)
        self._bump(job.id)
        for measurement in self.measurements(job.id):
            if measurement.is_open:
                self._put(measurement, state=MeasurementState.CANCELLED, finished_at=self._clock())
        for other in self._jobs.values():
            if other.spec.pool == job.spec.pool and other.state is JobState.QUEUED:
                self.deferred.append(("advance", other.id))
                return

    def _ended(self, measurement_id: MeasurementId, attempt: int, **values: Any) -> bool:
        with self._all_or_nothing():
            measurement = self._current(measurement_id, attempt)
            if measurement is None:
                return False
            self._put(measurement, finished_at=self._clock(), **values)
            self.deferred.append(("advance", measurement.job_id))
            return True

    def _put(self, measurement: Measurement, **values: Any) -> Measurement:
        changed = replace(measurement, **values)
        self._measurements[measurement.id] = changed
        self._bump(measurement.job_id)
        return changed

    def _bump(self, job_id: JobId) -> None:
        self._revisions[job_id] += 1

    def _current(self, measurement_id: MeasurementId, attempt: int) -> Measurement | None:
        measurement = self._measurements.get(measurement_id)
        if measurement is None or measurement.attempt != attempt:
            return None
        return measurement if measurement.state is MeasurementState.RUNNING else None

    def _may_take(self, measurement: Measurement, host: str) -> bool:
        if measurement.state is not MeasurementState.RUNNING:
            return measurement.state is MeasurementState.QUEUED
        lost = self._holders[measurement.id] not in self._workers.values()
        return measurement.host == host or lost

    def _ahead_of(self, job: Job) -> int:
        others = [o for o in self._jobs.values() if o.spec.pool == job.spec.pool and o.id != job.id]
        running = sum(other.state is JobState.RUNNING for other in others)
        if job.state is not JobState.QUEUED:
            return running
        queued = [o for o in others if o.state is JobState.QUEUED]
        return running + sum(self._turn_of(other) < self._turn_of(job) for other in queued)

    def _turn_of(self, job: Job) -> tuple[bool, int, float, int]:
        """Jobs with a smaller one come before it."""
        of_app = [o for o in self._jobs.values() if (o.spec.pool, o.spec.app) == _queue_of(job)]
        started = [o.started_at for o in sorted(of_app, key=_number) if o.started_at is not None]
        like = [
            o.id
            for o in of_app
            if o.state is JobState.QUEUED and o.spec.priority is job.spec.priority
        ]
        last_start = started[-1].timestamp() if started else -1.0
        is_nightly = job.spec.priority is not Priority.INTERACTIVE
        return is_nightly, sum(other <= job.id for other in like), last_start, min(like)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """All or nothing, as the real one: what a failing step has changed is put back."""
        with self._lock:
            before = {
                name: copy.copy(value)
                for name, value in vars(self).items()
                if isinstance(value, dict | deque)
            }
            trials = {job_id: dict(found) for job_id, found in self._trials.items()}
            try:
                yield
            except BaseException:
                vars(self).update(before | {"_trials": trials})
                raise


def _number(job: Job) -> int:
    return job.id


def _queue_of(job: Job) -> tuple[str, str]:
    return job.spec.pool, job.spec.app


def _without_windows(measurement: Measurement) -> Measurement:
    result = measurement.result
    return replace(measurement, result=replace(result, windows=()) if result else None)


def _without_details(measurement: Measurement) -> Measurement:
    result = measurement.result
    if result is None:
        return measurement
    windows = tuple(
        replace(window, series=(), over_time=OverTime(), histogram=Histogram())
        for window in result.windows
    )
    return replace(measurement, result=replace(result, windows=windows))
