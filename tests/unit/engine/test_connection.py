"""An engine that is away is `Unavailable`, whatever is asked of it."""

import ast
import errno
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import docker
import pytest
from docker.errors import APIError, DockerException

from tuner.bench.engine import DockerLauncher, EngineConfig
from tuner.bench.engine.connection import Connection
from tuner.bench.measurement import Launcher
from tuner.nouns.errors import Infrastructure, TargetFailed, Unavailable
from tuner.nouns.model import DEFAULT_COMMAND, Target

CONFIG = EngineConfig(instance="test", base_image="base", load_image="load")
TARGET = Target(
    image="app:1",
    port=8000,
    health_path="/",
    command=DEFAULT_COMMAND,
    thread_safe=False,
    memory_per_process_mb=1,
)


@pytest.mark.parametrize(
    "call",
    [
        lambda launcher: launcher.alone().__enter__(),
        lambda launcher: launcher.fingerprint(),
        lambda launcher: launcher.inspect(TARGET),
        lambda launcher: launcher.own_file(TARGET),
        lambda launcher: launcher.reap(),
        lambda launcher: launcher.kill_measurement("1"),
    ],
)
def test_an_engine_that_is_away(
    call: Callable[[DockerLauncher], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    launcher = DockerLauncher(CONFIG, Path)
    with pytest.raises(Unavailable, match="docker is away"):
        call(launcher)
    launcher.close()


def test_no_line_of_a_secret_gets_out() -> None:
    connection = Connection(["abc", "hunter22", "hunter22-and-more", "first line\n  second line\n"])
    said = "abc hunter22-and-more hunter22 [second line] first line"
    assert connection.hidden(said) == "abc *** *** [***] ***"


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "add this user to the group"),
        (FileNotFoundError(errno.ENOENT, "No such file"), "there is no Docker Engine"),
    ],
)
def test_a_host_that_cannot_reach_docker_says_why(
    error: OSError, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(address: str) -> None:
        raise error

    monkeypatch.setattr("tuner.bench.engine.connection.knock", refuse)
    launcher = DockerLauncher(EngineConfig(instance="t", base_image="b", load_image="l"), Path)
    problem = launcher.problem()
    assert problem is not None
    assert problem.startswith("docker is away: ")
    assert advice in problem


def test_what_is_no_fault_of_the_transport_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))  # without certificates
    with pytest.raises(Infrastructure, match="TLS"), Connection().api():
        pass


def test_an_engine_that_hangs_up_in_the_middle_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        server.listen()
        threading.Thread(target=hang_up_on, args=(server, 2), daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{address}")
        with pytest.raises(Unavailable, match="docker is away"), Connection().api():
            pass


def hang_up_on(server: socket.socket, times: int) -> None:
    """Close that many connections without a word."""
    for _ in range(times):
        server.accept()[0].close()


@pytest.mark.parametrize("name", ["../x://y", "../images", "x y", "a/../b"])
def test_a_name_that_is_no_reference_never_reaches_the_engine(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")  # nobody answers there
    launcher = DockerLauncher(CONFIG, Path)
    with pytest.raises(TargetFailed, match="not an image reference"):
        launcher.inspect(TARGET.model_copy(update={"image": name}))


def test_a_worker_refuses_an_image_that_its_operator_does_not_allow() -> None:
    launcher = DockerLauncher(replace(CONFIG, images_allowed=("docker.io/shop/*",)), Path)
    with pytest.raises(TargetFailed, match="app:1: this host's TUNER_IMAGES_ALLOWED"):
        launcher.inspect(TARGET)


def test_the_launcher_fits_where_it_is_used() -> None:
    fits: Launcher = DockerLauncher(CONFIG, Path).for_measurement("1", "2")
    assert fits


def test_a_log_line_says_what_was_not_removed_and_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def in_use(self: docker.APIClient, *given: object) -> None:
        raise DockerException("it is in use")

    monkeypatch.setattr(docker.APIClient, "remove_volume", in_use)
    monkeypatch.setattr("tuner.bench.engine.connection.RELEASE_S", 0.0)
    monkeypatch.setattr(Connection, "_open", lambda self: docker.APIClient(version="1.41"))
    Connection().remove_volumes(["tuner-1"])
    (message,) = caplog.messages
    assert message.startswith("volume.not_removed volume=tuner-1 why=")
    assert message.endswith("it is in use")


def test_no_log_call_hides_its_data_in_extra() -> None:
    """The log's format prints the message only."""
    sources = Path(__file__).parents[3].joinpath("tuner").rglob("*.py")
    calls = [
        f"{path.name}:{call.lineno}"
        for path in sources
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in {"debug", "info", "warning", "error", "exception"}
        and any(keyword.arg == "extra" for keyword in call.keywords)
    ]
    assert calls == []


class Freezing:
    """A client of an engine that refuses to freeze a container some times."""

    def __init__(self, refusals: int, status: str = "running") -> None:
        self.refusals = refusals
        self.status = status
        self.asked = 0

    def pause(self, container: str) -> None:
        self.asked += 1
        if self.asked <= self.refusals:
            raise APIError("500 Server Error", explanation="unable to freeze")
        self.status = "paused"

    def inspect_container(self, container: str) -> dict[str, dict[str, str]]:
        return {"State": {"Status": self.status}}


@pytest.mark.parametrize(("refusals", "status", "asked"), [(2, "running", 3), (9, "exited", 1)])
def test_a_container_that_did_not_freeze_is_paused_again(
    refusals: int, status: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Freezing(refusals, status)
    monkeypatch.setattr(Connection, "_open", lambda _: engine)
    monkeypatch.setattr("tuner.bench.engine.connection.FREEZE_AGAIN_S", 0)
    Connection().pause("c")
    assert engine.status != "running"
    assert engine.asked == asked


def test_a_container_that_never_freezes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "_open", lambda _: Freezing(99))
    monkeypatch.setattr("tuner.bench.engine.connection.FREEZE_AGAIN_S", 0)
    with pytest.raises(Infrastructure, match="unable to freeze"):
        Connection().pause("c")
