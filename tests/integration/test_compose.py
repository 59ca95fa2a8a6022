"""docker-compose.yml with locally built images: it comes up, asks for the key, goes down."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PYTHON_IMAGE = "uwsgi-tuner/python:local"  # trusts this machine's certificates
POSTGRES_IMAGE = "uwsgi-tuner/test-postgres:local"
KEY = "a-key-for-the-compose-test"

BUILD_S = 600  # the first time; seconds afterwards
UP_S = 240
READY_S = 180
DOWN_S = 180
JOB_S = 600

pytestmark = [
    pytest.mark.full,
    pytest.mark.docker,
    pytest.mark.timeout(BUILD_S + UP_S + READY_S + JOB_S + DOWN_S),
]


@dataclass(frozen=True)
class Stack:
    """One compose project of its own, so that a stack of the user's is left alone."""

    program: tuple[str, ...]
    project: str
    port: int
    variables: Mapping[str, str] = field(repr=False)

    def compose(self, *arguments: str, timeout_s: float) -> str:
        """What compose printed; a failure shows all of it."""
        done = subprocess.run(
            [*self.program, "--project-name", self.project, *arguments],
            cwd=CHECKOUT,
            env={**os.environ, **self.variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == 0, f"compose {' '.join(arguments)}:\n{done.stdout[-4000:]}"
        return done.stdout

    def get(self, path: str, key: str | None = None) -> tuple[int, str]:
        """Status and body; status 0 while nothing listens."""
        return self._ask(path, key, None)

    def post(self, path: str, document: object, key: str) -> tuple[int, str]:
        """Status and body of the answer to a JSON document."""
        return self._ask(path, key, json.dumps(document).encode())

    def _ask(self, path: str, key: str | None, body: bytes | None) -> tuple[int, str]:
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - loopback
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def await_ready(self) -> None:
        deadline = time.monotonic() + READY_S
        while self.get("/readyz")[0] != 200:
            assert time.monotonic() < deadline, f"not ready:\n{self.compose('logs', timeout_s=30)}"
            time.sleep(0.5)

    def running(self) -> set[str]:
        """The services that have a running container."""
        listing = subprocess.run(
            [
                "docker",
                "ps",
                "--filter",
                f"label=com.docker.compose.project={self.project}",
                "--format",
                '{{.Label "com.docker.compose.service"}}',
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        return set(listing.stdout.split())


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    build_postgres()
    port = free_port()
    stack = Stack(
        program=compose_program(),
        project=f"tuner-compose-test-{os.getpid()}",
        port=port,
        variables={
            "POSTGRES_IMAGE": POSTGRES_IMAGE,
            "POSTGRES_PASSWORD": "aPasswordForTheTest",
            "PYTHON_IMAGE": PYTHON_IMAGE,
            "TUNER_IMAGE": "uwsgi-tuner/service:test",
            "TUNER_API_KEY": KEY,
            "TUNER_PORT": str(port),
            "DOCKER_GID": str(Path("/var/run/docker.sock").stat().st_gid),
            "DOCKER_BUILDKIT": "0",
        },
    )
    try:
        stack.compose("build", timeout_s=BUILD_S)
        stack.compose("up", "--detach", timeout_s=UP_S)
        stack.await_ready()
        yield stack
    finally:
        stack.compose("down", "--volumes", "--timeout", "10", timeout_s=DOWN_S)
        forget_replaced_images()
    assert stack.running() == set()


def forget_replaced_images() -> None:
    """Of yesterday and before: today's hold the layers that the next build starts from."""
    mine, old = "label=tuner.image=service", "until=24h"
    prune = ["docker", "image", "prune", "--force", "--filter", mine, "--filter", old]
    subprocess.run(prune, stdout=subprocess.DEVNULL, check=True, timeout=DOWN_S)


def compose_program() -> tuple[str, ...]:
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    if plugin.returncode == 0:
        return ("docker", "compose")
    standalone = shutil.which("docker-compose")
    assert standalone, "Docker Compose is missing: `make test` installs it, or see its message"
    return (standalone,)


def build_postgres() -> None:
    folder = Path(__file__).parent / "postgres"
    built = subprocess.run(
        ["docker", "build", "--network=host", "--tag", POSTGRES_IMAGE, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    assert built.returncode == 0, built.stdout[-4000:]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_every_part_is_running(stack: Stack) -> None:
    assert {"postgres", "api", "worker"} <= stack.running()


def test_health_needs_no_key_and_everything_else_does(stack: Stack) -> None:
    assert stack.get("/readyz")[0] == 200
    assert stack.get("/v1/target-apps")[0] == 401
    assert stack.get("/v1/target-apps", key="another")[0] == 401


def test_the_image_holds_the_target_apps(stack: Stack) -> None:
    status, body = stack.get("/v1/target-apps", key=KEY)

    assert status == 200
    assert '"mixed"' in json.dumps(json.loads(body))


def test_the_worker_reaches_docker_without_being_root(stack: Stack) -> None:
    script = "import docker, os; print(os.getuid(), docker.from_env().ping())"

    said = stack.compose("exec", "-T", "worker", "python3", "-c", script, timeout_s=60)

    assert said.split()[-2:] == ["10001", "True"]


def test_a_job_is_measured_by_the_worker_in_its_container(stack: Stack) -> None:
    budget = {"trials": 1, "confirm_blocks": 4, "cycles": 1, "window_s": 0.5, "warmup_s": 0.2}
    request = {"app": "shop", "target": {"target_app": "flask-json"}, "budget": budget}
    status, body = stack.post("/v1/jobs", request, key=KEY)
    assert status == 201, body
    path = f"/v1/jobs/{json.loads(body)['id']}"

    job = json.loads(body)
    deadline = time.monotonic() + JOB_S
    while job["state"] in ("queued", "running"):
        assert time.monotonic() < deadline, job
        time.sleep(0.5)
        job = json.loads(stack.get(path, key=KEY)[1])

    assert job["state"] == "succeeded", job
    trial = json.loads(stack.get(f"{path}/trials/1?raw=1", key=KEY)[1])
    assert trial["windows"]
    for window in trial["windows"]:
        assert window["served"] == window["sent"]
        assert window["memory_mb"] > 0
        assert 0 < window["target_cpu"] <= 1.1


def test_a_missing_key_is_refused_with_what_to_set(stack: Stack) -> None:
    without = {name: value for name, value in stack.variables.items() if name != "TUNER_API_KEY"}
    refused = Stack(stack.program, stack.project, stack.port, without)

    with pytest.raises(AssertionError, match="set TUNER_API_KEY"):
        refused.compose("config", timeout_s=30)
