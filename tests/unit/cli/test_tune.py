"""`tuner tune --plan`: what a job will do, from the app's files alone."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import run
from tuner.targets.catalogue import own_data


@pytest.fixture(autouse=True)
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a service nor Docker can be reached."""
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a plan starts no service")

    monkeypatch.setattr("tuner.cli.following.started", refuse)


def test_a_plan_has_a_row_for_each_phase_and_its_sum(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tune", "mixed", "--preset", "quick", "--plan") == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told[:8]] == [
        *("phase", "calibrate", "search", "race", "confirm", "conditions", "scenes", "total"),
    ]
    assert told[1] == "calibrate             4        14 to 24      1.0 to 1.6"
    assert told[7] == "total                 5 to 52                1.2 to 25.9"
    assert told[9].startswith("16 min to 26 min, or less: 16 trials, 52 blocks;")


def test_a_plan_as_json_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tune", "mixed", "--plan", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(row["takes_s"] for row in found["phases"]) == pytest.approx(found["takes_s"])
    assert sum(row["blocks"] for row in found["phases"]) == found["blocks"]


def test_a_plan_of_a_folder_knows_the_search_spaces_of_the_product(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(own_data("target_apps") / "mixed", tmp_path / "mixed")
    assert run("tune", str(tmp_path / "mixed"), "--preset", "demo", "--plan") == 0
    assert "confirm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mixed", "--preset", "long", "--plan"), "budget.preset"),
        (("nowhere", "--plan"), "no folder with a target.yaml"),
        (("mixed", "--json"), "goes with --plan"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_starts(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("tune", *arguments) == 2
    assert said in capsys.readouterr().err
