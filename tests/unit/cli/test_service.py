"""What serve and demo refuse before they start anything."""

import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.answers import (
    RECOMMENDATION,
    TUNE_QUEUED,
    TUNE_RUNNING,
)
from tests.unit.cli.conftest import Service, run
from tuner.cli import demo, following, main
from tuner.client import Client
from tuner.nouns.errors import Conflict


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def test_serving_the_network_without_a_key_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TUNER_HOST", "0.0.0.0")  # noqa: S104
    monkeypatch.delenv("TUNER_API_KEY", raising=False)
    assert main(["serve"]) == 2
    assert "TUNER_API_KEY" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    taken_port: int,
) -> None:
    monkeypatch.setenv("TUNER_PORT", str(taken_port))
    monkeypatch.setenv("TUNER_DATA_DIR", str(tmp_path))
    assert main(["serve"]) == 4
    assert "TUNER_PORT" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_service_of_its_own_has_nothing_in_common_with_another() -> None:
    mine = {"TUNER_DATABASE_URL": "postgresql://db/x", "TUNER_API_KEY": "k", "HOME": "/root"}
    mine |= {"TUNER_URL": "https://tuner.example", "TUNER_POOL": "a", "TUNER_BASE_PATH": "/tuner"}
    mine |= {f"TUNER_{name}": "/etc/file" for name in ("API_KEY_FILE", "TLS_CERT", "TLS_KEY")}
    environ = following._environ(mine, Path("/data/demo"), 9000)
    assert environ == {
        "HOME": "/root",
        "TUNER_DATA_DIR": "/data/demo",
        "TUNER_HOST": "127.0.0.1",
        "TUNER_PORT": "9000",
    }


def test_a_second_command_on_the_same_data_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Conflict), following._alone(tmp_path):
            pass


def test_how_to_tune_ones_own_app_takes_two_commands() -> None:
    lines = demo._your_own().splitlines()
    assert len(lines) == 3
    assert "tune" in lines[2]


@pytest.fixture
def demo_folder(service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the demo leaves its page; its service is the one that answers, and its job is done."""
    done = {**TUNE_RUNNING, "state": "succeeded", "phase": "done"}
    for call in ("POST /v1/jobs", "POST /v1/jobs?go_on=true"):
        service.on(call, TUNE_QUEUED, status=201)
    service.on("GET /v1/jobs/7", done)
    service.left()
    service.on("GET /v1/jobs/7/recommendation", RECOMMENDATION)
    service.on("GET /v1/jobs/7/report?format=html", "<title>größer</title>\n")

    @contextmanager
    def started(folder: Path, apps: Path | None = None) -> Iterator[Client]:
        assert (folder.name, apps) in {("demo", None), ("own", tmp_path / "apps")}
        with Client(service.url) as client:
            yield client

    monkeypatch.setattr(following, "started", started)
    monkeypatch.setenv("TUNER_DATA_DIR", str(tmp_path))
    return tmp_path / "demo"


def test_the_demo_leaves_its_report_as_a_page_and_says_where(
    demo_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo_folder.mkdir()
    assert run("demo") == 0
    page = demo_folder / "job-7.html"
    assert page.read_text(encoding="utf-8") == "<title>größer</title>\n"
    said = capsys.readouterr().out
    assert said.index("uwsgi.ini to deploy") < said.index(f"charts: {page}\n")
    assert said.index(f"charts: {page}\n") < said.index("Your own app")


@pytest.fixture
def cart(demo_folder: Path) -> Path:
    """The folder of an app."""
    folder = demo_folder.parent / "apps" / "cart"
    folder.mkdir(parents=True)
    (folder / "target.yaml").touch()
    (demo_folder.parent / "own").mkdir()
    return folder


def test_a_folder_with_a_target_is_tuned_and_named_by_its_folder(
    cart: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("tune", str(cart), "--preset", "quick") == 0
    said = capsys.readouterr()
    assert "uwsgi.ini to deploy" in said.out
    assert "job 7: submitted" in said.err
    (sent,) = service.submitted()
    assert sent == {
        "app": "cart",
        "target": {"target_app": "cart"},
        "budget": {"preset": "quick"},
    }


def test_tune_goes_on_where_it_was_stopped_unless_it_is_fresh(
    cart: Path, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("POST /v1/jobs?go_on=true", TUNE_RUNNING)
    for fresh, told in ((), "goes on with job 7"), (("--fresh",), "job 7: submitted"):
        assert run("tune", str(cart), *fresh) == 0
        said = capsys.readouterr()
        assert said.err.startswith(told)
        assert "first window" not in said.out  # it was before this command


def test_a_page_that_cannot_be_written_is_said_after_the_answer(
    demo_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("demo") == 4
    said = capsys.readouterr()
    assert "uwsgi.ini to deploy" in said.out
    assert f"{demo_folder / 'job-7.html'}: No such file" in said.err
