"""What a launcher and a load generator promise, held against the fakes and the real ones alike."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import docker
import pytest

from tests import real_bench
from tests.fake_bench import FakeWorld, Options
from tests.patience import share
from tuner.bench.load import Oha
from tuner.bench.measurement import ArmSpec, Launcher, LoadGenerator, LoadReading, RunningTarget
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import ClosedLoop, FailureCode, HttpRequest, Load, OpenLoop
from tuner.uwsgi.ini import IniFile

CLOSED = ClosedLoop(concurrency=8)


class Killing(Launcher, Protocol):
    """A launcher that can be told to stop."""

    def kill_measurement(self, measurement: str) -> int:
        """End one measurement's containers."""

    def reap(self) -> int:
        """End all containers."""


@dataclass
class Rig:
    """One implementation of both, and an arm for each way to fail."""

    launcher: Killing
    load: LoadGenerator
    good: ArmSpec
    broken: dict[FailureCode, ArmSpec]
    workload: Load = CLOSED


def served(reading: LoadReading) -> int:
    """What uWSGI itself counted while the load ran."""
    assert reading.before is not None
    assert reading.after is not None
    return reading.after.requests - reading.before.requests


def planted(options: Options) -> FailureCode | None:
    """The fake world's configurations fail where their file says so."""
    return FailureCode(options["planted"]) if "planted" in options else None


@pytest.fixture
def fake() -> Iterator[Rig]:
    world = FakeWorld(fails=planted)
    yield Rig(
        launcher=world.launcher,
        load=world.load,
        good=real_bench.moody_arm(),
        broken={code: real_bench.moody_arm(f"planted = {code.value}") for code in FailureCode},
    )
    assert world.running == set()


@pytest.fixture
def real() -> Iterator[Rig]:
    arm = real_bench.moody_arm
    with real_bench.engine() as launcher:
        yield Rig(
            launcher=launcher.for_measurement("1", "7"),
            load=real_bench.generators(),
            good=arm(),
            broken={
                FailureCode.BAD_OPTIONS: arm("cheaper = 5"),
                FailureCode.APP_FAILED: arm("wsgi-file = absent.py"),
                FailureCode.ERRORS_ONLY: arm(target=real_bench.moody("/500")),
                FailureCode.NOT_READY: arm(target=real_bench.moody(port=8001)),
            },
        )


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.docker)])
def rig(request: pytest.FixtureRequest) -> Rig:
    rig = request.getfixturevalue(request.param)
    assert isinstance(rig, Rig)
    return rig


class TestBench:
    """The promise."""

    def test_an_arm_starts_serves_and_is_removed(self, rig: Rig) -> None:
        rig.launcher.check(rig.good)
        with rig.launcher.launch(rig.good) as running:
            rig.load.wait_ready(running, rig.good.target)
            before = running.usage()
            reading = rig.load.drive(running, rig.good.target, rig.workload, 1.0)
            after = running.usage()
        assert reading.requests > 0
        assert reading.errors_by_class == {}
        assert served(reading) == reading.sent
        assert reading.wall_s >= 1.0
        assert after.cpu_s > before.cpu_s
        assert after.system_cpu_s is not None
        assert before.system_cpu_s is not None
        assert 0 < after.system_cpu_s - before.system_cpu_s < after.cpu_s
        assert 1 < after.memory_mb < 256

    def test_the_check_says_which_somaxconn_it_saw_and_what_is_merged(self, rig: Rig) -> None:
        checked = rig.launcher.check(rig.good)
        assert checked.somaxconn == rig.good.limits.somaxconn
        assert IniFile.parse(checked.effective_ini).get("processes") == "2"

    def test_a_strict_reading_names_what_is_no_option_and_takes_placeholders(
        self, rig: Rig
    ) -> None:
        assert rig.launcher.strict(rig.good) == ""
        odd = real_bench.moody_arm("set-placeholder = base=/app", "vaccum = true")
        assert rig.launcher.strict(odd).endswith("unknown config directive: vaccum")

    def test_an_open_loop_sends_what_was_asked(self, rig: Rig) -> None:
        workload = OpenLoop(kind="open_loop", rate_rps=50, concurrency=20)
        with rig.launcher.launch(rig.good) as running:
            rig.load.wait_ready(running, rig.good.target)
            reading = rig.load.drive(running, rig.good.target, workload, 1.0)
        assert reading.sent == pytest.approx(50, abs=4)  # a busy machine sends the last ones late
        assert served(reading) == reading.sent

    @pytest.mark.parametrize("code", [FailureCode.BAD_OPTIONS, FailureCode.APP_FAILED])
    def test_a_bad_file_is_told_by_the_check(self, rig: Rig, code: FailureCode) -> None:
        with pytest.raises(TargetFailed) as failed:
            rig.launcher.check(rig.broken[code])
        assert failed.value.code == code
        assert failed.value.log_tail

    @pytest.mark.parametrize(
        "code",
        [
            FailureCode.BAD_OPTIONS,
            FailureCode.APP_FAILED,
            FailureCode.ERRORS_ONLY,
            FailureCode.NOT_READY,
        ],
    )
    def test_a_bad_arm_does_not_get_ready(self, rig: Rig, code: FailureCode) -> None:
        with pytest.raises(TargetFailed) as failed:
            self.start(rig, rig.broken[code])
        assert failed.value.code == code
        assert failed.value.log_tail

    def test_only_the_image_that_the_job_has_resolved_starts(self, rig: Rig) -> None:
        resolved = rig.launcher.inspect(rig.good.target).image_digest
        self.start(rig, replace(rig.good, image_digest=resolved))
        with pytest.raises(Infrastructure) as refused:
            self.start(rig, replace(rig.good, image_digest="sha256:other"))
        assert "sha256:other" in str(refused.value)
        assert resolved in str(refused.value)

    def test_two_arms_start_arm_by_arm(self, rig: Rig) -> None:
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(lambda _: self.start(rig, rig.good), range(2)))

    def test_killing_a_measurement_unblocks_who_drives_it(self, rig: Rig) -> None:
        driving = threading.Event()

        def drive_on(running: RunningTarget) -> float:
            try:
                while True:
                    driving.set()
                    rig.load.drive(running, rig.good.target, rig.workload, 20.0)
            except (TargetFailed, Infrastructure):
                return time.monotonic()

        with rig.launcher.launch(rig.good) as running, ThreadPoolExecutor() as pool:
            rig.load.wait_ready(running, rig.good.target)
            ended = pool.submit(drive_on, running)
            driving.wait(30)
            time.sleep(0.3)
            killed_at = time.monotonic()
            rig.launcher.kill_measurement("7")
            assert ended.result(timeout=15) - killed_at < 10  # of 20

    def test_what_is_left_behind_is_reaped(self, rig: Rig) -> None:
        context = rig.launcher.launch(rig.good)
        context.__enter__()
        assert rig.launcher.reap() > 0
        assert rig.launcher.reap() == 0
        context.__exit__(None, None, None)

    @staticmethod
    def start(rig: Rig, arm: ArmSpec) -> None:
        with rig.launcher.launch(arm) as running:
            rig.load.wait_ready(running, arm.target)


@pytest.mark.docker
class TestRealBench:
    """What only real containers can show."""

    def test_errors_are_counted_by_class(self, real: Rig) -> None:
        mixed = ClosedLoop(
            concurrency=8, requests=(HttpRequest(path="/"), HttpRequest(path="/half"))
        )
        with real.launcher.launch(real.good) as running:
            real.load.wait_ready(running, real.good.target)
            reading = real.load.drive(running, real.good.target, mixed, 1.0)
        errors = reading.errors_by_class["http_500"]
        assert set(reading.errors_by_class) == {"http_500"}
        assert errors / reading.sent == share(0.25, of=reading.sent)
        assert served(reading) == reading.sent

    def test_method_headers_and_body_arrive(self, real: Rig) -> None:
        request = HttpRequest(path="/echo", method="POST", headers={"X-Mood": "-good"}, body="-x=1")
        workload = ClosedLoop(concurrency=2, requests=(request,))
        with real.launcher.launch(real.good) as running:
            real.load.wait_ready(running, real.good.target)
            reading = real.load.drive(running, real.good.target, workload, 0.5)
        assert reading.errors_by_class == {}

    def test_requests_in_flight_at_the_end_are_waited_for(self, real: Rig) -> None:
        workload = ClosedLoop(concurrency=4, requests=(HttpRequest(path="/wait"),))
        with real.launcher.launch(real.good) as running:
            real.load.wait_ready(running, real.good.target)
            reading = real.load.drive(running, real.good.target, workload, 1.0)
        assert reading.errors_by_class == {}
        assert served(reading) == reading.sent
        assert reading.wall_s > 1.0

    def test_a_file_with_stats_of_its_own_behind_the_router(self, real: Rig) -> None:
        arm = real_bench.moody_arm(
            *("http = :8100", "stats = /tmp/stats.sock", "stats-http = true"),
            *("stats-minified = true", "stats-no-cores = true", "strict = true"),
            target=real_bench.moody(port=8100),
        )
        ini = arm.ini.replace("http-socket = :8000\n", "")
        routed = ArmSpec(index=0, ini=ini, target=arm.target, limits=arm.limits)
        with real.launcher.launch(routed) as running:
            real.load.wait_ready(running, routed.target)
            reading = real.load.drive(running, routed.target, CLOSED, 0.5)
        assert served(reading) == reading.sent

    def test_a_root_image_that_gives_up_root_behind_a_shell(self, real: Rig) -> None:
        target = real.good.target.model_copy(
            update={
                "target_app": None,
                "image": real_bench.BASE_IMAGE,
                "port": 80,
                "command": ("sh", "-c", "exec uwsgi --ini {ini}"),
            }
        )
        code = "application = lambda e, s: (s('200 OK', [('Content-Length', '2')]), [b'ok'])[1]"
        lines = ("http-socket = :80", "uid = app", "gid = app", "master = true", f"eval = {code}")
        ini = "[uwsgi]\n" + "\n".join(lines) + "\n"
        arm = ArmSpec(index=0, ini=ini, target=target, limits=real.good.limits)
        real.launcher.check(arm)
        TestBench.start(real, arm)

    def test_a_workload_of_errors_is_the_targets_fault(self, real: Rig) -> None:
        workload = ClosedLoop(concurrency=2, requests=(HttpRequest(path="/500"),))
        assert self.drive_to_failure(real, real.good, workload).code == FailureCode.ERRORS_ONLY

    def test_a_target_that_ends_under_load_has_died(self, real: Rig) -> None:
        workload = ClosedLoop(concurrency=2, requests=(HttpRequest(path="/die"),))
        began = time.monotonic()
        failure = self.drive_to_failure(real, real.good, workload, duration_s=20.0)
        assert failure.code == FailureCode.DIED
        assert time.monotonic() - began < 15  # of 20

    @pytest.mark.parametrize("how", [(), ("lazy-apps = true",)], ids=["master", "workers"])
    def test_running_out_of_memory_has_its_own_code(self, real: Rig, how: tuple[str, ...]) -> None:
        patient = Oha(stats_address=real_bench.STATS_ADDRESS, ready_timeout_s=60)
        greedy = real_bench.moody_arm("env = HOARD_10_MB=40", *how)
        with pytest.raises(TargetFailed) as failed, real.launcher.launch(greedy) as running:
            patient.wait_ready(running, greedy.target)
        assert failed.value.code == FailureCode.OUT_OF_MEMORY

    @pytest.mark.parametrize("delay_s", [0.05, 0.15, 0.25, 0.35])
    def test_killing_while_it_starts_leaves_nothing_and_blames_nobody(
        self, real: Rig, delay_s: float
    ) -> None:
        real.launcher.fingerprint()
        with ThreadPoolExecutor() as pool:
            starting = pool.submit(TestBench.start, real, real.good)
            time.sleep(delay_s)
            real.launcher.kill_measurement("7")
            error = starting.exception(timeout=30)  # a busy machine takes seconds for a container
        assert error is None or isinstance(error, Infrastructure)

    def test_what_is_killed_before_its_container_is_there_does_not_start(self, real: Rig) -> None:
        real.launcher.kill_measurement("7")
        with pytest.raises(Infrastructure, match="called off"):
            TestBench.start(real, real.good)

    def test_reaping_spares_what_is_live_and_finds_what_never_ran(self) -> None:
        with real_bench.engine() as launcher:
            arm = real_bench.moody_arm()
            live, dead = (launcher.for_measurement("1", name) for name in ("live", "dead"))
            with live.launch(arm) as running:
                with dead.launch(arm):
                    assert launcher.reap(keep={"live"}) == 2
                real_bench.create_only(launcher, "dead")
                assert launcher.reap(keep={"live"}) == 1
                real_bench.oha().wait_ready(running, arm.target)

    def test_reaping_spares_a_container_whose_image_has_our_labels(self) -> None:
        """An image may carry any label; the name is given by whoever makes the container."""
        with real_bench.engine() as launcher, closing(docker.from_env().api) as client:
            labels = {"tuner": "1", "tuner.instance": launcher.instance}
            theirs = client.create_container(real_bench.LOAD_IMAGE, ["true"], labels=labels)["Id"]
            try:
                assert launcher.reap() == 0
                assert launcher.for_measurement("1", "7").kill_measurement("7") == 0
                assert client.inspect_container(theirs)
            finally:
                client.remove_container(theirs)

    def test_usage_is_the_same_from_within_and_from_outside(self) -> None:
        with real_bench.engine(cgroup_root=Path("/nowhere")) as launcher:
            arm = real_bench.moody_arm()
            with launcher.launch(arm) as running:
                real_bench.oha().wait_ready(running, arm.target)
                inside = running.usage()
                running.cgroups = replace(running.cgroups, root=Path("/sys/fs/cgroup"))
                outside = running.usage()
        assert inside.cpu_s == pytest.approx(outside.cpu_s, abs=0.05)
        assert inside.memory_mb == pytest.approx(outside.memory_mb, abs=2)

    def test_an_image_that_does_not_exist_is_named(self, real: Rig) -> None:
        target = real.good.target.model_copy(
            update={"target_app": None, "image": "localhost:1/no/such:image"}
        )
        with pytest.raises(TargetFailed, match="no/such:image") as failed:
            real.launcher.inspect(target)
        assert failed.value.code == FailureCode.IMAGE_MISSING

    def test_an_image_without_uwsgi_says_so(self, real: Rig) -> None:
        target = real.good.target.model_copy(update={"command": ("uwsgi-absent", "{ini}")})
        with pytest.raises(TargetFailed, match="install it there") as failed:
            real.launcher.inspect(target)
        assert failed.value.code == FailureCode.NOT_STARTED

    @staticmethod
    def drive_to_failure(
        rig: Rig, arm: ArmSpec, workload: Load, duration_s: float = 1.0
    ) -> TargetFailed:
        with rig.launcher.launch(arm) as running:
            rig.load.wait_ready(running, arm.target)
            with pytest.raises(TargetFailed) as failed:
                rig.load.drive(running, arm.target, workload, duration_s)
        return failed.value
