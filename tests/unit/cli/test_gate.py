"""`tuner gate` against a service that answers as a test says."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.answers import (
    COMPARE_CANCELLED,
    COMPARE_DONE,
    COMPARE_QUEUED,
    COMPARE_RUNNING,
    EFFECT,
    INI,
    RECOMMENDATION,
)
from tests.unit.cli.conftest import Service, run
from tuner.cli.gate import block_s
from tuner.nouns.model import Ladder
from tuner.nouns.schemas import RecommendationAnswer

IMAGE = "registry.example/checkout:1.5"
NEWEST = "GET /v1/apps/checkout/recommendation"
CHECKS = "POST /v1/apps/checkout/checks"
ARMS = COMPARE_DONE["report"]["arms"]


@pytest.fixture
def gating(service: Service) -> Service:
    """A service with an answer for `checkout`, which measures."""
    found = {**RECOMMENDATION, "circumstances": {**RECOMMENDATION["circumstances"], "slo": {}}}
    service.on(NEWEST, found)
    service.on("POST /v1/jobs", COMPARE_QUEUED, status=201)
    _ends(service, _done())
    return service


def _ends(service: Service, job: dict[str, Any]) -> None:
    service.on("GET /v1/jobs/8", COMPARE_QUEUED, COMPARE_RUNNING, job)


def _done(low: float = 0.094, high: float = 0.143, **arm: Any) -> dict[str, Any]:
    effect = {**EFFECT, "estimate": (low + high) / 2, "ci_low": low, "ci_high": high}
    other = {**ARMS[1], "name": "recommended.ini", "effects": [effect], **arm}
    return {**COMPARE_DONE, "report": {"blocks": 8, "arms": [ARMS[0], other]}}


def _failed(code: str) -> dict[str, Any]:
    error = {"code": code, "message": "that is why", "log_tail": "Boom"}
    return {**COMPARE_RUNNING, "state": "failed", "failure": error}


def _sent(service: Service) -> dict[str, Any]:
    (sent,) = service.submitted()
    return sent


def test_a_round_of_a_ladder_takes_a_start_for_each_rung() -> None:
    found = RecommendationAnswer.model_validate(RECOMMENDATION)
    ladder = Ladder(kind="ladder", concurrencies=(10, 100, 1_000))
    asked = found.circumstances
    over = found.model_copy(update={"circumstances": asked.model_copy(update={"workload": ladder})})
    start_s = 2 * (asked.target.start_s + asked.warmup_s)
    assert block_s(over) == pytest.approx(block_s(found) + 2 * start_s)
    unknown = {"calibration": None}
    assert block_s(over.model_copy(update=unknown)) == pytest.approx(
        3 * block_s(found.model_copy(update=unknown))
    )


def test_a_round_counts_the_start_of_services() -> None:
    alone = RecommendationAnswer.model_validate({**RECOMMENDATION, "calibration": None})
    asked = alone.circumstances
    services = {"db": {"image": "postgres:17"}}
    target = type(asked.target).model_validate({**asked.target.model_dump(), "services": services})
    backed = alone.model_copy(update={"circumstances": asked.model_copy(update={"target": target})})
    assert block_s(backed) == pytest.approx(block_s(alone) + 2 * 3.0)


def test_the_jobs_circumstances_are_measured_on_the_new_image(
    gating: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("gate", "checkout", "--image", IMAGE, "--time", "5m") == 0
    sent, asked = _sent(gating), RECOMMENDATION["circumstances"]
    assert sent["app"] == "checkout"
    assert sent["target"]["image"] == IMAGE
    assert sent["target"]["health_path"] == "/healthz"
    assert sent["target"]["command"] == ["uwsgi", "--ini", "{ini}"]
    assert "target_app" not in sent["target"]
    assert sent["target"]["ini_path"] is None
    assert [(one["name"], one["ini"]) for one in sent["arms"]] == [
        ("own.ini", asked["baseline_ini"]),
        ("recommended.ini", INI),
    ]
    assert sent["limits"] == asked["limits"]
    assert sent["workload"]["concurrency"] == asked["workload"]["concurrency"]
    assert sent["blocks"] == 18  # 300 s of 16.2 s each
    assert (sent["window_s"], sent["cycles"], sent["pool"]) == (2.5, 2, "default")
    said = capsys.readouterr()
    assert "against the recommendation of job 7: 18 blocks\n" in said.err
    assert "smallest margin that these blocks resolve: 0.8 %" in said.err
    assert "compare · 5 blocks left" in said.err
    assert said.out.splitlines() == [
        "holds: the interval excludes a loss of 2 %; "
        "no more of its requests fail than of your own file's",
        "+11.8 % requests per second (95 % CI +9.4 % .. +14.3 %), 8 interleaved blocks",
        "in job 7: +11.8 % requests per second (95 % CI +9.4 % .. +14.3 %)",
    ]


def test_a_budget_that_is_too_short_for_the_margin_says_what_does(
    gating: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--time", "10s", "--margin", "0.5%")
    assert run("gate", "checkout", "--image", IMAGE, *arguments) == 0
    assert _sent(gating)["blocks"] == 4
    said = capsys.readouterr().err
    assert "too few blocks for a margin of 0.5 %: " in said
    assert "min" in said


def test_both_files_run_with_the_kernel_settings_that_were_recommended(gating: Service) -> None:
    setting = {"option": "net.ipv4.tcp_syncookies", "value": "0", "baseline_value": None}
    lines = [*RECOMMENDATION["lines"], {**setting, "effect": None}]
    gating.on(NEWEST, {**RECOMMENDATION, "lines": lines})
    run("gate", "checkout", "--image", IMAGE)
    limits = RECOMMENDATION["circumstances"]["limits"]
    assert _sent(gating)["limits"] == {**limits, "sysctls": {"net.ipv4.tcp_syncookies": 0}}


@pytest.mark.parametrize(
    ("low", "high", "arguments", "code", "word"),
    [
        (-0.09, -0.05, (), 1, "does not hold: "),
        (-0.09, -0.05, ("--margin", "10%"), 0, "holds: "),
        (-0.09, -0.05, ("--margin", "0.1"), 0, "holds: "),
        (-0.09, 0.05, (), 1, "inconclusive: "),
        (-0.09, 0.05, ("--allow-inconclusive",), 0, "inconclusive: "),
        (-0.09, -0.05, ("--allow-inconclusive",), 1, "does not hold: "),
    ],
)
def test_the_exit_code_is_the_answer(
    gating: Service,
    capsys: pytest.CaptureFixture[str],
    low: float,
    high: float,
    arguments: tuple[str, ...],
    code: int,
    word: str,
) -> None:
    _ends(gating, _done(low, high))
    assert run("gate", "checkout", "--image", IMAGE, *arguments) == code
    assert capsys.readouterr().out.startswith(word)


def test_a_file_that_does_not_start_there_says_why(
    gating: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    error = {"code": "bad_options", "message": "it refuses `x`", "log_tail": "unrecognized option"}
    _ends(gating, _done(effects=[], failure=error))
    assert run("gate", "checkout", "--image", IMAGE) == 1
    said = capsys.readouterr().out
    assert said.startswith("does not hold: the recommended file does not run on it: bad_options")
    assert "  | unrecognized option" in said


@pytest.mark.parametrize(
    ("job", "code", "words"),
    [
        (_failed("app_failed"), 1, "your own file does not run on it"),
        (_failed("image_missing"), 2, "--image: that is why"),
        (_failed("infrastructure"), 5, "the benchmark host is away: that is why"),
        (COMPARE_CANCELLED, 4, "job 8 was cancelled"),
    ],
)
def test_what_is_not_the_files_fault_is_told_apart(
    gating: Service,
    capsys: pytest.CaptureFixture[str],
    job: dict[str, Any],
    code: int,
    words: str,
) -> None:
    _ends(gating, job)
    assert run("gate", "checkout", "--image", IMAGE) == code
    said = capsys.readouterr()
    assert words in said.out + said.err


def test_a_recommendation_to_keep_the_file_is_only_seen_to_run(
    gating: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {**RECOMMENDATION["circumstances"], "slo": {}}
    keep = {**RECOMMENDATION, "verdict": "no_difference", "uwsgi_ini": asked["baseline_ini"]}
    gating.on(NEWEST, {**keep, "circumstances": asked})
    alone = {**COMPARE_DONE, "files": ["recommended.ini"]}
    _ends(gating, {**alone, "report": {"blocks": 4, "arms": [ARMS[0]]}})
    assert run("gate", "checkout", "--image", IMAGE, "--time", "1h") == 0
    sent = _sent(gating)
    assert [one["name"] for one in sent["arms"]] == ["recommended.ini"]
    assert sent["blocks"] == 4
    said = capsys.readouterr()
    assert "the gate only checks that it runs" in said.err
    assert "holds: it is your present file" in said.out


def test_machines_get_one_document(gating: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gate", "checkout", "--image", IMAGE, "--json") == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert said.err == ""
    assert (found["outcome"], found["image"], found["blocks"]) == ("holds", IMAGE, 8)
    assert (found["job"], found["comparison"]) == (7, 8)
    assert found["margins"]["effect"] == 0.02
    assert found["effect"]["ci_low"] == 0.094


def test_a_file_that_has_drifted_is_said_before_anything_is_measured(
    gating: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "uwsgi.ini"
    file.write_text(INI.replace("processes = 6", "processes = 2"))
    assert run("gate", "checkout", "--image", IMAGE, "--check", str(file)) == 1
    assert "+processes = 6" in capsys.readouterr().out
    assert [call for call, _, _ in gating.seen] == [NEWEST, CHECKS]
    file.write_text(INI)
    assert run("gate", "checkout", "--image", IMAGE, "--check", str(file)) == 0


@pytest.mark.parametrize(("status", "code"), [(404, 3), (410, 3)])
def test_without_a_recommendation_there_is_nothing_to_gate(
    service: Service, status: int, code: int
) -> None:
    service.problem(f"{NEWEST}?max_age_days=90.0", status, "there is none")
    arguments = ("--image", IMAGE, "--max-age-days", "90")
    assert run("gate", "checkout", *arguments) == code


@pytest.mark.parametrize(
    "arguments",
    [
        ("--time", "5"),
        ("--time", "soon"),
        ("--margin", "200%"),
        ("--margin", "0"),
        ("--margin", "nan"),
        ("--p95-margin", "x"),
    ],
)
def test_what_makes_no_sense_is_bad_input_before_anything_is_asked(
    gating: Service, arguments: tuple[str, ...]
) -> None:
    assert run("gate", "checkout", "--image", IMAGE, *arguments) == 2
    assert not gating.seen
