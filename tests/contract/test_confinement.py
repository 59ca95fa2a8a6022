"""What a container can do to the host and to its readers, on a real engine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from tests import real_bench
from tuner.bench.engine import DockerLauncher, EngineConfig
from tuner.bench.engine.connection import MOST_BYTES, Connection
from tuner.bench.engine.containers import Containers
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import FailureCode, Limits

pytestmark = pytest.mark.docker

ENDS_WITHIN_S = 20.0
HOLDS_THE_LOCK = """
import sys, time
from tests import real_bench
with real_bench.engine() as launcher, launcher.alone():
    with launcher.launch(real_bench.moody_arm()) as running:
        print(running.container, flush=True)
        time.sleep(600)
"""


@pytest.fixture
def launcher() -> Iterator[DockerLauncher]:
    with real_bench.engine() as found:
        yield found


@pytest.fixture
def connection() -> Iterator[Connection]:
    found = Connection()
    yield found
    found.close()


@pytest.fixture
def ended(connection: Connection) -> Iterator[Callable[[str], str]]:
    """Runs a line of shell in a container, to its end; the container."""
    with ExitStack() as stack:

        def run(script: str) -> str:
            config = EngineConfig(
                instance="confined", base_image=real_bench.BASE_IMAGE, load_image="none"
            )
            containers = Containers(connection, config, {"tuner": "1"})
            context = containers.target(
                real_bench.LOAD_IMAGE, ["sh", "-c", script], {}, {"network_mode": "none"}
            )
            container = stack.enter_context(context)
            assert connection.wait_end(container, ENDS_WITHIN_S)
            return container

        yield run


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + ENDS_WITHIN_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_log_is_read_up_to_a_bound(connection: Connection, ended: Callable[[str], str]) -> None:
    container = ended("echo first; yes 0123456789 | head -c 4000000")
    whole = connection.log_tail(container, "all")
    assert whole.startswith("first\n")
    assert 0.5 * MOST_BYTES < len(whole) <= MOST_BYTES
    assert connection.log_tail(container, 2).count("0123456789") in (1, 2)


def test_a_file_is_read_up_to_a_bound_and_a_link_is_not_followed(
    connection: Connection, ended: Callable[[str], str]
) -> None:
    container = ended(
        "echo hi >/tmp/a; ln -s /etc/passwd /tmp/b; yes 12345 | head -c 4000000 >/tmp/c"
    )
    assert connection.read(container, "/tmp/a") == "hi\n"
    assert connection.read(container, "/tmp/b") == ""
    assert connection.read(container, "/tmp") == ""
    assert connection.read(container, "/absent") == ""
    large = connection.read(container, "/tmp/c")
    assert 0.9 * MOST_BYTES < len(large) <= MOST_BYTES


def test_no_control_sequence_of_a_container_gets_out(launcher: DockerLauncher) -> None:
    hostile = r"exec-pre-app = printf '\033]0;title\007\033[31mred\033[0m\b\r\n'"
    with pytest.raises(TargetFailed) as failed:
        launcher.check(real_bench.moody_arm(hostile, "wsgi-file = absent.py"))
    tail = failed.value.log_tail
    assert "red" in tail.splitlines()  # its end of the line may come after the tail was read
    assert all(letter.isprintable() or letter in "\n\t" for letter in tail)


def test_the_generator_is_a_user_of_its_own(launcher: DockerLauncher) -> None:
    with launcher.launch(real_bench.moody_arm()) as running:
        uid = running.run_beside(["id", "-u"], timeout_s=10).strip()
        used = running.run_beside(["cut", "-d:", "-f3", "/etc/passwd"], timeout_s=10).split()
    assert uid not in used


@pytest.mark.parametrize("sees_cgroups", [True, False])
def test_the_generator_sees_the_targets_cgroup_at_most(sees_cgroups: bool) -> None:
    root = Path("/sys/fs/cgroup" if sees_cgroups else "/nowhere")
    with (
        real_bench.engine(cgroup_root=root) as launcher,
        launcher.launch(real_bench.moody_arm()) as running,
    ):
        assert running.usage().memory_mb > 0
        script = "find / -maxdepth 4 -path '/tuner-cgroup-*' -name memory.stat 2>/dev/null | wc -l"
        seen = int(running.run_beside(["sh", "-c", script], timeout_s=20))
    assert seen == 1


@pytest.mark.parametrize("serves", ["http-socket = :8000", "socket = /tmp/app.sock"])
def test_a_target_that_fills_the_disk_fails_with_that_reason(serves: str) -> None:
    """Of a socket in /tmp the whole folder is a volume."""
    arm = real_bench.moody_arm("exec-asap = head -c 40000000 /dev/zero >/tmp/large")
    arm = replace(arm, ini=arm.ini.replace("http-socket = :8000", serves))
    with real_bench.engine(disk_mb=16) as launcher, launcher.launch(arm) as running:
        real_bench.oha().wait_ready(running, arm.target)
        with pytest.raises(TargetFailed, match=r"has written 38 MB .* may write 16 MB") as full:
            running.check_disk()
    assert full.value.code == FailureCode.OUT_OF_DISK


def test_arms_that_do_not_fit_into_the_memory_are_refused_with_the_sum(
    launcher: DockerLauncher,
) -> None:
    host_mb = launcher.fingerprint().memory_mb
    half = real_bench.moody_arm(limits=Limits(memory_mb=host_mb // 2))
    launcher.check_room([half])
    with pytest.raises(TargetFailed, match=f"2 x {host_mb // 2} MB") as refused:
        launcher.check_room([half, half])
    assert refused.value.code == FailureCode.WORKLOAD_REFUSED
    assert f"this host has {host_mb} MB" in refused.value.message


def test_one_service_measures_at_a_time() -> None:
    with real_bench.engine(worker="one") as first, real_bench.engine(worker="two") as second:
        with taken(first):
            assert first.problem() is None
            with pytest.raises(Infrastructure, match="worker one"), second.alone():
                pass
            assert "worker one" in (second.problem() or "")
            first.give_way()  # not while it measures
            first.check_alone()
        first.close()
        with taken(second):
            assert second.problem() is None


def test_a_lock_that_was_removed_is_noticed(launcher: DockerLauncher) -> None:
    with taken(launcher):
        launcher.check_alone()
        client = docker.APIClient(version="auto")
        client.remove_container("uwsgi-tuner-bench", force=True)
        client.close()
        with pytest.raises(Infrastructure, match="lock"):
            launcher.check_alone()
    with taken(launcher):
        launcher.check_alone()


def test_what_a_killed_worker_has_started_ends_before_the_next_one_measures() -> None:
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with real_bench.engine() as next_one:
        while True:
            worker = subprocess.Popen(
                [sys.executable, "-c", HOLDS_THE_LOCK],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environ,
                text=True,
            )
            assert worker.stdout is not None
            with worker.stdout as said:
                container = said.readline().strip()
                if container:
                    break
            worker.wait()  # another service had the lock
        client = docker.APIClient(version="auto")
        try:
            with pytest.raises(Infrastructure), next_one.alone():
                pass
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            with taken(next_one):
                state = client.inspect_container(container)["State"]
                assert (state["Running"], state["ExitCode"]) == (False, 137)
        finally:
            labels = client.inspect_container(container)["Config"]["Labels"]
            for left in real_bench.containers_of(labels["tuner.instance"]):
                client.remove_container(left, force=True)
            client.close()


def test_a_host_without_the_load_image_says_so() -> None:
    config = EngineConfig(instance="none", base_image="none", load_image="tuner-test/absent:1")
    launcher = DockerLauncher(config, Path)
    problem = launcher.problem()
    launcher.close()
    assert problem == "there is no image tuner-test/absent:1: run `tuner setup`"


def taken(launcher: DockerLauncher) -> ExitStack:
    """The lock, once nobody else on this machine has it."""
    with ExitStack() as stack:
        deadline = time.monotonic() + 200
        while True:
            try:
                stack.enter_context(launcher.alone())
                return stack.pop_all()
            except Infrastructure:
                assert time.monotonic() < deadline
                time.sleep(0.2)
