"""The gates of docs/ci.md as they stand there: real blocks of a real image, released and broken."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from tests import finished_jobs, misbehaving, pipelines
from tests.patience import TEST_ENDS_WITHIN_S
from tests.service import Service, opened_store, running
from tuner.nouns.model import DEFAULT_COMMAND, Budget, ClosedLoop, Limits, Slo, Target

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

WAITS = """
import time

def application(environ, start_response):
    time.sleep(0.02)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""
OWN_INI = "[uwsgi]\nhttp-socket = :8000\nwsgi-file = /app/app.py\nmaster = true\nprocesses = 1\n"
NEW_INI = OWN_INI.replace("processes = 1", "processes = 4")
GOOD, BROKEN = "uwsgi-tuner/test-release:good", "uwsgi-tuner/test-release:broken"
GATES = {
    "github": next(command for command in pipelines.github() if "gate" in command.text),
    "gitlab": next(command for command in pipelines.gitlab() if "gate" in command.text),
}


@pytest.fixture(scope="module", autouse=True)
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A release that works, and one whose app cannot be imported."""
    client = docker.from_env()
    folder = tmp_path_factory.mktemp("apps")
    for image, source in ((GOOD, WAITS), (BROKEN, misbehaving.IMPORT_ERROR)):
        name = image.rpartition(":")[2]
        misbehaving.write_app(folder, name, source)
        base = {"BASE_IMAGE": "uwsgi-tuner/base:2.0.31"}
        client.images.build(path=str(folder / name), tag=image, buildargs=base, rm=True)
    yield
    for image in (GOOD, BROKEN):
        client.images.remove(image, force=True)
    client.close()


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A service that measures, and whose answer for `checkout` is four processes."""
    found = finished_jobs.recommendation(uwsgi_ini=NEW_INI)
    with running() as service:
        with opened_store(service) as store:
            finished_jobs.stored(
                store,
                found,
                calibration=replace(finished_jobs.CALIBRATION, block_s=75.0),  # 4 in 5 minutes
                target=Target(
                    image=GOOD,
                    port=8000,
                    health_path="/",
                    command=DEFAULT_COMMAND,
                    thread_safe=True,
                    memory_per_process_mb=32,
                ),
                baseline_ini=OWN_INI,
                limits=Limits(cpus=1.0, memory_mb=256, somaxconn=1024),
                workload=ClosedLoop(concurrency=16),
                slo=Slo(),
                budget=Budget(trials=1, confirm_blocks=4, cycles=1, window_s=0.5, warmup_s=0.2),
            )
        yield service
        assert service.containers() == []


def _gate(service: Service, name: str, folder: Path, image: str) -> pipelines.Ran:
    url = str(service.http.base_url).rstrip("/")
    return pipelines.run(GATES[name], folder, TUNER_URL=url, IMAGE=image)


@pytest.mark.parametrize("name", GATES)
def test_a_release_on_which_the_file_still_gains_passes(
    service: Service, tmp_path: Path, name: str
) -> None:
    ran = _gate(service, name, tmp_path, GOOD)
    assert ran.code == 0, ran.out + ran.err
    assert "your own file against the recommendation of job 1: 4 blocks" in ran.err
    assert ran.out.startswith("holds: "), ran.out
    assert "4 interleaved blocks" in ran.out


@pytest.mark.parametrize("name", GATES)
def test_a_release_that_does_not_start_does_not(
    service: Service, tmp_path: Path, name: str
) -> None:
    ran = _gate(service, name, tmp_path, BROKEN)
    assert ran.code == 1, ran.out + ran.err
    assert "does not hold: your own file does not run on it" in ran.out
    assert "app_failed" in ran.out


def test_a_release_that_no_host_can_get_is_bad_input(service: Service, tmp_path: Path) -> None:
    ran = _gate(service, "github", tmp_path, "no-such-image:1")
    assert ran.code == 2, ran.out + ran.err
    assert "no-such-image:1" in ran.err
