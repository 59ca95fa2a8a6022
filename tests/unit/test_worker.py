"""What becomes of a measurement, whatever happens while it is made."""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import FACTS, INI, block, history, job, space, spec
from tests.fake_base import Store
from tests.fake_bench import FakeLauncher, FakeWorld
from tests.log_ids import ids_in
from tuner.bench.measurement import Bench
from tuner.nouns import log_context
from tuner.nouns.errors import Aborted, Infrastructure, Unavailable
from tuner.nouns.model import (
    BlockOptions,
    Claim,
    Danger,
    Fail,
    Failure,
    FailureCode,
    History,
    HostFingerprint,
    JobId,
    JobSpec,
    Measurement,
    MeasurementId,
    MeasurementKind,
    MeasurementResult,
    MeasurementState,
    Step,
    TargetFacts,
)
from tuner.service import bootstrap
from tuner.service.settings import Settings
from tuner.service.worker import FAULTS_ALLOWED, Patience, Worker, make

RUNNING = block(arms=(0, 1), state=MeasurementState.RUNNING)


@dataclass
class Rows(Store):
    """A store of one measurement that remembers what was written."""

    measurement: Measurement = RUNNING
    wanted: bool = True
    faults: int = 0
    claims: int = 0
    completed: list[MeasurementResult] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    released: list[str | None] = field(default_factory=list)
    problems: list[str | None] = field(default_factory=list)
    steps: list[Step | None] = field(default_factory=list)
    on_claim: Callable[[], None] = lambda: None

    def advance(self, job_id: JobId, decide: Callable[[History], Step | None]) -> None:
        self.steps.append(decide(history()))

    def claim(self, measurement_id: MeasurementId, host: str) -> Claim | None:
        self.claims += 1
        if not self.wanted:
            return None
        self.on_claim()
        params = ({"processes": 2}, {"processes": 4})[: len(self.measurement.arms)]
        return Claim(measurement=self.measurement, job=job(spec=spec()), params=params)

    def is_current(self, measurement_id: MeasurementId, attempt: int) -> bool:
        return self.wanted

    def complete(
        self, measurement_id: MeasurementId, attempt: int, result: MeasurementResult
    ) -> bool:
        self.completed.append(result)
        return True

    def fail(self, measurement_id: MeasurementId, attempt: int, failure: Failure) -> bool:
        self.failed.append(failure)
        return True

    def release(self, measurement_id: MeasurementId, attempt: int, *, fault: str | None) -> int:
        self.released.append(fault)
        self.faults += fault is not None
        return self.faults

    def recover(self, pool: str) -> int:
        return 0

    def open_jobs(self) -> set[JobId]:
        return {JobId(1)}

    def see_host(
        self,
        name: str,
        pool: str,
        fingerprint: HostFingerprint | None = None,
        problem: str | None = None,
    ) -> None:
        self.problems.append(problem)


class Away(FakeLauncher):
    """An engine that does not answer."""

    def problem(self) -> str | None:
        return "docker is away: connection refused"

    def for_measurement(self, job: str, measurement: str) -> "Away":
        return self

    def alone(self) -> AbstractContextManager[None]:
        raise Unavailable("docker", "connection refused")


class GoneAfterTheLock(FakeLauncher):
    """An engine that goes away when the measurement has its turn."""

    def for_measurement(self, job: str, measurement: str) -> "GoneAfterTheLock":
        return self

    def reap(self, keep: Any = ()) -> int:
        raise Unavailable("docker", "connection refused")


class Taken(FakeLauncher):
    """A machine on which another service measures."""

    def problem(self) -> str | None:
        return "worker b measures"

    def alone(self) -> AbstractContextManager[None]:
        raise Infrastructure("worker b measures")


class Bare(FakeLauncher):
    """A machine without our images."""

    def fingerprint(self) -> HostFingerprint:
        raise Infrastructure("there is no image load:1: run `tuner setup`")


class Lost(FakeLauncher):
    """A machine whose lock was removed."""

    def for_measurement(self, job: str, measurement: str) -> "Lost":
        return self

    def check_alone(self) -> None:
        raise Infrastructure("the lock was removed")


def worker(rows: Rows, world: FakeWorld | None = None, host: FakeLauncher | None = None) -> Worker:
    world = world or FakeWorld()
    return Worker(
        name="host-1",
        pool="default",
        store=rows,
        host=host or world.launcher,
        load=world.load,
        decide=lambda history: None,
    )


def measure(rows: Rows, world: FakeWorld | None = None, host: FakeLauncher | None = None) -> None:
    worker(rows, world, host).measure(MeasurementId(1), lambda: False)


def planted(code: FailureCode) -> FakeWorld:
    return FakeWorld(fails=lambda options: code if options["processes"] == "4" else None)


def test_windows_of_both_files_are_stored() -> None:
    rows, world = Rows(), FakeWorld()
    measure(rows, world)
    assert len(rows.completed[0].windows) == 4
    assert {launch.ini for launch in world.launches} == {
        INI,
        INI.replace("processes = 2", "processes = 4"),
    }


def test_a_block_takes_the_course_that_it_was_planned_with() -> None:
    world, planned = FakeWorld(), replace(RUNNING, block_options=BlockOptions(cycles=5))
    claim = Rows(measurement=planned).claim(MeasurementId(1), "a")
    assert claim is not None
    result = make(claim, Bench(launcher=world.launcher, load=world.load))
    assert len(result.windows) == 10


def test_each_arm_of_a_search_has_the_kernel_settings_of_its_own_params() -> None:
    cookies = {
        "type": "choice",
        "values": ["user", "off"],
        "emit": {"off": {"net.ipv4.tcp_syncookies": 0}},
    }
    wanted = job(spec=spec(search_space=space(cookies=cookies)))
    params = ({"cookies": "user"}, {"cookies": "off"})
    world = FakeWorld()
    make(
        Claim(measurement=RUNNING, job=wanted, params=params),
        Bench(launcher=world.launcher, load=world.load),
    )
    boxes = {launch.index: launch.limits for launch in world.launches}
    assert boxes[0] == wanted.spec.limits
    assert boxes[1] == wanted.spec.limits.with_sysctls({"net.ipv4.tcp_syncookies": 0})


def test_a_prepare_stores_facts() -> None:
    prepare = replace(RUNNING, kind=MeasurementKind.PREPARE, arms=RUNNING.arms[:1], phase="prepare")
    rows = Rows(measurement=prepare)
    measure(rows)
    assert rows.completed[0].facts is not None


@dataclass
class OfSpec(Rows):
    """The same for a job of one's own."""

    spec: JobSpec = field(default_factory=spec)

    def claim(self, measurement_id: MeasurementId, host: str) -> Claim | None:
        found = Rows.claim(self, measurement_id, host)
        return replace(found, job=job(spec=self.spec)) if found else None


@dataclass
class OfFacts(Rows):
    """The same for a job whose image is known."""

    facts: TargetFacts = FACTS

    def claim(self, measurement_id: MeasurementId, host: str) -> Claim | None:
        found = Rows.claim(self, measurement_id, host)
        return replace(found, job=replace(found.job, facts=self.facts)) if found else None


CRON = f"{INI}cron = 1 1 1 1 1 report\n"


def test_no_arm_runs_what_the_job_does_not_allow() -> None:
    for allow, runs in (((), False), ((Danger.COMMANDS,), True)):
        world = FakeWorld()
        measure(OfSpec(spec=spec(baseline_ini=CRON, allow=allow)), world)
        assert len(world.launches) == 2
        assert all(("\ncron = " in launch.ini) is runs for launch in world.launches)


def test_a_file_that_fails_without_what_is_left_out_is_told_how_to_have_it() -> None:
    rows, world = OfSpec(spec=spec(baseline_ini=CRON)), planted(FailureCode.APP_FAILED)
    measure(rows, world)
    assert rows.failed[0].message.endswith(
        "; it ran without cron: set allow: [commands] to run the whole file"
    )


def test_what_is_not_wanted_any_more_is_not_made() -> None:
    rows, world = Rows(wanted=False), FakeWorld()
    measure(rows, world)
    assert not world.launches
    assert not rows.completed


def test_a_broken_candidate_is_stored_with_its_arm() -> None:
    rows = Rows()
    measure(rows, planted(FailureCode.OUT_OF_MEMORY))
    assert [(failure.code, failure.arm) for failure in rows.failed] == [
        (FailureCode.OUT_OF_MEMORY, 1)
    ]


def test_a_hosts_fault_comes_back_and_is_given_up_after_a_few() -> None:
    rows, world = Rows(), planted(FailureCode.INFRASTRUCTURE)
    for _ in range(FAULTS_ALLOWED - 1):
        with pytest.raises(Infrastructure):
            measure(rows, world)
    assert not rows.failed
    measure(rows, world)
    assert [failure.code for failure in rows.failed] == [FailureCode.INFRASTRUCTURE]


def test_an_engine_that_is_away_is_waited_for_and_not_counted_as_a_fault() -> None:
    rows, world = Rows(), FakeWorld()
    with pytest.raises(Unavailable):
        measure(rows, world, Away(world))
    assert (rows.claims, rows.released) == (0, [])
    assert rows.problems == ["docker is away: connection refused"]


def test_an_engine_that_goes_away_after_the_lock_is_a_fault_that_is_counted() -> None:
    rows, world = Rows(), FakeWorld()
    with pytest.raises(Infrastructure, match="docker is away"):
        measure(rows, world, GoneAfterTheLock(world))
    assert rows.faults == 1


def test_the_wait_for_another_service_has_no_limit() -> None:
    rows, world = Rows(), FakeWorld()
    waits = replace(worker(rows, world, Taken(world)), patience=Patience(limit_s=0.0))
    for _ in range(2):
        with pytest.raises(Infrastructure, match="worker b"):
            waits.measure(MeasurementId(1), lambda: False)
    assert not rows.failed


def test_a_docker_that_stays_away_fails_the_job_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    rows = Rows()
    settings = Settings()
    launcher = bootstrap.launcher(settings, bootstrap.catalogue(settings))
    waits = replace(worker(rows), host=launcher, patience=Patience(limit_s=0.2))
    with pytest.raises(Unavailable):
        waits.measure(MeasurementId(1), lambda: False)
    time.sleep(0.3)
    waits.measure(MeasurementId(1), lambda: False)
    (failure,) = rows.failed
    assert failure.code is FailureCode.INFRASTRUCTURE
    assert failure.message.startswith("docker is away: ")
    assert "; it was away for 0.2 s (TUNER_DOCKER_WAIT_S)" in failure.message


def test_an_engine_that_comes_back_has_its_whole_time_again() -> None:
    rows, world = Rows(), FakeWorld()
    patience = Patience(limit_s=0.2)
    waits = replace(worker(rows, world, Away(world)), patience=patience)
    with pytest.raises(Unavailable):
        waits.measure(MeasurementId(1), lambda: False)
    time.sleep(0.3)
    replace(worker(rows, world), patience=patience).measure(MeasurementId(1), lambda: False)
    assert rows.completed
    with pytest.raises(Unavailable):
        waits.measure(MeasurementId(1), lambda: False)
    assert not rows.failed


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Unavailable("docker", "connection reset"), "docker is away: connection reset"),
        (KeyError("a bug"), "a bug"),
    ],
)
def test_what_fails_in_the_middle_every_time_is_repeated_and_then_given_up(
    error: Exception, said: str
) -> None:
    def fails(options: dict[str, str]) -> float:
        raise error

    rows, world = Rows(), FakeWorld(throughput=fails)
    for _ in range(FAULTS_ALLOWED - 1):
        with pytest.raises(Infrastructure):
            measure(rows, world)
    measure(rows, world)
    assert said in rows.failed[0].message
    assert not world.running


def test_a_block_starts_no_other_image_than_prepare_has_seen() -> None:
    found = replace(FACTS, image_digest="registry.example/cart@sha256:1")
    rows, world = OfFacts(facts=found), FakeWorld(image="registry.example/cart@sha256:2")
    with pytest.raises(Infrastructure, match=r"@sha256:1.*@sha256:2"):
        measure(rows, world)
    world.image = found.image_digest
    measure(rows, world)
    assert rows.completed[0].image_digest == found.image_digest


def test_a_cancel_stops_the_measurement_and_stores_nothing() -> None:
    rows = Rows()
    world = FakeWorld()
    seen = threading.Event()

    def slow(options: dict[str, str]) -> float:
        rows.wanted = False  # cancelled while the first window runs
        seen.wait(1.0)  # longer than the watcher's interval
        return 100.0

    world.throughput = slow
    with pytest.raises(Aborted):
        measure(rows, world)
    assert not rows.completed
    assert not world.running


def test_a_stopping_worker_gives_the_measurement_back() -> None:
    rows, world = Rows(), FakeWorld()
    stopping = threading.Event()

    def interrupted(options: dict[str, str]) -> float:
        stopping.set()
        threading.Event().wait(1.0)  # longer than the watcher's interval
        return 100.0

    world.throughput = interrupted
    with pytest.raises(Aborted):
        worker(rows, world).measure(MeasurementId(1), stopping.is_set)
    assert rows.released == [None]
    assert not rows.completed


def test_what_a_job_left_goes_when_it_ends_and_in_every_sweep() -> None:
    kept: list[set[str]] = []

    class Keeping(FakeLauncher):
        def end_jobs(self, keep: Collection[str]) -> None:
            kept.append({*keep})

    world = FakeWorld()
    host = Keeping(world)
    works = worker(Rows(), world, host)
    works.advance(JobId(1))
    works.sweep()
    assert kept == [{"1"}, {"1"}]


@dataclass
class Sweeping:
    """A worker that sweeps, and how often it removed what measurements left."""

    rows: Rows = field(default_factory=Rows)
    world: FakeWorld = field(default_factory=FakeWorld)
    is_away: bool = False
    reaps: int = 0

    def __post_init__(self) -> None:
        this = self

        class Reaping(FakeLauncher):
            def for_measurement(self, job: str, measurement: str) -> "Reaping":
                return self

            def reap(self, keep: Any = ()) -> int:
                if this.is_away:
                    raise Unavailable("docker", "connection refused")
                this.reaps += 1
                return 0

        self.worker = worker(self.rows, self.world, Reaping(self.world))


def test_what_a_fault_left_goes_once_in_the_first_sweep_that_finds_an_engine() -> None:
    here = Sweeping()

    def gone(options: dict[str, str]) -> float:
        here.is_away = True
        raise Unavailable("docker", "connection reset")

    here.world.throughput = gone
    here.worker.sweep()
    assert here.reaps == 0
    with pytest.raises(Infrastructure):
        here.worker.measure(MeasurementId(1), lambda: False)
    here.worker.sweep()
    assert here.reaps == 1, "before the measurement"
    here.is_away = False
    here.worker.sweep()
    here.worker.sweep()
    assert here.reaps == 2


def test_no_sweep_removes_what_is_measured() -> None:
    here = Sweeping()
    beside: list[int] = []

    def swept(options: dict[str, str]) -> float:
        here.worker.start()
        beside.append(here.reaps)
        return 100.0

    here.world.throughput = swept
    here.worker.measure(MeasurementId(1), lambda: False)
    assert {*beside} == {1}, "the one before the measurement"
    here.worker.sweep()
    assert here.reaps == 2


def test_the_sweep_reports_what_ails_the_host() -> None:
    rows, world = Rows(), FakeWorld()
    worker(rows, world).sweep()
    worker(rows, world, Away(world)).sweep()
    assert rows.problems == [None, "docker is away: connection refused"]


def test_while_another_service_measures_nothing_is_claimed_and_the_host_says_why() -> None:
    rows, world = Rows(), FakeWorld()
    for _ in range(2 * FAULTS_ALLOWED):
        with pytest.raises(Infrastructure, match="worker b"):
            measure(rows, world, Taken(world))
    worker(rows, world, Taken(world)).sweep()
    assert (rows.claims, rows.failed, rows.released) == (0, [], [])
    assert rows.problems == ["worker b measures"]


def test_a_block_beside_another_services_is_measured_again() -> None:
    rows, world = Rows(), FakeWorld()
    with pytest.raises(Infrastructure, match="the lock"):
        measure(rows, world, Lost(world))
    assert not rows.completed


def test_a_worker_without_its_images_lives_and_says_so() -> None:
    rows, world = Rows(), FakeWorld()
    worker(rows, world, Bare(world)).start()
    assert rows.problems == ["there is no image load:1: run `tuner setup`"]


def test_a_fault_of_our_own_fails_the_job_instead_of_blocking_its_pool() -> None:
    def broken(rows: History) -> Step | None:
        raise KeyError("a bug")

    rows = Rows()
    replace(worker(rows), decide=broken).advance(JobId(1))
    (step,) = rows.steps
    assert isinstance(step, Fail)
    assert step.failure.code is FailureCode.INTERNAL
    assert "a bug" in step.failure.message


def test_a_database_that_is_away_is_no_fault_of_the_job() -> None:
    def away(rows: History) -> Step | None:
        raise Unavailable("postgresql", "connection refused")

    rows = Rows()
    with pytest.raises(Unavailable):
        replace(worker(rows), decide=away).advance(JobId(1))
    assert not rows.steps


@dataclass
class Away3Times(Rows):
    """A PostgreSQL that is away for the first writes."""

    left: int = 3

    def _answer(self) -> None:
        self.left -= 1
        if self.left >= 0:
            raise Unavailable("postgresql", "connection refused")

    def complete(self, *given: Any) -> bool:
        self._answer()
        return Rows.complete(self, *given)

    def fail(self, *given: Any) -> bool:
        self._answer()
        return Rows.fail(self, *given)

    def release(self, *given: Any, fault: str | None) -> int:
        self._answer()
        return Rows.release(self, *given, fault=fault)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.service.worker.making.AGAIN_AFTER_S", 0.001)


@pytest.mark.usefixtures("quickly")
def test_a_result_waits_for_postgresql() -> None:
    rows, world = Away3Times(), FakeWorld()
    measure(rows, world)
    assert (rows.left, len(rows.completed), len(world.launches)) == (-1, 1, 2)


@pytest.mark.usefixtures("quickly")
def test_a_failure_waits_for_postgresql() -> None:
    rows = Away3Times()
    measure(rows, planted(FailureCode.OUT_OF_MEMORY))
    assert (rows.left, len(rows.failed)) == (-1, 1)


@pytest.mark.usefixtures("quickly")
def test_a_hosts_fault_waits_for_postgresql() -> None:
    rows = Away3Times()
    with pytest.raises(Infrastructure):
        measure(rows, planted(FailureCode.INFRASTRUCTURE))
    assert (rows.left, len(rows.released)) == (-1, 1)


@pytest.mark.usefixtures("quickly")
def test_a_result_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.service.worker.making.STORED_WITHIN_S", 0.05)
    rows = Away3Times(left=10_000)
    with pytest.raises(Unavailable, match="refused"):
        measure(rows)
    assert 0 < rows.left < 10_000


def test_a_worker_that_stops_does_not_wait_for_postgresql() -> None:
    rows, stopping = Away3Times(left=10_000), threading.Event()
    threading.Timer(0.5, stopping.set).start()
    with pytest.raises(Unavailable, match="refused"):
        worker(rows).measure(MeasurementId(1), stopping.is_set)
    assert rows.left > 9_990


@pytest.fixture
def ids() -> Iterator[list[log_context.Ids]]:
    with ids_in("tuner.service.worker") as seen:
        yield seen


def test_the_log_knows_the_block_and_its_job(ids: list[log_context.Ids]) -> None:
    with pytest.raises(Infrastructure):
        worker(Rows(), planted(FailureCode.INFRASTRUCTURE)).measure(
            MeasurementId(31), lambda: False
        )
    assert ids[0] == {"block": 31, "job": 1}
    assert log_context.present() == {}


def test_the_log_knows_the_job_that_cannot_be_advanced(ids: list[log_context.Ids]) -> None:
    left = [KeyError("a bug")]

    def decide(_: History) -> Step | None:
        if left:
            raise left.pop()
        return None

    replace(worker(Rows()), decide=decide).advance(JobId(7))
    assert ids == [{"job": 7}]
