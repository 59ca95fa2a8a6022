"""`tuner recommend` against a service that answers as a test says."""

import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.answers import INI, RECOMMENDATION
from tests.unit.cli.conftest import Service, answer, run
from tuner.nouns.schemas import RecommendationAnswer

NEWEST = "GET /v1/apps/checkout/recommendation"


@pytest.fixture
def recommending(service: Service) -> Service:
    """A service with an answer for `checkout`."""
    service.on(NEWEST, RECOMMENDATION)
    service.on("GET /v1/jobs/7/uwsgi.ini?form=overlay", "[uwsgi]\nprocesses = 6\n")
    return service


def _deployed(folder: Path, text: str) -> str:
    file = folder / "uwsgi.ini"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("form", "text"), [("patched", INI), ("overlay", "[uwsgi]\nprocesses = 6\n")]
)
def test_it_prints_the_file_alone(
    recommending: Service, capsys: pytest.CaptureFixture[str], form: str, text: str
) -> None:
    assert run("recommend", "checkout", "--form", form) == 0
    said = capsys.readouterr()
    assert said.out == text
    assert "verdict: better" in said.err


def test_machines_get_the_answer_of_the_api(
    recommending: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("recommend", "checkout", "--json") == 0
    assert json.loads(capsys.readouterr().out) == answer(RecommendationAnswer, RECOMMENDATION)


@pytest.mark.parametrize(
    "written",
    [
        INI,
        f"; made by hand\n{INI}",
        INI.replace("processes = 6\nthreads = 2", "threads=2\n\nworkers=6"),
        INI.replace("processes = 6", "processes = 2\nprocesses = 6"),
    ],
)
def test_a_deployed_file_of_the_same_effect_is_fine(
    recommending: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    file = _deployed(tmp_path, written)
    assert run("recommend", "checkout", "--check", file) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"{file} has the same effect as the recommendation of job 7\n"


@pytest.mark.parametrize(("deployed", "code"), [(INI, 0), (f"{INI}harakiri = 9\n", 1)])
def test_an_answer_to_be_measured_again_says_so_and_keeps_the_exit_code(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str], deployed: str, code: int
) -> None:
    again = "measured with services on the app's CPU: measure again"
    service.on(NEWEST, {**RECOMMENDATION, "measure_again": again})
    assert run("recommend", "checkout", "--check", _deployed(tmp_path, deployed)) == code
    assert f"the answer of job 7 was {again}\n" in capsys.readouterr().err
    assert run("recommend", "checkout") == 0
    said = capsys.readouterr()
    assert again in said.err
    assert said.out == INI


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no `patch` here")
@pytest.mark.parametrize("ending", ["\n", ""])
def test_one_of_another_effect_gets_a_diff_that_patch_takes(
    recommending: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    file = _deployed(tmp_path, INI.replace("threads = 2\n", f"harakiri = 30{ending}"))
    assert run("recommend", "checkout", "--check", file) == 1
    said = capsys.readouterr()
    assert "  harakiri: 30 deployed, not set recommended" in said.err
    assert "  threads: not set deployed, 2 recommended" in said.err
    assert "-harakiri = 30\n" in said.out
    subprocess.run(["patch", "--silent", file], input=said.out.encode(), check=True)
    assert Path(file).read_text() == INI


def test_the_service_hears_what_a_check_found(recommending: Service, tmp_path: Path) -> None:
    call = "POST /v1/apps/checkout/checks"
    recommending.on(call, {}, status=201)  # an odd answer is no fault of the deployed file
    other = INI.replace("processes = 6", "processes = 2")
    for text, code in ((other, 1), (INI, 0)):
        assert run("recommend", "checkout", "--check", _deployed(tmp_path, text)) == code
    sent = [json.loads(body) for seen, _, body in recommending.seen if seen == call]
    assert [(each["checker"], each["job"], each["holds"]) for each in sent] == [
        ("recommend", 7, False),
        ("recommend", 7, True),
    ]
    assert sent[0]["said"] == "processes: 2 deployed, 6 recommended"


def test_the_deployed_overlay_is_held_against_the_overlay(
    recommending: Service, tmp_path: Path
) -> None:
    file = _deployed(tmp_path, "[uwsgi]\nworkers = 6\n")
    assert run("recommend", "checkout", "--form", "overlay", "--check", file) == 0
    assert run("recommend", "checkout", "--check", file) == 1


def test_a_check_for_machines_is_one_document(
    recommending: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _deployed(tmp_path, INI.replace("processes = 6", "processes = 2"))
    assert run("recommend", "checkout", "--check", file, "--json") == 1
    said = capsys.readouterr()
    found: dict[str, Any] = json.loads(said.out)
    assert said.err == ""
    assert (found["job"], found["verdict"], found["same_effect"]) == (7, "better", False)
    assert found["differences"] == [
        {"option": "processes", "deployed": ["2"], "recommended": ["6"]}
    ]
    assert "+processes = 6" in found["diff"]
    assert run("recommend", "checkout", "--check", _deployed(tmp_path, INI), "--json") == 0
    assert json.loads(capsys.readouterr().out)["same_effect"] is True


def test_the_deployed_file_may_come_on_standard_input(
    recommending: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(INI.encode())))
    assert run("recommend", "checkout", "--check", "-") == 0


@pytest.mark.parametrize(("status", "code"), [(404, 3), (410, 3), (409, 4), (422, 2), (503, 5)])
def test_none_and_too_old_are_alike_to_a_pipeline(
    service: Service, capsys: pytest.CaptureFixture[str], status: int, code: int
) -> None:
    asked = f"{NEWEST}?max_age_days=30.0&require=better"
    service.problem(asked, status, "that is why")
    arguments = ("--max-age-days", "30", "--require", "better")
    assert run("recommend", "checkout", *arguments) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert "that is why" in said.err


@pytest.mark.parametrize("content", [None, b"\xff\xfe["])
def test_a_deployed_file_that_cannot_be_read_is_bad_input_before_anything_is_asked(
    service: Service, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "uwsgi.ini"
    if content is not None:
        file.write_bytes(content)
    assert run("recommend", "checkout", "--check", str(file)) == 2
    assert not service.seen
