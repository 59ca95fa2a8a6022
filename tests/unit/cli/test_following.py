"""A stopped command goes on where it was, in a service that answers as a test says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.answers import (
    COMPARE_DONE,
    COMPARE_QUEUED,
    COMPARE_RUNNING,
    RECOMMENDATION,
    TARGET_APP_LIST,
    TUNE_QUEUED,
    TUNE_RUNNING,
)
from tests.unit.cli.conftest import Service, run
from tuner.cli import following
from tuner.client import Client

GOES_ON, ANEW = "POST /v1/jobs?go_on=true", "POST /v1/jobs"
TUNED = "POST /v1/jobs?go_on=true&max_age_days=1"
COMPARE = ("compare", "wsgi-servers")
TUNE_FIRST = (*COMPARE, "--tune", "uwsgi-as-published")
TUNE_DONE: dict[str, Any] = {**TUNE_RUNNING, "state": "succeeded", "phase": "done"}


@pytest.fixture
def stopped(service: Service) -> Service:
    """A service with a comparison that an earlier command has begun: job 8."""
    service.on("GET /v1/target-apps", TARGET_APP_LIST)
    service.on(GOES_ON, COMPARE_RUNNING)
    service.on("GET /v1/jobs/8", COMPARE_RUNNING, COMPARE_DONE)
    return service


@pytest.fixture
def own(stopped: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Service:
    """The same one, started by the command; job 3 runs and job 4 waits, of other commands."""

    @contextmanager
    def started(folder: Path, apps: Path | None = None) -> Iterator[Client]:
        with Client(stopped.url) as client:
            yield client

    monkeypatch.delenv("TUNER_URL")
    monkeypatch.setenv("TUNER_PORT", "1")
    monkeypatch.setenv("TUNER_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(following, "started", started)
    others = [{**COMPARE_QUEUED, "id": 4}, COMPARE_QUEUED]
    stopped.left([{**TUNE_RUNNING, "id": 3}], others)
    return stopped


def cancelled(service: Service) -> list[str]:
    return [call for call, _, _ in service.seen if call.endswith("/cancel")]


@pytest.mark.parametrize("command", [COMPARE, ("measure", "mixed")])
def test_the_same_command_goes_on_with_its_job_and_says_how_far_it_is(
    stopped: Service, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    assert run(*command) == 0
    said = capsys.readouterr()
    assert said.err.splitlines()[0] == "goes on with job 8: 3 of 8 blocks are measured"
    assert "submitted" not in said.err
    assert "161.4   158.0 .. 164.9" in said.out


@pytest.mark.parametrize("command", [COMPARE, ("measure", "mixed")])
def test_a_fresh_command_starts_anew(
    stopped: Service, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    stopped.on(ANEW, {**COMPARE_QUEUED, "id": 9}, status=201)
    stopped.on("GET /v1/jobs/9", {**COMPARE_DONE, "id": 9})
    assert run(*command, "--fresh") == 0
    assert "job 9: submitted" in capsys.readouterr().err
    assert GOES_ON not in [call for call, _, _ in stopped.seen]


def test_in_a_service_of_its_own_a_command_keeps_its_job_and_cancels_the_others(
    own: Service,
) -> None:
    assert run(*COMPARE) == 0
    assert cancelled(own) == ["POST /v1/jobs/3/cancel", "POST /v1/jobs/4/cancel"]


def test_a_job_that_has_just_ended_needs_no_cancel(own: Service) -> None:
    own.problem("POST /v1/jobs/3/cancel", 409, "job 3 has succeeded")
    assert run(*COMPARE) == 0
    assert "POST /v1/jobs/4/cancel" in cancelled(own)


def test_in_a_service_that_runs_on_nothing_is_cancelled(stopped: Service) -> None:
    assert run(*COMPARE) == 0
    assert cancelled(stopped) == []


def test_a_mistake_in_a_command_costs_no_job_of_another(own: Service) -> None:
    own.problem(GOES_ON, 422, "mistakes", mistakes=[{"path": "arms", "message": "none"}])
    assert run(*COMPARE) == 2
    assert cancelled(own) == []


def test_a_file_that_a_stopped_command_has_tuned_is_not_tuned_again(
    own: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    own.on(TUNED, TUNE_DONE)
    own.on("GET /v1/jobs/7/recommendation", RECOMMENDATION)
    assert run(*TUNE_FIRST) == 0
    said = capsys.readouterr().err
    assert "an equal job has ended: takes the answer of job 7\n" in said
    assert "goes on with job 8: 3 of 8 blocks are measured\n" in said
    # The comparison lies after the tuning job, and is not cancelled for it.
    assert "POST /v1/jobs/8/cancel" not in cancelled(own)
    calls = [call for call, _, _ in own.seen]
    assert calls.index(GOES_ON) < calls.index("POST /v1/jobs/3/cancel")


def test_a_fresh_command_tunes_anew(stopped: Service) -> None:
    stopped.answers[ANEW] = [(201, TUNE_QUEUED), (201, COMPARE_QUEUED)]
    stopped.on("GET /v1/jobs/7", TUNE_DONE)
    stopped.on("GET /v1/jobs/7/recommendation", RECOMMENDATION)
    assert run(*TUNE_FIRST, "--fresh") == 0
    assert [sent["kind"] for sent in stopped.submitted()] == ["tune", "compare"]


def test_a_job_whose_host_cannot_go_on_is_made_anew_once(
    stopped: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "the job measures a:1, but on this host target app a is a:2"
    failure = {"code": "infrastructure", "message": message, "log_tail": ""}
    failed = {**COMPARE_RUNNING, "state": "failed", "failure": failure}
    stopped.on("GET /v1/jobs/8", COMPARE_RUNNING, failed)
    stopped.on(ANEW, {**COMPARE_QUEUED, "id": 9}, status=201)
    stopped.on("GET /v1/jobs/9", {**failed, "id": 9})
    assert run(*COMPARE) == 1
    said = capsys.readouterr().err
    assert said.index("target app a is a:2") < said.index("job 9: submitted")
    assert [call for call, _, _ in stopped.seen].count(ANEW) == 1


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("stopped", "job 8 continues; follow it with: tuner watch 8"),
        ("own", "the same command goes on with job 8"),
    ],
)
def test_ctrl_c_says_what_becomes_of_the_job(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    where: str,
    told: str,
) -> None:
    request.getfixturevalue(where)

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "watch", interrupted)
    assert run(*COMPARE) == 130
    assert f"{told}\n" in capsys.readouterr().err
