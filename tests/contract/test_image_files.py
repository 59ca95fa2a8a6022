"""A uwsgi.ini in an image, on the real engine: read, replaced, and started by the image itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import real_bench
from tests.bench_arms import HTTP_SOCKET, ONE_CPU
from tests.builders import spec
from tuner.bench.engine import DockerLauncher
from tuner.bench.engine.images import entry_of, file_in
from tuner.bench.measurement import ArmSpec, Bench
from tuner.nouns.errors import InvalidInput, TargetFailed
from tuner.nouns.model import Budget, FailureCode, JobKind, Target
from tuner.service.worker import prepared
from tuner.uwsgi.ini import IniFile

pytestmark = pytest.mark.docker

PATH = "/etc/app/uwsgi.ini"
INI = f"[uwsgi]\n{HTTP_SOCKET}\nchdir = /app\nwsgi-file = app.py\nmaster = true\nprocesses = 2\n"
APP = """\
import os
import uwsgi

def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{os.environ['STARTED_BY']} {uwsgi.numproc}".encode()]
"""
DOCKERFILE = """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
COPY app.py start.sh /app/
COPY uwsgi.ini /srv/real/uwsgi.ini
RUN mkdir /etc/app \\
 && ln -s ../../srv/real/uwsgi.ini /etc/app/uwsgi.ini \\
 && ln -s /srv/real /etc/linked \\
 && ln -s /none /etc/app/dangling.ini \\
 && ln -s loop.ini /etc/app/loop.ini \\
 && head -c 200001 /dev/zero > /etc/app/large.ini \\
 && printf '[uwsgi]\\n\\377\\n' > /etc/app/bytes.ini
WORKDIR /etc/app
USER app
ENTRYPOINT ["sh", "/app/start.sh"]
CMD ["uwsgi", "--ini", "uwsgi.ini"]
"""
START = 'export STARTED_BY=entrypoint\nexec "$@"\n'


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[DockerLauncher]:
    texts = {"Dockerfile": DOCKERFILE, "app.py": APP, "start.sh": START, "uwsgi.ini": INI}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with real_bench.engine(apps=lambda _: tmp_path) as engine:
        yield engine.for_measurement("1", "7")


def shipped(path: str = PATH) -> Target:
    return Target(
        target_app="shipped", port=8000, ini_path=path, command=(), memory_per_process_mb=12
    )


def arm(*lines: str, path: str = PATH) -> ArmSpec:
    ini = INI + "".join(f"{line}\n" for line in lines)
    return ArmSpec(index=0, ini=ini, target=shipped(path), limits=ONE_CPU)


@pytest.mark.parametrize("path", [PATH, "/srv/real/uwsgi.ini", "/etc/linked/uwsgi.ini"])
def test_the_file_is_read_through_links(launcher: DockerLauncher, path: str) -> None:
    assert launcher.own_file(shipped(path)) == INI


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/etc/app/none.ini", "there is no such file"),
        ("/none/uwsgi.ini", "there is no such file"),
        ("/etc/app/dangling.ini", "it is a link to /none"),
        ("/etc/app/loop.ini", "it is a chain of too many links"),
        ("/etc/passwd/uwsgi.ini", "a part of its path is no folder"),
        ("/etc/app", "it is a folder"),
        ("/etc/app/large.ini", "it has 200001 bytes"),
        ("/etc/app/bytes.ini", "it is not UTF-8 text"),
    ],
)
def test_what_is_no_file_is_named(launcher: DockerLauncher, path: str, told: str) -> None:
    with pytest.raises(TargetFailed) as failed:
        launcher.own_file(shipped(path))
    assert failed.value.code == FailureCode.PREPARE_FAILED
    assert f"{path} in the image shipped: " in failed.value.message
    assert told in failed.value.message


def test_the_image_knows_its_uwsgi_and_its_command(launcher: DockerLauncher) -> None:
    build = launcher.inspect(shipped())
    assert build.uwsgi_version.startswith("2.0")
    assert build.command == ("sh", "/app/start.sh", "uwsgi", "--ini", "uwsgi.ini")


def test_a_check_ends_and_prints_what_uwsgi_merged(launcher: DockerLauncher) -> None:
    checked = launcher.check(arm("threads = 3"))
    assert checked.somaxconn == ONE_CPU.somaxconn
    assert IniFile.parse(checked.effective_ini).get("threads") == "3"
    assert launcher.strict(arm()) == ""
    assert "no-such-key" in launcher.strict(arm("no-such-key = 1"))


def test_a_file_that_uwsgi_refuses_fails_the_check(launcher: DockerLauncher) -> None:
    with pytest.raises(TargetFailed) as failed:
        launcher.check(arm("cheaper = 5"))
    assert failed.value.code == FailureCode.BAD_OPTIONS


def test_the_images_own_start_runs_the_file_of_the_trial(launcher: DockerLauncher) -> None:
    for processes in (2, 3):
        trial = arm(f"processes = {processes}", "stats = 127.0.0.1:9", "need-app = false")
        with launcher.launch(trial) as running:
            real_bench.oha().wait_ready(running, trial.target)
            script = (
                "import urllib.request as u;"
                " print(u.urlopen('http://127.0.0.1:8000/').read().decode())"
            )
            said = running.run_beside(["python3", "-c", script], timeout_s=20).strip()
            assert said == f"entrypoint {processes}"
            merged = IniFile.parse(running.effective_ini())
            assert merged.get("processes") == f"{processes}"


def test_a_server_that_reads_another_file_is_no_check(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "start.sh").write_text(START)
    (tmp_path / "uwsgi.ini").write_text(INI)
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    apps = real_bench.engine(apps=lambda _: tmp_path, check_timeout_s=4.0)
    told = r"and with /srv/other\.ini"
    with apps as engine, pytest.raises(TargetFailed, match=told) as failed:
        engine.for_measurement("1", "7").check(arm(path="/srv/other.ini"))
    assert failed.value.code == FailureCode.NOT_READY


def test_a_whole_preparation_has_the_file_of_the_image(launcher: DockerLauncher) -> None:
    job = spec(
        kind=JobKind.CALIBRATE,
        target=shipped(),
        baseline_ini="",
        limits=ONE_CPU,
        search_space=None,
        budget=Budget(trials=0, calibrate_blocks=2, confirm_blocks=2, window_s=1.0),
    )
    found = prepared(job, Bench(launcher, real_bench.generators()))
    assert found.baseline_ini == INI
    assert found.facts is not None
    assert found.facts.topology == "http_socket"
    assert found.facts.preflight is not None


def test_init_reads_an_image_that_is_here_and_pulls_none(launcher: DockerLauncher) -> None:
    image = launcher.inspect(shipped()).image_digest
    config = launcher._config
    assert file_in(config, image, "uwsgi.ini") == INI  # from the image's working directory
    assert file_in(config, "registry.example/none:1", PATH) is None
    assert entry_of(config, image) == {
        "ENTRYPOINT": ["sh", "/app/start.sh"],
        "CMD": ["uwsgi", "--ini", "uwsgi.ini"],
    }
    assert entry_of(config, "registry.example/none:1") is None
    with pytest.raises(InvalidInput, match="it is a folder"):
        file_in(config, image, "/etc/app")
