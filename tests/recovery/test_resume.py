"""kill -9 of the worker, twenty times in one job: the answer is the one of an undisturbed run.

Real PostgreSQL, queue, worker and study; the host is invented and gives the same figures for the
same measurement. What it is compared with is the same job in memory, without a process to kill.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

import pytest

from tests.fake_store import FakeStore
from tests.killable_worker import SPEC, Killable, worker_on
from tuner.nouns.model import (
    Job,
    JobId,
    JobSpec,
    JobState,
    Measurement,
    MeasurementId,
    Origin,
    Phase,
)
from tuner.store.db import Store

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

KILLS = (
    *(Phase.CALIBRATE,) * 3,
    *(Phase.SEARCH,) * 6,
    *(Phase.RACE,) * 3,
    *(Phase.ABLATE,) * 5,
    *(Phase.CONFIRM,) * 3,
)
"""The worker is killed once for each, at a random moment after the job has come that far."""

PAUSE_S = 0.03  # of every run of load; a block has six and more
MOST_RUNS = 10  # of load in a life, from when the job has come so far
LONGEST_WAIT_S = 0.15  # beyond the last of them: into the next, the end of the block, the next step
MOMENTS_SEED = 20
ENDS_WITHIN_S = 180.0


@pytest.fixture
def killable(database_url: str) -> Iterator[Killable]:
    found = Killable(database_url, PAUSE_S)
    yield found
    found.kill()


def test_a_job_whose_worker_was_killed_twenty_times_ends_as_if_nothing_had_happened(
    postgres_store: Store, killable: Killable
) -> None:
    job = postgres_store.create_job(SPEC, idempotency_key=None, request_sha256="0")[0].job
    died_in = killed_on_the_way(postgres_store, job.id, killable)
    ended = finished(postgres_store, job.id, killable)
    assert len(died_in) == len(KILLS) == 20
    assert set(died_in) == set(KILLS)
    measured = postgres_store.measurements(job.id)
    assert sum(one.attempt for one in measured) > len(measured)  # some were made again

    store, undisturbed = in_memory(at=ended.finished_at)
    assert origins(postgres_store, job.id) >= {Origin.HEURISTIC, Origin.SAMPLER}
    assert postgres_store.trials(job.id) == store.trials(undisturbed.id)
    assert [figures(one) for one in measured] == [
        figures(one) for one in store.measurements(undisturbed.id)
    ]
    assert ended.state is JobState.SUCCEEDED
    assert ended.finalist == undisturbed.finalist
    assert ended.recommendation == undisturbed.recommendation


def killed_on_the_way(store: Store, job_id: JobId, killable: Killable) -> list[Phase]:
    """Let worker after worker live for a while; the phases in which they died."""
    moments = random.Random(MOMENTS_SEED)  # noqa: S311
    found: list[Phase] = []
    while len(found) < len(KILLS):
        killable.start()
        wait_until(store, job_id, killable, has_come_to(KILLS[len(found)]))
        wait_for_runs(killable, moments.randint(0, MOST_RUNS))
        time.sleep(moments.uniform(0, LONGEST_WAIT_S))
        phase = store.job(job_id).phase
        if killable.kill():
            found.append(phase)
    return found


def wait_for_runs(killable: Killable, runs: int) -> None:
    """Let the worker begin so many more runs of load; counted, so that a busy machine may wait."""
    wanted, deadline = killable.runs + runs, time.monotonic() + ENDS_WITHIN_S
    while killable.runs < wanted:
        assert time.monotonic() < deadline, "the worker does nothing"
        killable.keep()
        time.sleep(0.005)


def finished(store: Store, job_id: JobId, killable: Killable) -> Job:
    """Let a last worker live until the job has ended."""
    killable.start()
    wait_until(store, job_id, killable, lambda job: job.state.is_final)
    return store.job(job_id)


def has_come_to(phase: Phase) -> Callable[[Job], bool]:
    """Whether a job is in a phase, or in a later one."""
    order = list(Phase)
    return lambda job: order.index(job.phase) >= order.index(phase)


def wait_until(
    store: Store, job_id: JobId, killable: Killable, holds: Callable[[Job], bool]
) -> None:
    """Poll the job, with a worker that lives."""
    deadline = time.monotonic() + ENDS_WITHIN_S
    while not holds(job := store.job(job_id)):
        assert time.monotonic() < deadline, f"it stands still in {job.phase}"
        killable.keep()
        time.sleep(0.01)


def in_memory(at: datetime | None, spec: JobSpec = SPEC) -> tuple[FakeStore, Job]:
    """The same job without a process to kill; `at` is the time that its answer names."""
    assert at is not None
    store = FakeStore(clock=lambda: at)
    working = worker_on(store)
    job = store.create_job(spec, idempotency_key=None, request_sha256="0")[0].job
    store.run_deferred(working.advance, lambda id_: working.measure(id_, lambda: False))
    return store, store.job(job.id)


def origins(store: Store, job_id: JobId) -> set[Origin]:
    """Who proposed the job's trials."""
    return {trial.origin for trial in store.trials(job_id)}


def figures(measurement: Measurement) -> Measurement:
    """A measurement without what a clock, a counter of rows or another attempt has put into it."""
    result = measurement.result
    return replace(
        measurement,
        id=MeasurementId(0),
        attempt=0,
        host=None,
        started_at=None,
        finished_at=None,
        result=result and replace(result, setup_s=0.0, load_s=0.0, ready_s=(), warmup_s=()),
    )
