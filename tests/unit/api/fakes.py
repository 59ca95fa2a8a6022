"""A store in memory, and a client that calls the app without a network."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from tests import builders, fake_store
from tests.finished_jobs import CALIBRATION as CALIBRATION
from tuner.nouns.errors import Unavailable
from tuner.nouns.model import (
    Activity,
    BenchmarkHost,
    Bottleneck,
    ChangedLine,
    Comparison,
    Diagnosis,
    Effect,
    History,
    HostFingerprint,
    Job,
    JobId,
    JobSpec,
    JobState,
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
)
from tuner.service.api import Services, create_app
from tuner.study import resolve
from tuner.targets.catalogue import CataloguedApp, HostCatalogue


@dataclass(frozen=True, kw_only=True)
class FakeHost(BenchmarkHost):
    """One that is ready."""

    name: str = "bench-1"
    pool: str = "default"
    fingerprint: HostFingerprint | None = builders.FINGERPRINT
    last_seen: datetime = builders.NOON
    problem: str | None = None


class FakeStore(fake_store.FakeStore):
    """The store in memory, with rows that a test puts there; `away` makes every call fail."""

    def __init__(
        self,
        kept: Mapping[int, Job] | None = None,
        of_job: Mapping[int, list[Trial]] | None = None,
        made: Mapping[int, list[Measurement]] | None = None,
        machines: Iterable[FakeHost] = (),
        done: Activity | None = None,
        *,
        away: bool = False,
    ) -> None:
        super().__init__(clock=lambda: builders.NOON)
        self._jobs.update({JobId(number): job for number, job in (kept or {}).items()})
        self.of_job = dict(of_job or {})
        self.made = dict(made or {})
        self.machines = list(machines)
        self.done = done or Activity()
        self.away = away

    @property
    def kept(self) -> dict[Any, Job]:
        """The jobs by number."""
        return self._jobs

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if callable(found) and not name.startswith("_") and super().__getattribute__("away"):
            raise Unavailable("postgresql", "connection refused")
        return found

    def trials(self, job_id: JobId) -> tuple[Trial, ...]:
        self.job(job_id)
        return tuple(self.of_job.get(job_id, ()))

    def trial(self, job_id: JobId, number: TrialNumber) -> Trial:
        self._trials[job_id] = {trial.number: trial for trial in self.trials(job_id)}
        return super().trial(job_id, number)

    def measurements(self, job_id: JobId, *, detailed: bool = True) -> tuple[Measurement, ...]:
        self.job(job_id)
        return tuple(self.made.get(job_id, ()))

    def history(self, job_id: JobId, *, windows_of: Collection[Phase] | None = None) -> History:
        return builders.history(
            job=self.job(job_id),
            trials=self.trials(job_id),
            measurements=self.measurements(job_id),
        )

    def revision_of(self, job_id: JobId) -> int:
        return hash((self.job(job_id).state, len(self.trials(job_id)))) & 0xFFFF

    def hosts(self, pool: str | None = None) -> list[BenchmarkHost]:
        return [host for host in self.machines if pool is None or host.pool == pool]

    def activity(self) -> Activity:
        return self.done


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
