"""`tuner measure` and `tuner calibrate` against a service that answers as a test says."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.answers import (
    CALIBRATE_DONE,
    CALIBRATE_QUEUED,
    COMPARE_DONE,
    COMPARE_QUEUED,
    COMPARE_RUNNING,
    PREFLIGHT,
    TARGET_APP_LIST,
    WINDOW_LIST,
)
from tests.unit.cli.conftest import Service, answer, run
from tuner.cli import following
from tuner.client import Client
from tuner.nouns.model import Limits
from tuner.nouns.schemas import JobAnswer

FAILED: dict[str, Any] = {
    **COMPARE_RUNNING,
    "state": "failed",
    "failure": {"code": "bad_options", "message": "uWSGI refuses it", "log_tail": "bad"},
}


@pytest.fixture
def measuring(service: Service) -> Service:
    """A service that measures."""
    service.on("GET /v1/target-apps", TARGET_APP_LIST)
    service.on("POST /v1/jobs?go_on=true", COMPARE_QUEUED, status=201)
    service.on("GET /v1/jobs/8", COMPARE_QUEUED, COMPARE_RUNNING, COMPARE_DONE)
    return service


@pytest.fixture
def ini(tmp_path: Path) -> str:
    file = tmp_path / "a.ini"
    file.write_text("[uwsgi]\n")
    return str(file)


def test_files_are_submitted_followed_and_printed(
    measuring: Service, ini: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("measure", "mixed", "--ini", ini, "--blocks", "4", "--cpus", "2") == 0
    sent = measuring.submitted()[0]
    assert sent["target"] == {"target_app": "mixed"}
    assert sent["arms"] == [{"name": "a.ini", "ini": "[uwsgi]\n"}]
    assert (sent["blocks"], sent["limits"]["cpus"]) == (4, 2.0)
    said = capsys.readouterr()
    assert "compare · 5 blocks left · about 1 min 21 s left" in said.err
    assert "161.4   158.0 .. 164.9" in said.out
    assert "+11.8 %" in said.out
    assert "threads.ini: bottleneck: all slots are busy" in said.out
    assert re.search(r"today\.ini +GET /cart +97 +0 +330\.0 +390\.1 +402\.5", said.out)
    assert "threads.ini: service postgres: CPU 62.0 %, throttled 4.0 %, 88 MB" in said.out


def test_the_box_of_the_command_line_is_sent_with_the_rest_of_the_targets_own(
    measuring: Service,
) -> None:
    box = ("--nofile", "1024", "--sysctl", "net.ipv4.tcp_syncookies=0")
    assert run("measure", "mixed", *box) == 0
    sent = Limits.model_validate(measuring.submitted()[0]["limits"])
    assert sent == Limits(nofile=1024, sysctls={"net.ipv4.tcp_syncookies": 0})


def test_steps_are_submitted_as_files_that_follow_each_other(
    measuring: Service, ini: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("measure", "mixed", "--step", ini, "--step", "+threads=4,listen=200") == 0
    sent = measuring.submitted()[0]
    assert sent["arms"][1]["ini"] == "[uwsgi]\nthreads = 4\nlisten = 200\n"
    assert sent["compare_with"] == "previous"
    said = capsys.readouterr().out
    assert re.search(r"threads\.ini +requests/s +\+11\.8 % .* real: better", said)
    assert "  +threads = 4" in said


def test_a_step_that_is_noise_or_was_not_measured_is_said_to_be(
    measuring: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = COMPARE_DONE["report"]["arms"]
    noise = {**second["step"], "verdict": "no_difference", "is_real": False}
    none = {**noise, "effects": [], "verdict": "inconclusive"}
    arms = [first, {**second, "step": noise}, {**second, "name": "broken.ini", "step": none}]
    measuring.on("GET /v1/jobs/8", {**COMPARE_DONE, "report": {"blocks": 8, "arms": arms}})
    assert run("measure", "mixed") == 0
    said = capsys.readouterr().out
    assert re.search(r"threads\.ini +requests/s +\+11\.8 % .* noise *\n", said)
    assert re.search(r"broken\.ini +too few blocks", said)


CURVES = [
    {
        "over": "processes",
        "at": {"cpus": cpus},
        "levels": [2, 4],
        "arms": ["today.ini", "threads.ini"],
        "enough": 2.0,
        "sentence": "more than 2 processes stop helping: the box's CPU is full",
    }
    for cpus in ("1", "2")
]


def test_a_grid_is_submitted_with_its_boxes_and_printed_as_a_curve_for_each(
    measuring: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    done = {**COMPARE_DONE, "report": {**COMPARE_DONE["report"], "curves": CURVES}}
    measuring.on("GET /v1/jobs/8", done)
    vary = ("--vary", "cpus=1,2", "--vary", "processes=2,4")
    assert run("measure", "mixed", *vary, "--memory-mb", "256") == 0
    sent = measuring.submitted()[0]
    assert sent["vary"] == ["cpus", "processes"]
    boxes = [(file["limits"]["cpus"], file["limits"]["memory_mb"]) for file in sent["arms"]]
    assert boxes == [(1, 256), (1, 256), (2, 256), (2, 256)]
    assert [file["ini"].count("processes = 4") for file in sent["arms"]] == [0, 1, 0, 1]
    said = capsys.readouterr().out
    assert re.search(r"cpus = 2 *\n.*\n +processes +requests/s +95 % interval", said)
    assert re.search(r"\n +4 +161\.4 +158\.0 \.\. 164\.9 +\+11\.8 % .* real: better", said)
    assert "cpus = 1: more than 2 processes stop helping: the box's CPU is full" in said
    assert "against today.ini" not in said


def test_every_mistake_of_steps_is_said_before_anything_is_measured(
    measuring: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("measure", "mixed", "--step", "+threads=2", "--step", "+treads=2") == 2
    said = capsys.readouterr().err
    assert "has no file before it" in said
    assert "did you mean threads?" in said
    assert run("measure", "shop:1", "--vary", "processes=2,4") == 2
    assert "give --ini" in capsys.readouterr().err
    assert not measuring.submitted()


def test_what_the_files_may_do_is_sent_and_what_is_left_out_is_said(
    measuring: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    measuring.on("GET /v1/jobs/8", {**COMPARE_DONE, "preflight": PREFLIGHT})
    assert run("measure", "mixed", "--allow", "network", "--allow", "code") == 0
    assert measuring.submitted()[0]["allow"] == ["network", "code"]
    said = capsys.readouterr().out
    assert "left out: trials go without cron (line 9): it starts programs" in said
    assert run("measure", "mixed", "--allow", "everything") == 2


def test_machines_get_the_answer_alone(
    measuring: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("measure", "mixed", "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == answer(JobAnswer, COMPARE_DONE)
    assert said.err == ""


def test_both_charts_go_into_one_file(measuring: Service, tmp_path: Path) -> None:
    measuring.on("GET /v1/jobs/8/windows", WINDOW_LIST)
    file = tmp_path / "charts.svg"
    assert run("measure", "mixed", "--svg", str(file)) == 0
    drawn = ElementTree.fromstring(file.read_text())  # noqa: S314  we wrote it ourselves
    assert drawn.tag.endswith("svg")
    assert len([child for child in drawn if child.tag.endswith("svg")]) == 2


def test_a_chart_that_cannot_be_written_is_said_before_anything_is_measured(
    measuring: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("measure", "mixed", "--svg", "/nowhere/charts.svg") == 2
    assert "no folder /nowhere" in capsys.readouterr().err
    assert measuring.seen == []


def test_the_report_and_the_rows_are_written_to_their_files(
    measuring: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measuring.on("GET /v1/jobs/8/report?format=html", "<!doctype html>\n")
    measuring.on("GET /v1/jobs/8/report?format=csv", "job,app\n")
    page, rows = tmp_path / "out.html", tmp_path / "rows.txt"
    assert run("measure", "mixed", "--report", str(page), "--csv", str(rows)) == 0
    assert page.read_text() == "<!doctype html>\n"
    assert rows.read_text() == "job,app\n"
    assert f"report: {page}\nreport: {rows}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [("--csv", "/nowhere/a.csv"), ("--report", "a.pdf"), ("--report", "/nowhere/a.md")]
)
def test_a_report_that_cannot_be_written_is_said_before_anything_is_measured(
    measuring: Service, option: tuple[str, str]
) -> None:
    assert run("measure", "mixed", *option) == 2
    assert measuring.seen == []


@pytest.mark.parametrize("arms", [2, 4])
def test_the_fewer_of_rungs_and_arms_are_the_columns(
    measuring: Service, arms: int, capsys: pytest.CaptureFixture[str]
) -> None:
    first = COMPARE_DONE["report"]["arms"][0]
    rung = {"requests": 9, "errors_by_class": {}, "bottleneck": "cpu_quota", "doubts": []}
    paths = ("/4k", "/8k", "/16k")
    figures = [{**first["figures"][0], "rung": path} for path in paths]
    own = {**first, "figures": figures, "rungs": [{**rung, "rung": path} for path in paths]}
    report = {"blocks": 8, "arms": [{**own, "name": f"arm-{n}"} for n in range(arms)]}
    measuring.on("GET /v1/jobs/8", {**COMPARE_DONE, "report": report})
    assert run("measure", "mixed") == 0
    heading = next(line for line in capsys.readouterr().out.splitlines() if "requests/s" in line)
    names = [f"arm-{n}" for n in range(arms)]
    assert heading.split()[1:] == (names if arms < len(paths) else [*paths])


def test_what_happened_at_a_rung_is_printed(
    measuring: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    first = COMPARE_DONE["report"]["arms"][0]
    died = {"code": "died", "message": "processes kept dying", "arm": 0, "log_tail": ""}
    rung = {
        "requests": 9,
        "errors_by_class": {"reset": 7},
        "bottleneck": "cpu_quota",
        "doubts": [],
        "failure": None,
    }
    rungs = [{**rung, "rung": 100}, {**rung, "rung": 10_000, "failure": died}]
    arm = {**first, "rungs": rungs, "failure": died}
    measuring.on("GET /v1/jobs/8", {**COMPARE_DONE, "report": {"blocks": 8, "arms": [arm]}})
    assert run("measure", "mixed") == 0
    said = capsys.readouterr().out
    assert "errors at 100 connections: 7 reset" in said
    assert "not measured from 10 000 connections on: died: processes kept dying" in said


def test_a_measurement_that_fails_says_why(
    measuring: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    measuring.on("GET /v1/jobs/8", FAILED)
    assert run("measure", "mixed") == 1
    assert "bad_options: uWSGI refuses it\n  | bad" in capsys.readouterr().err


def test_too_few_blocks_for_an_interval_are_said(
    measuring: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = {**COMPARE_DONE["report"]["arms"][0]["figures"][0]}
    figure |= {"ci_low": None, "ci_high": None}
    arm = {**COMPARE_DONE["report"]["arms"][0], "figures": [figure]}
    done = {**COMPARE_DONE, "report": {"blocks": 1, "arms": [arm]}}
    measuring.on("GET /v1/jobs/8", done)
    assert run("measure", "mixed") == 0
    said = capsys.readouterr().out
    assert "too few blocks" in said
    assert "against" not in said


def test_a_calibration_says_what_the_host_can_see(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("POST /v1/jobs", CALIBRATE_QUEUED, status=201)
    service.on("GET /v1/jobs/9", CALIBRATE_DONE)
    assert run("calibrate", "--pool", "default", "--priority", "nightly") == 0
    assert service.submitted()[0]["pool"] == "default"
    assert service.submitted()[0]["priority"] == "nightly"
    said = capsys.readouterr().out
    assert "smallest detectable effect in 20 minutes: 0.8 %" in said
    assert "99.9 % CI -1.1 % .. +1.5 %" in said


def test_a_bias_that_few_blocks_cannot_tell_is_said_without_an_interval(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {**CALIBRATE_DONE["calibration"], "smallest_bias": None}
    service.on("GET /v1/jobs/9", {**CALIBRATE_DONE, "calibration": found})
    assert run("show", "9") == 0
    said = capsys.readouterr().out
    assert "(too few blocks to tell a bias)" in said
    assert "99.9 %" not in said


def test_show_and_watch_find_what_is_no_tuning_job(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("GET /v1/jobs/8", COMPARE_DONE)
    service.on("GET /v1/jobs/9", CALIBRATE_DONE)
    assert run("show", "8") == 0
    assert "threads.ini: bottleneck" in capsys.readouterr().out
    assert run("watch", "9") == 0
    assert "smallest detectable effect in" in capsys.readouterr().out
    assert run("watch", "8", "--json") == 0
    assert json.loads(capsys.readouterr().out) == answer(JobAnswer, COMPARE_DONE)


def test_cancel_calls_off_a_job_of_any_kind(service: Service) -> None:
    service.on("GET /v1/jobs/8", COMPARE_RUNNING)
    service.on("POST /v1/jobs/8/cancel", {**COMPARE_RUNNING, "state": "cancelled"})
    assert run("cancel", "8") == 0


def test_a_service_that_was_named_is_never_replaced_by_one_of_our_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TUNER_URL", "http://127.0.0.1:1")
    assert run("measure", "mixed") == 5
    assert "nothing answers at http://127.0.0.1:1" in capsys.readouterr().err


def test_where_nobody_listens_the_command_runs_a_service_of_its_own(
    measuring: Service,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    folders = []

    @contextmanager
    def started(folder: Path) -> Iterator[Client]:
        folders.append(folder)
        with Client(measuring.url) as client:
            yield client

    monkeypatch.delenv("TUNER_URL")
    monkeypatch.setenv("TUNER_PORT", "1")
    monkeypatch.setenv("TUNER_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(following, "started", started)
    measuring.left()
    assert run("measure", "mixed") == 0
    assert folders == [tmp_path / "own"]
    assert "starting one for this command" in capsys.readouterr().err


def test_a_service_that_answers_at_the_usual_place_is_used(
    measuring: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TUNER_URL")
    monkeypatch.setenv("TUNER_PORT", measuring.url.rpartition(":")[2])
    assert run("measure", "mixed") == 0
    assert "its own" not in capsys.readouterr().err
