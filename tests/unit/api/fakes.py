"""A store in memory, and a client that calls the app without a network."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from tests import builders
from tests.fake_links import FakeLinks
from tests.statuses import answered_of, apps_of, blocks_by_trial, status_of, summary_of
from tuner.nouns.errors import Conflict, NotFound, Unavailable
from tuner.nouns.model import (
    ANEW,
    Activity,
    AnswerInBrief,
    AppInBrief,
    Asked,
    BenchmarkHost,
    Bottleneck,
    Calibration,
    ChangedLine,
    Comparison,
    Diagnosis,
    Effect,
    History,
    HostFingerprint,
    Job,
    JobId,
    JobKind,
    JobSpec,
    JobState,
    JobStatus,
    JobSummary,
    Key,
    Measurement,
    Metric,
    Origin,
    Outcome,
    Phase,
    Recommendation,
    Request,
    TargetApp,
    Trial,
    TrialNumber,
    TrialState,
    Verdict,
    what_is_missing,
)
from tuner.service.api import Services, create_app
from tuner.study import resolve
from tuner.targets.catalogue import CataloguedApp, HostCatalogue

CALIBRATION = Calibration(
    blocks=2,
    bias=0.001,
    bias_ci_low=-0.01,
    bias_ci_high=0.01,
    block_sd=0.01,
    mde=0.008,
    throughput_rps=120.0,
    resolves_min_effect=True,
)


@dataclass(frozen=True, kw_only=True)
class FakeHost(BenchmarkHost):
    """One that is ready."""

    name: str = "bench-1"
    pool: str = "default"
    fingerprint: HostFingerprint | None = builders.FINGERPRINT
    last_seen: datetime = builders.NOON
    problem: str | None = None


@dataclass
class FakeStore(FakeLinks):
    """As `tuner.service.api.services.Store` describes it; `away` makes every call fail."""

    kept: dict[int, Job] = field(default_factory=dict)
    used: dict[str, tuple[str, JobId]] = field(default_factory=dict)  # idempotency keys
    of_job: dict[int, list[Trial]] = field(default_factory=dict)
    made: dict[int, list[Measurement]] = field(default_factory=dict)
    machines: list[FakeHost] = field(default_factory=list)
    done: Activity = field(default_factory=Activity)
    away: bool = False
    asked: dict[JobId, str | None] = field(default_factory=dict)

    def create_job(
        self,
        spec: JobSpec,
        asked: Asked = ANEW,
        *,
        idempotency_key: str | None,
        request_sha256: str,
        by: str | None = None,
        most_waiting: int | None = None,
    ) -> tuple[JobStatus, bool]:
        self.ping()
        equal_ones = (self.kept[n] for n, sha in self.asked.items() if sha == asked.sha256)
        if (equal := asked.earlier(equal_ones)) is not None:
            return self.status(equal), False
        if idempotency_key in self.used:
            sha256, known = self.used[idempotency_key or ""]
            if sha256 != request_sha256:
                raise Conflict(f"the key {idempotency_key!r} belongs to job {known}")
            return self.status(known), False
        job_id = JobId(len(self.kept) + 1)
        job = builders.job(
            id=job_id,
            spec=spec,
            state=JobState.QUEUED,
            phase=Phase.VALIDATE,
            started_at=None,
            submitted_by=by,
        )
        self.kept[job_id] = job
        self.asked[job_id] = asked.sha256
        if idempotency_key is not None:
            self.used[idempotency_key] = (request_sha256, job_id)
        return self.status(job_id), True

    def job(self, job_id: JobId) -> Job:
        self.ping()
        if job_id not in self.kept:
            raise NotFound(f"there is no job {job_id}")
        return self.kept[job_id]

    def jobs(
        self,
        app: str | None,
        state: JobState | None,
        after: JobId | None,
        limit: int,
        *,
        kind: JobKind | None = None,
    ) -> list[JobSummary]:
        self.ping()
        newest_first = sorted(self.kept.values(), key=lambda job: -job.id)
        found = [
            job
            for job in newest_first
            if (kind is None or job.spec.kind is kind)
            and (app is None or job.spec.app == app)
            and (state is None or job.state is state)
            and (after is None or job.id < after)
        ]
        return [summary_of(job) for job in found[:limit]]

    def next_jobs(self, limit: int) -> list[JobId]:
        return [job.id for job in reversed(self.jobs(None, JobState.QUEUED, None, 999))][:limit]

    def statuses(self, job_ids: Collection[JobId]) -> list[JobStatus]:
        return [self.status(job_id) for job_id in job_ids if job_id in self.kept]

    def status(self, job_id: JobId) -> JobStatus:
        job, trials = self.job(job_id), self.trials(job_id)
        waiting = job.state is JobState.QUEUED
        before = sum(not j.state.is_final and j.id < job_id for j in self.kept.values())
        return status_of(
            job,
            trials,
            self.measurements(job_id),
            revision=hash((job.state, len(trials))) & 0xFFFF,
            queue_position=before if waiting else None,
            waits_for=None if job.state.is_final else what_is_missing(self._problems(job)),
        )

    def _problems(self, job: Job) -> dict[str, str | None]:
        return {host.name: host.problem for host in self.hosts(job.spec.pool)}

    def version(self, job_id: JobId) -> str:
        return self.status(job_id).version

    def pool_of(self, job_id: JobId) -> str:
        return self.job(job_id).spec.pool

    def app_of(self, job_id: JobId) -> str:
        return self.job(job_id).spec.app

    def blocks_by_trial(self, job_id: JobId) -> dict[TrialNumber, int]:
        return blocks_by_trial(self.measurements(job_id))

    def cancel(self, job_id: JobId, *, by: str | None = None) -> JobStatus:
        job = self.job(job_id)
        if job.state.is_final:
            raise Conflict(f"job {job_id} has {job.state}")
        self.kept[job_id] = replace(job, state=JobState.CANCELLED)
        return self.status(job_id)

    def delete_job(self, job_id: JobId, *, by: str | None = None) -> None:
        job = self.job(job_id)
        if not job.state.is_final:
            raise Conflict(f"job {job_id} is {job.state}")
        del self.kept[job_id]

    def trials(self, job_id: JobId) -> list[Trial]:
        self.job(job_id)
        return self.of_job.get(job_id, [])

    def trial(self, job_id: JobId, number: TrialNumber) -> Trial:
        for trial in self.trials(job_id):
            if trial.number == number:
                return trial
        raise NotFound(f"job {job_id} has no trial {number}")

    def measurements(self, job_id: JobId, *, detailed: bool = True) -> list[Measurement]:
        self.job(job_id)
        return self.made.get(job_id, [])

    def history(self, job_id: JobId, *, windows_of: Collection[Phase] | None = None) -> History:
        return builders.history(
            job=self.job(job_id),
            trials=tuple(self.trials(job_id)),
            measurements=tuple(self.measurements(job_id)),
        )

    def apps(
        self, *, app: str | None = None, after: str | None = None, limit: int = 200
    ) -> list[AppInBrief]:
        self.ping()
        return apps_of([*self.kept.values()], app, after, limit)

    def app(self, name: str) -> AppInBrief:
        found = self.apps(app=name)
        if not found:
            raise NotFound(f"there is no job for an app {name!r} yet")
        return found[0]

    def answered(self, app: str, limit: int) -> list[Job]:
        return answered_of(self.kept.values(), app)[:limit]

    def latest_in_brief(self, app: str) -> AnswerInBrief | None:
        self.ping()
        found = [job for job in self.kept.values() if job.spec.app == app and job.recommendation]
        return self.answer_in_brief(found[-1].id) if found else None

    def answer_in_brief(self, job_id: JobId) -> AnswerInBrief | None:
        job = self.kept.get(job_id)
        self.ping()
        if job is None or job.recommendation is None or job.finished_at is None:
            return None
        return AnswerInBrief(
            job=job.id,
            revision=self.status(job.id).revision,
            verdict=job.recommendation.verdict,
            finished_at=job.finished_at,
            doubts=job.recommendation.doubts,
        )

    def hosts(self, pool: str | None = None) -> list[FakeHost]:
        self.ping()
        return [host for host in self.machines if pool is None or host.pool == pool]

    def key_of(self, secret: str) -> Key | None:
        self.ping()
        return super().key_of(secret)

    def key(self, number: int) -> Key | None:
        self.ping()
        return super().key(number)

    def activity(self) -> Activity:
        self.ping()
        return self.done

    def ping(self) -> None:
        if self.away:
            raise Unavailable("postgresql", "connection refused")


def trial(number: int, score: float | None, *, excess: float = -0.1) -> Trial:
    """A settled trial."""
    state = TrialState.COMPLETE if score is not None else TrialState.INFEASIBLE
    return Trial(
        number=TrialNumber(number),
        params={"processes": number + 1},
        origin=Origin.SAMPLER if number else Origin.BASELINE,
        state=state,
        outcome=Outcome(state=state, score=score, constraints={"error_rate": excess}),
    )


def recommendation(verdict: Verdict = Verdict.BETTER) -> Recommendation:
    """An answer: 4 processes rather than 2."""
    effect = Effect(metric=Metric.THROUGHPUT_RPS, estimate=0.068, ci_low=0.049, ci_high=0.087)
    is_better = verdict is Verdict.BETTER
    return Recommendation(
        comparison=Comparison(
            verdict=verdict, effect=effect, p_better=0.99, mde=0.01, blocks=24, reason="measured"
        ),
        candidate=TrialNumber(2),
        params={"processes": 4},
        lines=(ChangedLine(option="processes", value="4", baseline_value="2", effect=effect),)
        if is_better
        else (),
        reverted=(ChangedLine(option="thunder-lock", value="true", baseline_value=None),),
        diagnosis=Diagnosis(
            bottleneck=Bottleneck.CPU_QUOTA, sentence="the CPU is full", evidence={"cpu": 0.99}
        ),
        reason="because it was measured",
        uwsgi_ini="[uwsgi]\nmaster = true\nprocesses = 4\n" if is_better else builders.INI,
        overlay_ini="[uwsgi]\nprocesses = 4\n" if is_better else "[uwsgi]\n",
    )


def finished(job_id: int, verdict: Verdict = Verdict.BETTER, *, days_ago: float = 1) -> Job:
    """A job with its answer."""
    return builders.job(
        id=JobId(job_id),
        state=JobState.SUCCEEDED,
        phase=Phase.DONE,
        finished_at=builders.NOON - timedelta(days=days_ago),
        calibration=CALIBRATION,
        recommendation=recommendation(verdict),
    )


def catalogue() -> HostCatalogue:
    """One target app and one space."""
    app = TargetApp(name="mixed", description="an app", build=".", thread_safe=True)
    known = CataloguedApp(app=app, folder=Path("/nowhere"), baseline_ini=builders.INI)
    return HostCatalogue(apps={"mixed": known}, spaces={"default": builders.space()})


@dataclass
class Api:
    """The app over a fake store."""

    store: Any = field(default_factory=FakeStore)  # or the real one
    api_key: str | None = None
    resolve: Any = None
    require_room: Callable[[], None] = lambda: None
    limits: Mapping[str, Any] = field(default_factory=dict)  # of the operator
    app: FastAPI = field(init=False)

    def __post_init__(self) -> None:
        known = catalogue()

        def real_resolve(request: Request) -> JobSpec:
            return resolve(request, known)

        self._services = Services(
            store=self.store,
            catalogue=known,
            resolve=self.resolve or real_resolve,
            api_key=self.api_key,
            wrong_key_takes_s=0,
            hosts_allowed=("*.our.example",),
            now=lambda: builders.NOON,
            require_room=self.require_room,
            **self.limits,
        )
        self.app = _app(self._services)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.send("GET", path, headers=headers)

    def submit(self, document: Any = None, **headers: str) -> httpx.Response:
        body = {"app": "shop", "target": {"target_app": "mixed"}} if document is None else document
        return self.send("POST", "/v1/jobs", json=body, headers=headers)

    def send(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        content: Any = None,
        headers: Mapping[str, str] | Any = None,
    ) -> httpx.Response:
        self.app.state.services = self._services

        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost"
            ) as client:
                return await client.request(
                    method, path, json=json, content=content, headers=headers
                )

        return asyncio.run(call())


_OPEN: list[FastAPI] = []


def _app(services: Services) -> FastAPI:
    """To build an app takes as long as a hundred calls: one for all that ask for no key."""
    if services.api_key is not None:
        return create_app(services)
    if not _OPEN:
        _OPEN.append(create_app(services))
    return _OPEN[0]
