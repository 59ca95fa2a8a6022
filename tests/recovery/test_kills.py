"""kill -9 of any part at any moment: the job goes on, ends, and every figure is still true."""

import hashlib
import itertools
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import misbehaving
from tests.patience import JOB_ENDS_WITHIN_S, TEST_ENDS_WITHIN_S
from tests.service import Json, Service, opened_store, running
from tuner.judge.objective import of_arm, outcome_of
from tuner.nouns.model import (
    Condition,
    JobId,
    JobState,
    Measurement,
    MeasurementKind,
    MeasurementState,
    Phase,
    Scene,
    TrialNumber,
    TrialState,
)
from tuner.study.calibrating import CALIBRATION_SETS
from tuner.targets.search_space import derive

pytestmark = [pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

TRIALS, CALIBRATE, CONFIRM, CYCLES = 3, 2, 4, 1
BUDGET = {
    "preset": "demo",
    "trials": TRIALS,
    "calibrate_blocks": CALIBRATE,
    "confirm_blocks": CONFIRM,
    "cycles": CYCLES,
    "window_s": 0.5,
    "warmup_s": 0.0,  # what is measured does not matter here
}
PHASES = ("calibrate", "search", "confirm")


@pytest.fixture
def apps(tmp_path: Path) -> str:
    misbehaving.write_app(tmp_path, "fine", misbehaving.FINE)
    return str(tmp_path)


@pytest.fixture
def service(apps: str) -> Iterator[Service]:
    with running(measures=False, TUNER_TARGET_APPS=apps) as service:
        yield service


def submit(service: Service) -> Json:
    # A tiny gain counts: the job is to go through every phase, the answer does not matter here.
    return service.submit(
        app="fine", target={"target_app": "fine"}, budget=BUDGET, min_effect=0.001
    )


def kill_and_wait(service: Service, *victims: str) -> None:
    """Kill parts at once, and wait until others are in their place and the service is ready.

    A worker outlives its PostgreSQL and the API.
    """
    worker = service.child("worker")
    dead = [(victim, service.kill(victim)) for victim in victims]
    service.wait_for(
        lambda: all(service.child(name) not in (None, pid) for name, pid in dead),
        120,
        f"another {' and another '.join(victims)}",
    )
    service.wait_for(lambda: service.status("/readyz") == 200, 180, "ready again")
    assert (service.child("worker") == worker) is ("worker" not in victims)


def wait_for_phase(service: Service, job_id: int, phase: str) -> bool:
    """Whether the job came to the phase with something running; it may also end, or be past it."""
    later = [*Phase][[*Phase].index(Phase(phase)) + 1 :]

    def there() -> bool:
        job = service.glance(job_id)  # a server closes a connection that a slow machine left idle
        return job is not None and (
            job["state"] not in ("queued", "running")
            or job["phase"] in later
            or (job["phase"] == phase and bool(service.containers()))
        )

    service.wait_for(there, JOB_ENDS_WITHIN_S, f"job {job_id} is in {phase}")
    return bool(service.job(job_id)["phase"] == phase)


@pytest.mark.parametrize("victims", [("worker",), ("api", "postgres")], ids="+".join)
def test_a_job_survives_the_death_of_any_part_in_every_phase(
    service: Service, victims: tuple[str, ...]
) -> None:
    """Of those beside the worker in one job: neither has a hand in what becomes of the other."""
    moment = random.Random("+".join(victims))  # noqa: S311
    job = submit(service)
    for phase in PHASES:
        if not wait_for_phase(service, job["id"], phase):
            break  # nothing came out ahead, so that there is nothing to confirm
        service.pause(moment.uniform(0.0, 1.5))
        kill_and_wait(service, *victims)
    ended = service.finish(job["id"])
    assert ended["state"] == "succeeded", (ended, service.log())
    check_rows(service, job["id"])


def test_a_job_goes_on_after_the_whole_service_was_killed(service: Service) -> None:
    job = submit(service)
    assert wait_for_phase(service, job["id"], "search")
    children = [service.child(name) for name in ("worker", "api", "postgres")]
    os.kill(service.process.pid, signal.SIGKILL)
    service.process.wait()
    service.wait_for(lambda: not any(map(alive, children)), 60, "its children have ended too")
    service.start()
    ended = service.finish(job["id"])
    assert ended["state"] == "succeeded", (ended, service.log())
    check_rows(service, job["id"])


def test_a_job_waits_for_docker_and_goes_on_when_it_is_back(apps: str, tmp_path: Path) -> None:
    socket = tmp_path / "docker.sock"
    engine = f"unix://{socket}"
    with running(
        until="/healthz", measures=False, TUNER_TARGET_APPS=apps, DOCKER_HOST=engine
    ) as service:
        service.wait_for(lambda: service.status("/readyz") == 503, 120, "not ready")
        service.wait_for(
            lambda: "docker" in service.http.get("/readyz").text, 120, "it says that docker is away"
        )
        job = submit(service)
        service.pause(4.0)
        assert service.job(job["id"])["state"] == "running"
        socket.symlink_to("/var/run/docker.sock")
        ended = service.finish(job["id"])
        assert ended["state"] == "succeeded", (ended, service.log())
        check_rows(service, job["id"])


def test_a_scene_whose_worker_is_killed_leaves_no_process_stopped(tmp_path: Path) -> None:
    waits = f"import time\n{misbehaving.FINE}".replace(
        "    start", "    time.sleep(0.02)\n    start"
    )
    ini = misbehaving.INI.replace("processes = 1", "processes = 2")
    misbehaving.write_app(tmp_path, "waits", waits, ini=ini)
    others = [scene for scene in Scene if scene is not Scene.HUNG_WORKER]
    with running(measures=False, TUNER_TARGET_APPS=str(tmp_path)) as service:
        job = service.submit(
            app="waits",
            target={"target_app": "waits"},
            search_space={
                "name": "processes",
                "parameters": {"processes": {"type": "choice", "values": [2, 8]}},
                "heuristics": [{"processes": 8}],
            },
            budget={**BUDGET, "trials": 1, "cycles": 2, "confirm_blocks": 12, "scene_blocks": 1},
            skip=[*Condition, *others],
        )
        service.wait_for(
            lambda: bool(stopped(service)) or service.job(job["id"])["state"] == "succeeded",
            JOB_ENDS_WITHIN_S,
            "a process is stopped",
        )
        hung = stopped(service)
        assert hung, service.log()
        kill_and_wait(service, "worker")
        ended = service.finish(job["id"])
        assert ended["state"] == "succeeded", (ended, service.log())
        answer = service.get(f"/v1/jobs/{job['id']}/recommendation").json()
        assert [each["scene"] for each in answer["scenes"]] == ["hung_worker"]
        assert not any(map(alive, hung))
        service.wait_for(lambda: not service.containers(), 30, "no container of ours is left")


def stopped(service: Service) -> list[int]:
    """The processes in containers of a service that a signal has stopped."""
    return [
        int(found.parent.name)
        for container in service.containers()
        for found in Path("/proc").glob("[0-9]*/cgroup")
        if container in text_of(found) and state_of(found.with_name("stat")) == "T"
    ]


def text_of(file: Path) -> str:
    """What a file of a process says; empty once the process is gone."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def state_of(stat: Path) -> str:
    """The letter of a process's state; empty once it is gone."""
    return text_of(stat).rpartition(")")[2].strip()[:1]


def alive(pid: int | None) -> bool:
    """Whether a process still runs; a zombie does not."""
    return state_of(Path(f"/proc/{pid}/stat")) not in ("", "Z")


def check_rows(service: Service, job_id: int) -> None:
    """Nothing is lost, doubled, or attached to other params; nothing is left running."""
    service.wait_for(lambda: not service.containers(), 30, "no container of ours is left")
    with opened_store(service) as store:
        job = store.job(JobId(job_id))
        trials, measurements = store.trials(job.id), store.measurements(job.id)
    assert job.state is JobState.SUCCEEDED
    blocks = [one for one in measurements if one.kind is MeasurementKind.BLOCK]
    assert [trial.number for trial in trials] == list(range(TRIALS + 1))
    assert all(a.params != b.params for a, b in itertools.combinations(trials, 2))
    assert [one.sequence for one in measurements] == list(range(len(measurements)))
    counts = {phase: sum(b.phase == phase for b in blocks) for phase in Phase}
    # On a busy machine a first set may look biased: then a second one checks it.
    assert counts[Phase.CALIBRATE] in (CALIBRATE, CALIBRATION_SETS * CALIBRATE)
    assert counts[Phase.SEARCH] == TRIALS
    assert counts[Phase.CONFIRM] in (0, CONFIRM)
    domain = derive(job.spec, job.facts.memory if job.facts else None)
    files = {
        trial.number: hashlib.sha256(domain.render(trial.params).encode()).hexdigest()
        for trial in trials
    }
    for block in blocks:
        check_block(block, files)
    for trial in trials[1:]:
        own = [b for b in blocks if b.phase == Phase.SEARCH and b.arms[1] == trial.number]
        assert len(own) == 1
        assert trial.outcome == outcome_of(own, job.spec)
        # Short windows may all be void on a busy machine: then the trial says nothing.
        found = (TrialState.COMPLETE, TrialState.INFEASIBLE)
        assert trial.state in (found if of_arm(own[0].counted, 1) else (TrialState.FAILED,))


def check_block(block: Measurement, files: dict[TrialNumber, str]) -> None:
    """The block ran the files of its own trials, and has each of its windows once."""
    assert block.state is MeasurementState.COMPLETE, block
    assert block.result is not None
    assert list(block.result.ini_sha256) == [files[arm] for arm in block.arms]
    windows = block.result.windows
    assert [window.index for window in windows] == list(range(2 * CYCLES))
    assert sorted(window.arm for window in windows) == [0] * CYCLES + [1] * CYCLES
