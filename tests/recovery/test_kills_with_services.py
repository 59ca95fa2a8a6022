"""kill -9 in a job whose app has services: it goes on, and nothing of it is left over."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle

import pytest

from tests.own_engine import OwnEngine, own_engine
from tests.patience import TEST_ENDS_WITHIN_S
from tests.plants import TARGET_APPS
from tests.real_bench import BASE_IMAGE, LOAD_IMAGE
from tests.recovery.test_kills import (
    BUDGET,
    PHASES,
    check_rows,
    kill_and_wait,
    wait_for_phase,
)
from tests.service import Service, running

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

AWAY_S = 3.0


@contextmanager
def finishing_job(**environ: str) -> Iterator[tuple[Service, int]]:
    """A job on the app `backed`, which has to succeed and to leave nothing behind."""
    with running(measures=False, TUNER_TARGET_APPS=str(TARGET_APPS), **environ) as service:
        request = {"app": "backed", "target": {"target_app": "backed"}, "budget": BUDGET}
        job = service.submit(**request, min_effect=0.001)
        yield service, job["id"]
        ended = service.finish(job["id"])
        assert ended["state"] == "succeeded", f"{ended['failure']}\n{service.log()}"
        check_rows(service, job["id"])
        service.wait_for(lambda: not service.leftovers(), 60, "nothing is left over")


@pytest.fixture
def engine() -> Iterator[OwnEngine]:
    if os.geteuid() != 0:
        pytest.skip("needs root: it kills a Docker Engine of its own")
    with own_engine([BASE_IMAGE, LOAD_IMAGE]) as engine:
        yield engine


def test_a_job_with_services_survives_its_engine_and_a_part_of_the_service(
    engine: OwnEngine,
) -> None:
    """In every phase the engine dies, and then the worker or PostgreSQL, in turn.

    Not both of these in one phase: a worker that has just started ends if it finds no PostgreSQL.
    `make bench-service-kills` has many more.
    """
    moment = random.Random("dockerd")  # noqa: S311
    struck = []
    with finishing_job(DOCKER_HOST=engine.address) as (service, job_id):
        for phase, part in zip(("prepare", *PHASES), cycle(("worker", "postgres")), strict=False):
            if wait_for_phase(service, job_id, phase):
                service.pause(moment.uniform(0.0, 4.0))
                engine.kill()
                service.pause(AWAY_S)
                engine.start()
            if wait_for_phase(service, job_id, phase):
                service.pause(moment.uniform(0.0, 4.0))
                kill_and_wait(service, part)
                struck.append(phase)
    assert struck[:3] == ["prepare", "calibrate", "search"]  # a job may have nothing to confirm
