"""How the load reaches uWSGI, and what is kept beside a target: on the real engine."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from tests import bench_arms, real_bench
from tuner.bench.engine import DockerLauncher
from tuner.bench.measurement import ArmSpec
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import ClosedLoop, FailureCode, HttpRequest
from tuner.uwsgi.topology import Topology

pytestmark = [pytest.mark.full, pytest.mark.docker]

LOAD = ClosedLoop(concurrency=4)
ALL_FRONTS = {
    "http-socket = :8000": Topology.HTTP_SOCKET,
    "http = :8000": Topology.HTTP_ROUTER,
    "socket = 127.0.0.1:3031": Topology.NGINX,
    "socket = :8000": Topology.NGINX,
    "socket = /tmp/app.sock": Topology.NGINX,
}


@pytest.fixture
def launcher() -> Iterator[DockerLauncher]:
    with real_bench.engine() as launcher:
        yield launcher.for_measurement("1", "7")


@pytest.fixture
def engine() -> Iterator[docker.APIClient]:
    client = docker.APIClient(version="auto")
    yield client
    client.close()


def behind(*lines: str, **limits: float) -> ArmSpec:
    """The moody app with `lines` in place of its own front."""
    arm = real_bench.moody_arm()
    return ArmSpec(
        index=0,
        ini=arm.ini.replace("http-socket = :8000", "\n".join(lines)),
        target=arm.target,
        limits=arm.limits.model_copy(update=limits),
    )


@pytest.mark.parametrize("line", ALL_FRONTS)
def test_every_front_carries_load_and_nothing_is_lost(launcher: DockerLauncher, line: str) -> None:
    arm, load = behind(line), real_bench.oha()
    launcher.check(arm)
    with launcher.launch(arm) as running:
        load.wait_ready(running, arm.target)
        effective = running.effective_ini()
        reading = load.drive(running, arm.target, LOAD, 0.5)
    assert running.front.topology is ALL_FRONTS[line]
    assert line in effective.splitlines()
    assert "processes = 2" in effective.splitlines()
    assert reading.errors_by_class == {}
    assert reading.before is not None
    assert reading.after is not None
    assert reading.after.requests - reading.before.requests == reading.sent > 0
    assert (reading.proxy.requests if reading.proxy else None) == (
        reading.sent if running.front.topology is Topology.NGINX else None
    )


def test_what_uwsgi_runs_with_is_found_in_a_log_file_too(launcher: DockerLauncher) -> None:
    arm = behind("http-socket = :8000", "logto = /tmp/uwsgi.log")
    with launcher.launch(arm) as running:
        real_bench.oha().wait_ready(running, arm.target)
        effective = running.effective_ini()
    assert "processes = 2" in effective.splitlines()


def test_a_socket_that_lets_nobody_in_is_reached_all_the_same(launcher: DockerLauncher) -> None:
    arm = behind("socket = /app/app.sock", "chmod-socket = 600")
    with launcher.launch(arm) as running:
        real_bench.oha().wait_ready(running, arm.target)


@pytest.mark.parametrize("folder", ["/run", "/run:size=8m"])
def test_a_socket_in_a_folder_in_memory_is_reached(launcher: DockerLauncher, folder: str) -> None:
    arm = behind("socket = /run/app.sock", "exec-pre-app = df -k /run | tail -n 1 >&2")
    target = arm.target.model_copy(update={"tmpfs": (folder,)})
    arm = replace(arm, target=target)
    launcher.check(arm)
    with launcher.launch(arm) as running:
        real_bench.oha().wait_ready(running, target)
        log = running.connection.log_tail(running.container, "all")
    (size,) = [line for line in log.splitlines() if line.startswith("tmpfs")]
    assert (" 8192 " in size) == ("size=8m" in folder), size


def test_the_volume_of_a_socket_goes_with_its_arm(launcher: DockerLauncher) -> None:
    with launcher.launch(behind("socket = /tmp/app.sock")):
        assert len(real_bench.volumes_of(launcher.instance)) == 1
    assert real_bench.volumes_of(launcher.instance) == []


def test_the_volumes_of_dead_measurements_are_reaped(launcher: DockerLauncher) -> None:
    arm = behind("socket = /tmp/app.sock")
    dead = launcher.for_measurement("1", "dead")
    with launcher.launch(arm) as running, dead.launch(arm):
        assert len(real_bench.volumes_of(launcher.instance)) == 2
        launcher.reap(keep={"7"})
        assert len(real_bench.volumes_of(launcher.instance)) == 1
        real_bench.oha().wait_ready(running, arm.target)


def test_killing_a_measurement_leaves_no_volume(launcher: DockerLauncher) -> None:
    with launcher.launch(behind("socket = /tmp/app.sock")):
        assert launcher.kill_measurement("7") == 2
    assert real_bench.volumes_of(launcher.instance) == []


def test_an_abstract_socket_is_refused_before_anything_starts(launcher: DockerLauncher) -> None:
    with pytest.raises(TargetFailed, match="abstract") as failed:
        launcher.check(behind("socket = @app"))
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED


def test_an_nginx_that_cannot_listen_says_why(launcher: DockerLauncher) -> None:
    arm = behind("socket = :3031")
    command = ("uwsgi", "--http-socket", ":8000", "--ini", "{ini}")
    target = arm.target.model_copy(update={"command": command})
    taken = ArmSpec(index=0, ini=arm.ini, target=target, limits=arm.limits)
    load = real_bench.oha()
    with launcher.launch(taken) as running, pytest.raises(TargetFailed, match="nginx") as failed:
        load.wait_ready(running, target)
    assert failed.value.code == FailureCode.NOT_READY
    assert "Address already in use" in failed.value.message


@pytest.mark.parametrize("front", ["http-socket = :8000", "socket = /tmp/app.sock"])
def test_a_target_that_ends_takes_the_generator_along_and_is_blamed(
    launcher: DockerLauncher, front: str
) -> None:
    arm, load = behind(front), real_bench.oha()
    with launcher.launch(arm) as running:
        load.wait_ready(running, arm.target)
        deadly = ClosedLoop(concurrency=2, requests=(HttpRequest(path="/die"),))
        began = time.monotonic()
        with pytest.raises(TargetFailed) as failed:
            load.drive(running, arm.target, deadly, 20.0)
    assert failed.value.code == FailureCode.DIED
    assert time.monotonic() - began < 15  # of 20


def test_a_generator_that_ends_is_not_the_targets_fault(
    launcher: DockerLauncher, engine: docker.APIClient
) -> None:
    arm = behind("http-socket = :8000")
    with launcher.launch(arm) as running:
        running.run_beside(["true"], timeout_s=5)
        engine.kill(running.generator)
        with pytest.raises(Infrastructure, match="load generator"):
            running.run_beside(["true"], timeout_s=5)
        running.raise_if_ended()


def test_uwsgis_processes_are_seen_from_beside(launcher: DockerLauncher) -> None:
    arm = behind("http-socket = :8000")
    with launcher.launch(arm) as running:
        real_bench.oha().wait_ready(running, arm.target)
        script = "grep -l uwsgi /proc/[0-9]*/comm | wc -l; grep -h ctxt /proc/1/task/*/status"
        seen = running.run_beside(["sh", "-c", script], timeout_s=5).splitlines()
        stat = running.run_beside(["cat", "/proc/1/stat"], timeout_s=5)
    assert int(seen[0]) == 3  # the master and two workers
    assert seen[1].startswith("voluntary_ctxt_switches:")
    assert len(stat.split()) > 15


def test_files_come_before_the_command_that_reads_them(launcher: DockerLauncher) -> None:
    files = {"/tmp/task.json": b"x" * 200_000, "/tmp/flow/main.js": b"y"}
    with launcher.launch(behind("http-socket = :8000")) as running:
        script = "wc -c < /tmp/task.json; cat /tmp/flow/main.js; rm -r /tmp/flow; stat -c %a /tmp"
        found = running.run_beside(["sh", "-c", script], timeout_s=5, files=files)
    assert found.split() == ["200000", "y1777"]


def test_a_somaxconn_that_the_kernel_refuses_is_named(launcher: DockerLauncher) -> None:
    arm = behind("http-socket = :8000", somaxconn=2**31)
    with pytest.raises(TargetFailed, match=r"limits\.somaxconn") as failed, launcher.launch(arm):
        raise AssertionError("it started")
    assert failed.value.code == FailureCode.WORKLOAD_REFUSED


@pytest.mark.parametrize(
    ("made_on_top_of", "used"),
    [(real_bench.LOAD_IMAGE, True), (real_bench.BASE_IMAGE, False), (None, False)],
)
def test_the_image_with_k6_is_used_where_it_is_current(
    engine: docker.APIClient, made_on_top_of: str | None, used: bool
) -> None:
    name = f"uwsgi-tuner/test-journey:{time.monotonic_ns()}"
    if made_on_top_of is not None:
        repository, _, tag = name.partition(":")
        engine.tag(made_on_top_of, repository, tag)
    try:
        with real_bench.engine(journey_image=name) as launcher:
            arm = behind("http-socket = :8000")
            with launcher.launch(arm) as running:
                image = engine.inspect_container(running.generator)["Config"]["Image"]
    finally:
        if made_on_top_of is not None:
            engine.remove_image(name)
    assert image == (name if used else real_bench.LOAD_IMAGE)


def test_images_of_an_apps_former_states_go_when_the_next_is_built(
    engine: docker.APIClient, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    app = f"changing-{time.monotonic_ns()}"
    dockerfile = tmp_path / "Dockerfile"
    target = real_bench.moody().model_copy(update={"target_app": app})
    tags: list[list[str]] = []
    for kept_gb in (1.0, 1.0, 0.0):
        adds = f"RUN head -c 1000 /dev/zero >/state-{len(tags)}"
        dockerfile.write_text(f"ARG BASE_IMAGE\nFROM ${{BASE_IMAGE}}\n{adds}\n")
        with real_bench.engine(
            apps=lambda _: tmp_path, cache_dir=cache, images_kept_gb=kept_gb
        ) as launcher:
            launcher.inspect(target)
        tags.append(_tags(engine, app))
    engine.remove_image(tags[2][0])
    assert [len(found) for found in tags] == [1, 2, 1]
    assert tags[2][0] not in tags[1]


def _tags(engine: docker.APIClient, app: str) -> list[str]:
    images = engine.images(name=f"uwsgi-tuner/target-{app}")
    return [tag for image in images for tag in image["RepoTags"]]


@pytest.mark.parametrize("front", ["http-socket = :8000", "socket = /tmp/app.sock"])
def test_a_hostile_target_gets_into_no_process_of_the_generator(
    launcher: DockerLauncher, front: str
) -> None:
    """It shares their process namespace, and may become their user."""
    arm = bench_arms.arm("tracer", front=front)
    with launcher.launch(arm) as running:
        real_bench.oha().wait_ready(running, arm.target)
        script = (
            "import urllib.request as u;"
            f" print(u.urlopen('http://127.0.0.1:{running.front.port}/').read().decode())"
        )
        said = running.run_beside(["python3", "-c", script], timeout_s=20)
    tried = dict(line.split(": ", 1) for line in said.strip().splitlines())
    assert "python3" in tried  # that asks
    assert tried.keys() & {"sleep", "nginx"}
    assert set(tried.values()) == {"closed"}, tried
