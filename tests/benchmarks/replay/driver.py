"""A whole job in memory: `study.decide` and a world, step by step, until there is an answer.

The job's rows are plain lists: a step costs what it changes. Only the host is replaced. Every
phase that `decide` may have is driven alike, for all that happens here is that plans are measured.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from tests.benchmarks.replay.world import World
from tests.builders import NOON, planned
from tuner.nouns.model import (
    Enter,
    Fail,
    Failure,
    History,
    Job,
    JobId,
    JobSpec,
    JobState,
    Measure,
    Measurement,
    MeasurementId,
    MeasurementKind,
    MeasurementState,
    Phase,
    Settle,
    Step,
    Succeed,
    Trial,
    TrialNumber,
)

MOST_STEPS = 10_000
"""Beyond this a job does not end."""

Decide = Callable[[History], Step | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A job that has ended: its rows, and what each phase took.

    `finalists` says with which finalist each phase began; `seconds` are those of the host.
    """

    job: Job
    trials: tuple[Trial, ...]
    measurements: tuple[Measurement, ...]
    finalists: Mapping[Phase, TrialNumber]
    seconds: Mapping[str, float]

    @property
    def measured_s(self) -> float:
        """What the whole job took on the host."""
        return sum(self.seconds.values())

    @property
    def blocks(self) -> Mapping[str, int]:
        """How many blocks were measured, by phase."""
        blocks = (m for m in self.measurements if m.kind is MeasurementKind.BLOCK)
        return Counter(str(m.phase) for m in blocks if not m.is_open)


def play(spec: JobSpec, world: World, decide: Decide) -> Played:
    """The job from its request to its answer. Raises `RuntimeError` where it gets stuck."""
    rows = _Rows(job=_new(spec))
    for _ in range(MOST_STEPS):
        step = decide(rows.history(world.now_s))
        if step is not None:
            rows.apply(step, world.now_s)
        elif not rows.measure_next(world):
            raise RuntimeError(f"no host has anything to do in phase {rows.job.phase}")
        if rows.job.state.is_final:
            return rows.played()
    raise RuntimeError(f"no end after {MOST_STEPS} steps")


def _new(spec: JobSpec) -> Job:
    return Job(id=JobId(1), spec=spec, state=JobState.QUEUED, phase=Phase.VALIDATE, created_at=NOON)


def _at(now_s: float) -> datetime:
    return NOON + timedelta(seconds=now_s)


@dataclass(slots=True)
class _Rows:
    """The tables of one job, as the store keeps them; `done` measurements are closed."""

    job: Job
    trials: list[Trial] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    done: int = 0
    finalists: dict[Phase, TrialNumber] = field(default_factory=dict)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def history(self, now_s: float) -> History:
        return History(
            job=self.job,
            trials=tuple(self.trials),
            measurements=tuple(self.measurements),
            now=_at(now_s),
        )

    def apply(self, step: Step, now_s: float) -> None:
        match step:
            case Enter():
                self._enter(step, now_s)
            case Settle(number=number, outcome=outcome):
                trial = replace(self.trials[number], state=outcome.state, outcome=outcome)
                self.trials[number] = trial
            case Measure(plans=plans, trials=trials):
                self.trials += trials
                self.measurements += [
                    planned(plan, MeasurementId(plan.sequence + 1)) for plan in plans
                ]
            case Succeed():
                self.job = replace(
                    self.job,
                    state=JobState.SUCCEEDED,
                    phase=Phase.DONE,
                    recommendation=step.recommendation,
                    report=step.report,
                    calibration=step.calibration or self.job.calibration,
                )
            case Fail(failure=failure):
                self.job = replace(self.job, state=JobState.FAILED, failure=failure)
            case _:
                assert_never(step)

    def _enter(self, step: Enter, now_s: float) -> None:
        job = self.job
        finalist = job.finalist if step.finalist is None else step.finalist
        if finalist is not None:
            self.finalists[step.phase] = finalist
        self.job = replace(
            job,
            phase=step.phase,
            state=JobState.RUNNING,
            started_at=job.started_at or _at(now_s),
            facts=step.facts or job.facts,
            calibration=step.calibration or job.calibration,
            finalist=finalist,
        )

    def measure_next(self, world: World) -> bool:
        """Have the oldest open measurement made; False where there is none."""
        if self.done == len(self.measurements):
            return False
        asked, began_s = self.measurements[self.done], world.now_s
        if asked.kind is MeasurementKind.PREPARE:
            reply = world.prepare()
        else:
            arms = [self.trials[arm].params for arm in asked.arms]
            reply = world.block(arms, self.job.spec.budget, asked.block_options)
        failed = isinstance(reply.outcome, Failure)
        self.measurements[self.done] = replace(
            asked,
            state=MeasurementState.FAILED if failed else MeasurementState.COMPLETE,
            attempt=1,
            host="replay",
            started_at=_at(began_s),
            finished_at=_at(world.now_s),
            result=None if isinstance(reply.outcome, Failure) else reply.outcome,
            failure=reply.outcome if isinstance(reply.outcome, Failure) else None,
        )
        self.seconds[str(asked.phase)] += reply.seconds
        self.done += 1
        return True

    def played(self) -> Played:
        return Played(
            job=self.job,
            trials=tuple(self.trials),
            measurements=tuple(self.measurements),
            finalists=dict(self.finalists),
            seconds=dict(self.seconds),
        )
