"""Services on the real engine: every arm starts with the same data, and nothing stays behind."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import docker
import pytest
from docker.utils import kwargs_from_env

from tests import real_bench
from tests.bench_arms import HTTP_SOCKET, ONE_CPU
from tests.real_bench import everything_of
from tuner.bench.engine import DockerLauncher
from tuner.bench.engine.connection import RELEASE_S, Connection
from tuner.bench.engine.target import DockerTarget
from tuner.bench.measurement import ArmSpec
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import DEFAULT_COMMAND, FailureCode, Target

pytestmark = pytest.mark.docker

COUNTER = {
    "build": "counter",
    "healthcheck": {
        "test": [
            "CMD",
            "python3",
            "-c",
            "import urllib.request as u; u.urlopen('http://127.0.0.1:9000')",
        ]
    },
    "memory_mb": 64,
}
ADD = "import urllib.request as u; u.urlopen('http://counter:9000/add')"
PREPARE = (
    {
        "in": "app",
        "run": ["python3", "-c", f"{ADD}; open('/srv/own/lines', 'w').write('x\\n' * 2)"],
    },
    {"in": "counter", "run": ["sh", "-c", "echo row >> /data/rows"]},
    {"in": "app", "run": ["python3", "-c", "open('/srv/own/lines', 'a').write('x\\n')"]},
)
WORKS_WITHIN_S = 30.0  # beside whatever else the machine does
INI = f"[uwsgi]\n{HTTP_SOCKET}\nchdir = /app\nwsgi-file = app.py\nmaster = true\nprocesses = 2\n"


def arm(index: int = 0, prepare: Sequence[Any] = PREPARE, **counter: Any) -> ArmSpec:
    target = Target.model_validate(
        {
            "target_app": "backed",
            "health_path": "/count",
            "command": DEFAULT_COMMAND,
            "memory_per_process_mb": 12,
            "services": {"counter": COUNTER | counter},
            "prepare": prepare,
        }
    )
    return ArmSpec(index=index, ini=INI, target=target, limits=ONE_CPU)


def answer(running: DockerTarget, path: str) -> str:
    script = (
        "import urllib.request as u;"
        f" print(u.urlopen('http://127.0.0.1:8000{path}').read().decode())"
    )
    return running.run_beside(["python3", "-c", script], timeout_s=20).strip()


def counted(launcher: DockerLauncher, path: str = "/count", index: int = 0) -> str:
    """What a fresh arm answers."""
    with launcher.launch(arm(index)) as running:
        real_bench.oha().wait_ready(running, arm().target)
        return answer(running, path)


def test_every_arm_starts_with_the_data_that_prepare_has_made(launcher: DockerLauncher) -> None:
    for index in range(2):
        with launcher.launch(arm(index)) as running:
            real_bench.oha().wait_ready(running, arm().target)
            assert answer(running, "/count") == "2 3"
            assert answer(running, "/add") == "3"
            assert answer(running, "/count") == "3 4"


def test_a_later_process_finds_the_data_of_the_job(engine: DockerLauncher) -> None:
    first = engine.for_measurement("1", "7")
    assert counted(first) == "2 3"
    before = everything_of(engine.instance)
    assert before
    config = first._config
    later = DockerLauncher(config, real_bench.APPS.joinpath)
    assert later.reap() == 0
    later.end_jobs(("1",))
    assert everything_of(engine.instance) == before
    assert counted(later.for_measurement("1", "8")) == "2 3"
    assert everything_of(engine.instance) == before
    later.close()


def test_data_may_have_any_name(engine: DockerLauncher) -> None:
    """`whole` was the name of our own mark once, and the data were made anew for each arm."""
    launcher = engine.for_measurement("1", "7")
    kept = []
    for _ in range(2):
        with launcher.launch(arm(volumes=["whole:/data"])):
            pass
        kept.append(everything_of(engine.instance))
    assert kept[0] == kept[1] != []


def test_images_go_though_each_is_made_from_another(engine: DockerLauncher) -> None:
    """Several are made in one second, so that their age does not tell the order."""
    connection, image = Connection(()), real_bench.LOAD_IMAGE
    mine = {"label": [f"tuner.instance={engine.instance}"]}
    with connection.api() as api:
        for number in range(6):
            container = api.create_container(image, ["true"])["Id"]
            image = api.commit(
                container,
                "uwsgi-tuner/state",
                f"{engine.instance}-{number}",
                changes=[f"LABEL {mine['label'][0]}"],
            )["Id"]
            api.remove_container(container)
    found = connection.images(mine)
    assert len(found) == 6
    began = time.monotonic()
    connection.remove_images(each["Id"] for each in found)
    assert connection.images(mine) == []
    assert time.monotonic() - began < RELEASE_S, "no image had to be tried again"
    connection.close()


def test_an_image_with_the_labels_of_a_state_is_no_part_of_it(engine: DockerLauncher) -> None:
    """Whoever builds an image can write any label into it."""
    launcher = engine.for_measurement("1", "7")
    assert counted(launcher) == "2 3"
    with closing(docker.from_env().api) as client:
        mine = {"label": [f"tuner.instance={engine.instance}"]}
        of_state = [each for each in client.images(filters=mine) if each["RepoTags"]]
        copied = of_state[0]["Labels"]
        made = client.create_container(real_bench.LOAD_IMAGE, ["false"])["Id"]
        changes = [f"LABEL {name}={value}" for name, value in copied.items()]
        theirs = client.commit(made, "somebody/else", engine.instance, changes=changes)["Id"]
        client.remove_container(made)
        try:
            assert counted(launcher) == "2 3"
            engine.end_jobs(())
            assert [each["Id"] for each in client.images(filters=mine)] == [theirs]
        finally:
            client.remove_image(theirs)


@contextmanager
def address_of_this_host() -> Iterator[str]:
    """That of a bridge of its own."""
    client = docker.APIClient(version="auto", **kwargs_from_env())
    network = client.create_network(f"tuner-test-{os.getpid()}")["Id"]
    try:
        yield client.inspect_network(network)["IPAM"]["Config"][0]["Gateway"]
    finally:
        client.remove_network(network)
        client.close()


def test_data_that_someone_has_pruned_are_made_again(launcher: DockerLauncher) -> None:
    assert counted(launcher) == "2 3"
    client = docker.APIClient(version="auto", **kwargs_from_env())
    for name in real_bench.volumes_of(launcher.instance):
        client.remove_volume(name)
    client.close()
    assert counted(launcher) == "2 3"


def test_services_reach_each_other_and_not_the_host(launcher: DockerLauncher) -> None:
    with address_of_this_host() as address, socket.create_server((address, 0)) as listening:
        url = f"http://{address}:{listening.getsockname()[1]}/"
        assert counted(launcher, f"/out?{url}").startswith("not reached")


def test_services_that_rest_use_no_cpu(launcher: DockerLauncher) -> None:
    busy = arm(command=["--busy"])
    with launcher.launch(busy) as running:
        real_bench.oha().wait_ready(running, busy.target)
        running.rest()
        before = running.service_usage()["counter"]
        time.sleep(0.5)
        after = running.service_usage()["counter"]
        assert after.cpu_s - before.cpu_s < 0.05
        running.resume()
        assert answer(running, "/count") == "2 3"
        deadline = time.monotonic() + WORKS_WITHIN_S
        while running.service_usage()["counter"].cpu_s - after.cpu_s < 0.05:
            assert time.monotonic() < deadline, "the service does not work again"
            time.sleep(0.1)


IN_COUNTER = "http://counter:9000"


def frozen(size: int) -> dict[str, Any]:
    """A step that makes data of this size."""
    return {"in": "counter", "run": ["sh", "-c", f"head -c {size} /dev/zero >/data/frozen"]}


def test_a_service_may_write_so_much_more_than_the_data_that_it_started_with() -> None:
    filling = arm(prepare=(*PREPARE, frozen(30_000_000)))
    with real_bench.engine(service_disk_mb=16) as engine:
        launcher = engine.for_measurement("1", "7")
        with launcher.launch(filling) as running:
            real_bench.oha().wait_ready(running, filling.target)
            assert 0 <= running.check_disk()["counter"] < 1
            assert answer(running, f"/out?{IN_COUNTER}/fill") == "reached"
            too_much = r"service counter has written 38 MB to disk; it may write 16 MB"
            with pytest.raises(TargetFailed, match=too_much) as full:
                running.check_disk()
        engine.end_jobs(())
        assert everything_of(engine.instance) == []
    assert full.value.code == FailureCode.OUT_OF_DISK


ALLOCATES = "import os, time; f = open('{}', 'wb'); os.posix_fallocate(f.fileno(), 0, 3 << 30)"


@pytest.mark.parametrize(
    ("part", "file", "who"),
    [("counter", "/data/x", "service counter"), ("app", "/srv/own/x", "the container")],
)
def test_data_that_take_the_last_room_on_the_disk_fail_and_leave_nothing(
    part: str, file: str, who: str
) -> None:
    """Other tests use the disk too: by less than the GB that is left between the two sizes."""
    free_mb = shutil.disk_usage(docker_root()).free >> 20
    step = ["python3", "-c", f"{ALLOCATES.format(file)}; time.sleep(60)"]
    greedy = arm(prepare=[*PREPARE, {"in": part, "run": step}])
    with real_bench.engine(least_free_mb=free_mb - 1500) as engine:
        launcher = engine.for_measurement("1", "7")
        with pytest.raises(TargetFailed, match=rf"{who} has written \d{{4}} MB") as full:
            launcher.launch(greedy).__enter__()
        assert everything_of(engine.instance) == []
    assert full.value.code == FailureCode.OUT_OF_DISK


def test_a_disk_that_others_have_filled_is_the_hosts_fault() -> None:
    with real_bench.engine(least_free_mb=10**9) as engine:
        launcher = engine.for_measurement("1", "7")
        with pytest.raises(Infrastructure, match="make room on this host"):
            launcher.launch(arm()).__enter__()
        assert everything_of(engine.instance) == []


def docker_root() -> str:
    client = docker.APIClient(version="auto", **kwargs_from_env())
    root: str = client.info()["DockerRootDir"]
    client.close()
    return root


def test_a_service_has_its_own_limits(launcher: DockerLauncher) -> None:
    # Of the service itself: runc 1.1.5 may give a process that it adds another soft limit.
    told = "grep -Eq 'Max open files +100 +200 ' /proc/1/limits"
    limits = {"nofile": {"soft": 100, "hard": 200}}
    with launcher.launch(arm(prepare=[in_counter(told)], ulimits=limits)) as running:
        assert running.services


def in_counter(script: str) -> dict[str, Any]:
    return {"in": "counter", "run": ["sh", "-c", script]}


PLANTED = "wonderful-secret"
SECRETS = {"SHOP_DB": PLANTED, "backed/secrets/db.txt": f"{PLANTED}\nsecond-secret\n"}
HAS_IT = "grep -qx 'wonder.*cret' /run/secrets/db"


@pytest.mark.parametrize("source", [{"from_worker": "SHOP_DB"}, {"file": "secrets/db.txt"}])
def test_a_secret_is_a_file_of_app_and_service_and_in_no_text(source: dict[str, str]) -> None:
    tells = f"{HAS_IT} && cat /run/secrets/db && echo && stat -c '%U %a' /run/secrets/db; exit 3"
    plain = arm(prepare=[{"in": "app", "run": ["sh", "-c", HAS_IT]}, in_counter(tells)])
    fields = plain.target.model_dump(by_alias=True) | {"secrets": {"db": source}}
    fields["services"]["counter"]["secrets"] = ["db"]
    with real_bench.engine(secrets=SECRETS) as engine:
        launcher = engine.for_measurement("1", "7")
        one = replace(plain, target=Target.model_validate(fields))
        with pytest.raises(TargetFailed, match=r"in counter: exit 3: root 644") as failed:
            launcher.launch(one).__enter__()
    told = f"{failed.value} {failed.value.message} {failed.value.log_tail} {one!r}"
    assert PLANTED not in told
    assert "second-secret" not in told
    assert "***" in failed.value.log_tail


def test_a_secret_that_the_worker_does_not_have_is_named(launcher: DockerLauncher) -> None:
    secret = {"db": {"file": "secrets/db.txt"}}
    with pytest.raises(TargetFailed, match=r"secrets\.db; the worker .* backed/secrets/db\.txt"):
        launcher.launch(arm(secrets=secret)).__enter__()


@pytest.mark.parametrize(
    ("broken", "code", "words"),
    [
        (arm(command=["--no-such-option"]), "service_failed", r"counter ended \(exit 2\)"),
        (
            arm(ulimits={"nofile": 2_000_000_000}),
            "workload_refused",
            r"service counter: this host refuses .* open files \(nofile\) is \d+ here",
        ),
        (
            arm(prepare=[{"in": "app", "run": "cat /none"}]),
            "prepare_failed",
            "exit 1.*No such file",
        ),
        (arm(prepare=[{"in": "counter", "run": "cat /none"}]), "prepare_failed", "No such file"),
        (
            arm(prepare=[{"in": "counter", "run": "sleep 9", "timeout_s": 0.5}]),
            "prepare_failed",
            "in counter: did not end within 0.5 s",
        ),
        (
            arm(prepare=[{"in": "app", "run": "sleep 9", "timeout_s": 0.5}]),
            "prepare_failed",
            "did not end within 0.5 s",
        ),
    ],
)
def test_what_cannot_be_prepared_fails_with_its_last_line_and_leaves_nothing(
    engine: DockerLauncher, broken: ArmSpec, code: str, words: str
) -> None:
    launcher = engine.for_measurement("1", "7")
    with pytest.raises(TargetFailed, match=words) as failed, launcher.launch(broken):
        pass
    assert failed.value.code == FailureCode(code)
    assert everything_of(engine.instance) == []


def test_a_service_that_is_never_healthy_fails_in_time_with_its_last_lines() -> None:
    waits = arm(
        entrypoint=["sh", "-c", "echo I need a disk; sleep 60"],
        healthcheck={"test": "echo not yet; exit 3"},
    )
    with real_bench.engine(service_ready_s=1.0) as engine:
        began = time.monotonic()
        with pytest.raises(TargetFailed) as failed:
            engine.for_measurement("1", "7").launch(waits).__enter__()
        assert time.monotonic() - began < 30
        assert everything_of(engine.instance) == []
    told = "service counter was not healthy (its test: exit 3: not yet) within 1 s: I need a disk"
    assert failed.value.message == told
    assert (failed.value.code, failed.value.log_tail) == ("service_failed", "I need a disk")


def test_a_kill_while_the_data_are_made_leaves_nothing(engine: DockerLauncher) -> None:
    slow = arm(prepare=[{"in": "app", "run": "sleep 60"}])
    launcher = engine.for_measurement("1", "7")
    with ThreadPoolExecutor() as pool:
        starting = pool.submit(launcher.launch(slow).__enter__)
        while len(real_bench.containers_of(engine.instance)) < 2 and not starting.done():
            time.sleep(0.05)
        launcher.kill_measurement("7")
        assert isinstance(starting.exception(timeout=30), Infrastructure)
    assert everything_of(engine.instance) == []


DIES = """
import os, signal
from tests import real_bench
from tests.contract.test_backing import arm
with real_bench.engine() as engine:
    launcher = engine.for_measurement("1", "7")
    with launcher.launch(arm()) as running:
        print(engine.instance, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_worker_leaves_is_removed_with_its_networks_and_volumes() -> None:
    died = subprocess.run([sys.executable, "-c", DIES], capture_output=True, text=True, check=False)
    instance = died.stdout.strip()
    assert (died.returncode, bool(instance)) == (-signal.SIGKILL, True), died.stderr
    assert len(everything_of(instance)) > 5
    with real_bench.engine() as engine:
        config = replace(engine._config, instance=instance)
        later = DockerLauncher(config, real_bench.APPS.joinpath)
        assert later.reap() == 4  # app, load generator, service, and what delays its packets
        later.end_jobs(())
        later.close()
    assert everything_of(instance) == []


def test_data_of_another_image_than_the_jobs_are_refused(launcher: DockerLauncher) -> None:
    other = replace(arm(), data_sha256="0" * 64)
    with pytest.raises(
        Infrastructure, match="an image of a service or a folder to copy is another one"
    ):
        launcher.launch(other).__enter__()


def test_services_that_do_not_fit_into_memory_are_refused_with_the_sum(
    launcher: DockerLauncher,
) -> None:
    with pytest.raises(TargetFailed, match=r"2 x 900000 MB for services"):
        launcher.check_room([arm(memory_mb=900_000), arm(1, memory_mb=900_000)])
