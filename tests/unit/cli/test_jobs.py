import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from tests.answers import COMPARE_DONE, RECOMMENDATION, TUNE_QUEUED, TUNE_RUNNING
from tests.unit.cli.conftest import Service, answer, run
from tuner.cli import printing
from tuner.nouns.schemas import CalibrationAnswer, JobAnswer

DONE: dict[str, Any] = {**TUNE_RUNNING, "state": "succeeded", "phase": "done"}
FAILED: dict[str, Any] = {
    **TUNE_RUNNING,
    "state": "failed",
    "failure": {
        "code": "app_failed",
        "message": "its import failed",
        "arm": 0,
        "log_tail": "a\nBoom",
    },
}


@pytest.fixture
def job_file(tmp_path: Path) -> str:
    file = tmp_path / "job.yaml"
    file.write_text("app: checkout\ntarget: {target_app: mixed}\n")
    return str(file)


def test_submit_sends_the_document_and_says_what_it_is_queued_behind(
    service: Service, job_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("POST /v1/jobs", TUNE_QUEUED, status=201)
    assert run("submit", job_file) == 0
    assert "job 7: submitted, queued behind 1 job" in capsys.readouterr().err
    sent = json.loads(service.seen[0][2])
    assert sent == {"app": "checkout", "target": {"target_app": "mixed"}}


@pytest.mark.parametrize("text", ['{\n\t"app": "checkout"}', "{app: checkout}", "app: checkout"])
def test_submit_reads_json_and_yaml_from_standard_input(
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
) -> None:
    service.on("POST /v1/jobs", TUNE_QUEUED, status=201)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run("submit", "-", "--json") == 0
    assert json.loads(service.seen[0][2]) == {"app": "checkout"}
    assert json.loads(capsys.readouterr().out)["id"] == 7


def test_a_file_of_urls_beside_the_job_is_sent_as_requests(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("POST /v1/jobs", TUNE_QUEUED, status=201)
    (tmp_path / "urls.txt").write_text("# what people do\nhttps://example.org/a\nPOST /b\n")
    job = tmp_path / "job.yaml"
    job.write_text("workload: {kind: journey, requests: {file: urls.txt}}\n")

    assert run("submit", str(job)) == 0
    sent = json.loads(service.seen[0][2])
    assert sent["workload"]["requests"] == [{"path": "/a"}, {"path": "/b", "method": "POST"}]

    (tmp_path / "urls.txt").write_text("a\n")
    assert run("submit", str(job)) == 2
    assert "urls.txt: line 1: a path starts with '/'" in capsys.readouterr().err


def test_submit_and_wait_shows_the_course_and_the_answer(
    service: Service, job_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("POST /v1/jobs", TUNE_QUEUED, status=201)
    service.on("GET /v1/jobs/7", TUNE_QUEUED, TUNE_RUNNING, TUNE_RUNNING, DONE)
    service.on("GET /v1/jobs/7/recommendation", RECOMMENDATION)
    assert run("submit", job_file, "--wait") == 0
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if line]
    assert lines[1:] == [
        "8 min to 13 min, or less: 16 trials, 34 blocks; up to 2 arms at once,"
        " with 1.0 GB of memory",
        f"watch it at {service.url}/jobs/7",
        "queued behind 1 job",
        "baseline: 161.4 requests per second; smallest detectable effect: 0.9 %",
        "search · trial 5 of 16 · best so far +12.0 % (trial 3) · about 7 min 01 s left",
        "job 7 succeeded",
    ]
    assert "verdict: better: +11.8 % requests per second (95 % CI +9.4 % .. +14.3 %)" in said.out
    assert "  processes  2 -> 6" in said.out
    assert "bottleneck: all slots are busy" in said.out
    assert said.out.endswith(RECOMMENDATION["uwsgi_ini"])


def test_a_job_says_early_what_it_will_not_be_able_to_see() -> None:
    known = TypeAdapter(CalibrationAnswer).validate_python(TUNE_RUNNING["calibration"])
    assert printing.sight(known).endswith("smallest detectable effect: 0.9 %")
    coarse = replace(known, mde=0.2, resolves_min_effect=False)
    assert "20.0 %, more than min_effect: use a quieter host" in printing.sight(coarse)


def test_a_job_that_ends_in_keep_is_a_success(service: Service) -> None:
    service.on("GET /v1/jobs/7", DONE)
    service.on(
        "GET /v1/jobs/7/recommendation", {**RECOMMENDATION, "verdict": "no_difference", "lines": []}
    )
    assert run("watch", "7") == 0


def test_a_failed_job_prints_reason_and_log_and_exits_1(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("GET /v1/jobs/7", FAILED)
    assert run("watch", "7") == 1
    assert "app_failed: its import failed\n  | a\n  | Boom" in capsys.readouterr().err


def test_watching_outlives_a_restart_of_the_service(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    away = {"detail": "postgresql is away: no", "system": "postgresql"}
    service.answers["GET /v1/jobs/7"] = [(200, TUNE_RUNNING), (503, away), (200, DONE)]
    service.on("GET /v1/jobs/7/recommendation", RECOMMENDATION)
    assert run("watch", "7") == 0
    assert "waiting: postgresql is away: no" in capsys.readouterr().err


def test_watch_for_machines_prints_one_document(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("GET /v1/jobs/7", TUNE_RUNNING, FAILED)
    assert run("watch", "7", "--json") == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == {"job": answer(JobAnswer, FAILED), "recommendation": None}
    assert said.err == ""


def test_show_prints_where_a_job_stands(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("GET /v1/jobs/7", TUNE_RUNNING)
    assert run("show", "7") == 0
    said = capsys.readouterr().out
    assert "job 7 · checkout" in said
    assert "smallest detectable effect: 0.9 %" in said


@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_show_writes_the_report_in_the_form_of_its_file(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    service.on("GET /v1/jobs/7", DONE)
    service.on("GET /v1/jobs/7/recommendation", RECOMMENDATION)
    service.on(f"GET /v1/jobs/7/report?format={form}", "größer\n")
    file = tmp_path / f"out.{form.upper()}"
    assert run("show", "7", "--report", str(file)) == 0
    assert file.read_text(encoding="utf-8") == "größer\n"
    said = capsys.readouterr()
    assert said.err == f"report: {file}\n"
    assert "verdict: better" in said.out


def test_show_prints_the_report_as_markdown_alone(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("GET /v1/jobs/7", DONE)
    service.on("GET /v1/jobs/7/recommendation", RECOMMENDATION)
    service.on("GET /v1/jobs/7/report?format=md", "## better\n")
    assert run("show", "7", "--report", "-") == 0
    assert capsys.readouterr().out == "## better\n"


@pytest.mark.parametrize(
    "arguments", [("out.pdf",), ("out",), ("/nowhere/out.html",), ("-", "--json")]
)
def test_a_report_that_could_not_be_written_is_bad_input_before_anything_is_asked(
    service: Service, arguments: tuple[str, ...]
) -> None:
    assert run("show", "7", "--report", *arguments) == 2
    assert not service.seen


def test_a_job_without_an_answer_has_no_report(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("GET /v1/jobs/7", TUNE_RUNNING)
    service.problem("GET /v1/jobs/7/report?format=html", 409, "job 7 is still in phase search")
    file = tmp_path / "out.html"
    assert run("show", "7", "--report", str(file)) == 4
    assert not file.exists()
    assert "still in phase search" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["html", "csv"])
def test_a_comparison_has_a_report_too(service: Service, tmp_path: Path, form: str) -> None:
    service.on("GET /v1/jobs/8", COMPARE_DONE)
    service.on(f"GET /v1/jobs/8/report?format={form}", "<!doctype html>\n")
    file = tmp_path / f"out.{form}"
    assert run("show", "8", "--report", str(file)) == 0
    assert file.read_text() == "<!doctype html>\n"


def test_a_form_that_the_kind_of_job_does_not_have_is_refused_with_those_that_it_has(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("GET /v1/jobs/8", COMPARE_DONE)
    refusal = "job 8 is of kind calibrate, whose report is no csv: ask for format=json"
    service.problem("GET /v1/jobs/8/report?format=csv", 406, refusal)
    assert run("show", "8", "--report", str(tmp_path / "out.csv")) == 2
    assert refusal in capsys.readouterr().err


def test_cancel_says_what_became_of_the_job(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("GET /v1/jobs/7", TUNE_RUNNING)
    service.on("POST /v1/jobs/7/cancel", {**TUNE_RUNNING, "state": "cancelled"})
    assert run("cancel", "7") == 0
    assert capsys.readouterr().out == "job 7 is cancelled\n"


def test_finish_says_where_the_job_is(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    service.on("POST /v1/jobs/7/finish", TUNE_RUNNING)
    assert run("finish", "7") == 0
    assert capsys.readouterr().out.startswith("job 7 finishes")


def test_delete_asks_first(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    service.on("DELETE /v1/jobs/7", "", status=204)
    assert run("delete", "7") == 1  # nobody answers
    assert service.seen == []
    assert run("delete", "7", "--yes") == 0
    assert capsys.readouterr().out.endswith("job 7 is deleted\n")


@pytest.mark.parametrize(
    ("status", "more", "code"),
    [
        (422, {"mistakes": [{"path": "app", "message": "unknown field"}]}, 2),
        (413, {}, 2),
        (401, {}, 2),
        (404, {}, 3),
        (409, {}, 4),
        (410, {}, 4),
        (503, {"system": "postgresql"}, 5),
        (500, {}, 5),
    ],
)
def test_each_problem_has_its_exit_code(
    service: Service,
    capsys: pytest.CaptureFixture[str],
    status: int,
    more: dict[str, Any],
    code: int,
) -> None:
    service.problem("GET /v1/jobs/7", status, "that is why", **more)
    assert run("show", "7") == code
    said = capsys.readouterr()
    assert said.out == ""
    assert ("app: unknown field" if status == 422 else "that is why") in said.err


def test_what_is_not_the_tuner_is_said(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    service.on("GET /v1/jobs/7", "<html>hello</html>")
    assert run("show", "7") == 5
    assert "is not the tuner" in capsys.readouterr().err


def test_without_a_service_it_says_how_to_start_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TUNER_URL", "http://127.0.0.1:1")
    assert run("show", "7") == 5
    assert "start it with `tuner serve`, or set TUNER_URL" in capsys.readouterr().err


def test_a_misspelt_setting_is_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TUNER_PROT", "1")
    assert run("show", "7") == 2
    assert "the nearest is TUNER_PORT" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["a: [", "{", "when: 2026-01-01", "x: .nan", "\udcff"])
def test_a_file_that_holds_no_job_is_bad_input(service: Service, tmp_path: Path, text: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert run("submit", str(file)) == 2
    assert run("submit", str(tmp_path / "missing.yaml")) == 2
    assert not service.seen


def test_the_key_goes_along(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNER_API_KEY", "secret")
    service.on("GET /v1/jobs/7", TUNE_RUNNING)
    run("show", "7")
    assert {k.lower(): v for k, v in service.seen[0][1].items()}["x-api-key"] == "secret"


@pytest.mark.parametrize("arguments", [("show", "x"), ("show", "0"), ("nonsense",), ("submit",)])
def test_wrong_arguments_are_bad_input(arguments: tuple[str, ...]) -> None:
    assert run(*arguments) == 2
