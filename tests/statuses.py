"""The status of a job from all its rows: what the real store adds up in SQL."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from tuner.nouns.model import (
    BASELINE,
    MOST_ANSWERS,
    MOST_LISTED,
    AppInBrief,
    Check,
    Job,
    JobKind,
    JobStatus,
    JobSummary,
    Measurement,
    MeasurementKind,
    MeasurementState,
    PastAnswer,
    Phase,
    Tally,
    Trial,
    TrialNumber,
    TrialState,
)


def summary_of(job: Job) -> JobSummary:
    """A job in a list."""
    return JobSummary(
        id=job.id,
        kind=job.spec.kind,
        app=job.spec.app,
        pool=job.spec.pool,
        priority=job.spec.priority,
        state=job.state,
        phase=job.phase,
        verdict=job.recommendation.verdict if job.recommendation else None,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        submitted_by=job.submitted_by,
    )


def apps_of(
    jobs: Sequence[Job],
    app: str | None,
    after: str | None,
    limit: int,
    checks: Sequence[tuple[str, Check]] = (),
) -> list[AppInBrief]:
    """Apps by name, from their jobs in any order."""
    of_app: defaultdict[str, list[Job]] = defaultdict(list)
    for job in sorted(jobs, key=lambda job: -job.id):
        if job.spec.kind is not JobKind.CALIBRATE:
            of_app[job.spec.app].append(job)
    names = sorted(name for name in of_app if app in (None, name) and (after or "") < name)
    return [
        AppInBrief(
            app=name,
            newest=summary_of(of_app[name][0]),
            open_jobs=sum(not job.state.is_final for job in of_app[name]),
            answers=tuple(_answers(of_app[name]))[: MOST_LISTED if app is None else MOST_ANSWERS],
            checks=tuple(check for of, check in checks if of == name),
        )
        for name in names[:limit]
    ]


def answered_of(jobs: Iterable[Job], app: str) -> list[Job]:
    """The jobs of an app that have an answer, the newest first."""
    found = [job for job in jobs if job.spec.app == app and job.recommendation is not None]
    return sorted(found, key=lambda job: -job.id)


def _answers(jobs: Sequence[Job]) -> Iterator[PastAnswer]:
    for job in jobs:
        found = job.recommendation
        if found is not None and job.finished_at is not None:
            yield PastAnswer(
                job=job.id,
                verdict=found.verdict,
                finished_at=job.finished_at,
                effect=found.comparison.effect,
                lines=found.lines,
                measure_again=found.measure_again,
            )


def status_of(
    job: Job,
    trials: Sequence[Trial],
    measurements: Sequence[Measurement],
    *,
    revision: int,
    queue_position: int | None,
    waits_for: str | None = None,
) -> JobStatus:
    """Where a job stands."""
    candidates = [trial for trial in trials if trial.number != BASELINE]
    open_states = (TrialState.WAITING, TrialState.RUNNING)
    feasible = [trial for trial in trials if trial.outcome and trial.outcome.is_feasible]
    alike: defaultdict[Hashable, list[Measurement]] = defaultdict(list)
    for made in measurements:
        cycles = made.block_options.cycles
        alike[made.kind, made.phase, made.state, len(made.arms), cycles].append(made)
    return JobStatus(
        job=job,
        revision=revision,
        queue_position=queue_position,
        waits_for=waits_for,
        candidates=len(candidates),
        settled=sum(trial.state not in open_states for trial in candidates),
        best=max(feasible, key=_score, default=None),
        tallies=tuple(_tally(group) for group in alike.values()),
    )


def blocks_by_trial(measurements: Sequence[Measurement]) -> dict[TrialNumber, int]:
    """In how many complete blocks each trial was measured."""
    found: defaultdict[TrialNumber, int] = defaultdict(int)
    for made in measurements:
        if made.kind is MeasurementKind.BLOCK and made.state is MeasurementState.COMPLETE:
            for number in set(made.arms):
                found[number] += 1
    return dict(found)


def _score(trial: Trial) -> float:
    assert trial.outcome is not None
    assert trial.outcome.score is not None
    return trial.outcome.score


def _tally(group: Sequence[Measurement]) -> Tally:
    times = [(made.started_at, made.finished_at) for made in group]
    took = [(end - start).total_seconds() for start, end in times if start and end]
    first = [window.started_at for made in group for window in made.windows[:1]]
    return Tally(
        kind=group[0].kind,
        phase=Phase(group[0].phase),
        state=group[0].state,
        arms=len(group[0].arms),
        cycles=group[0].block_options.cycles,
        count=len(group),
        timed=len(took),
        took_s=sum(took),
        load_s=sum(made.result.load_s for made in group if made.result),
        hosts=frozenset(made.host for made in group if made.host),
        first_window_at=min(first, default=None),
    )
