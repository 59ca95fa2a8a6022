"""PostgreSQL is stopped in the middle of a block: no block is measured again, and the job ends.

Real PostgreSQL, queue, worker and study; the host is invented.
"""

import time
from collections.abc import Iterator

import pytest

from tests.killable_worker import SPEC, Killable
from tests.postgres import server
from tests.recovery.test_resume import has_come_to, wait_for_runs, wait_until
from tuner.nouns.model import Budget, JobState, Phase
from tuner.store.db import Store

BRIEF = SPEC.model_copy(
    update={
        "budget": Budget(trials=2, calibrate_blocks=2, confirm_blocks=4, cycles=2, window_s=1.0)
    }
)


@pytest.fixture
def killable(database_url: str) -> Iterator[Killable]:
    found = Killable(database_url, pause_s=0.05)
    yield found
    found.kill()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "away_s",
    [pytest.param(5.0, marks=pytest.mark.real), pytest.param(60.0, marks=pytest.mark.full)],
)
def test_a_postgresql_that_was_away_costs_no_block(
    postgres_store: Store, killable: Killable, away_s: float
) -> None:
    job = postgres_store.create_job(BRIEF, idempotency_key=None, request_sha256="0")[0].job
    killable.start()
    wait_until(postgres_store, job.id, killable, has_come_to(Phase.SEARCH))
    wait_for_runs(killable, 3)
    server().stop()
    time.sleep(away_s)
    server().start()
    wait_until(postgres_store, job.id, killable, lambda job: job.state.is_final)
    assert postgres_store.job(job.id).state is JobState.SUCCEEDED
    measured = postgres_store.measurements(job.id)
    assert {one.attempt for one in measured} == {1}
    assert not any(one.is_open for one in measured)
