"""`tuner spaces`: from the folders of this machine to lines that people read."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.conftest import run
from tuner.nouns.model import Limits
from tuner.targets.catalogue import HostCatalogue

JOB: dict[str, Any] = {
    "app": "shop",
    "target": {"target_app": "cpu-bound"},
    "objective": {"minimize": "memory_mb"},
    "workload": {"kind": "open_loop", "rate_rps": 20},
}
Captured = pytest.CaptureFixture[str]


def shown(capsys: Captured, *arguments: str) -> str:
    assert run("spaces", *arguments) == 0
    return capsys.readouterr().out


def as_json(capsys: Captured, *arguments: str) -> Any:
    return json.loads(shown(capsys, *arguments, "--json"))


def refused(capsys: Captured, code: int, *arguments: str) -> str:
    assert run("spaces", *arguments) == code
    return capsys.readouterr().err


@pytest.fixture
def job(tmp_path: Path) -> str:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(JOB))
    return str(file)


def test_all_spaces_are_listed_with_what_they_are_for(capsys: Captured) -> None:
    lines = shown(capsys).splitlines()
    known = HostCatalogue.load().spaces
    assert [line.split()[0] for line in lines] == sorted(known)
    assert "http-router   For apps behind uWSGI's own http router" in "\n".join(lines)


def test_the_list_is_json_too(capsys: Captured) -> None:
    assert run("spaces", "--json") == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first["name"] == "behind-nginx"
    assert "listen" in first["parameters"]


def test_a_space_alone_is_shown_as_it_is_written(capsys: Captured) -> None:
    text = shown(capsys, "show", "static")
    assert "offload-threads: 0 .. ceil(cpus) + 1; if not recycles" in text
    assert "has_static (if not: the file has no static-map" in text


def test_bounds_are_those_of_the_app_and_its_box(capsys: Captured) -> None:
    text = shown(capsys, "show", "default", "--app", "mixed")
    assert "for mixed: 1 CPU, 512 MB, somaxconn 4096" in text
    assert "processes: 2 .. 16 on a log scale; the file has 2" in text
    assert "writes threads = VALUE" in text
    assert "errors-only writes disable-logging = true | log-4xx = true | log-5xx = true" in text
    assert "listen stays 100" in text
    assert "processes = 4 | threads = 2 | disable-logging = true" in text
    assert "224 valid combinations" in text


def test_other_limits_give_other_bounds(capsys: Captured) -> None:
    found = as_json(
        capsys,
        *("show", "default", "--app", "mixed"),
        *("--cpus", "0.5", "--memory", "64", "--somaxconn", "128"),
    )
    assert Limits.model_validate(found["limits"]) == Limits(cpus=0.5, memory_mb=64, somaxconn=128)
    assert found["parameters"][0]["high"] == 4  # 85 % of 64 MB at 12 MB each


def test_a_file_takes_the_place_of_the_apps_own(capsys: Captured, tmp_path: Path) -> None:
    ini = tmp_path / "uwsgi.ini"
    ini.write_text("[uwsgi]\nhttp = :8000\nprocesses = 7\n")
    found = as_json(capsys, "show", "http-router", "--app", "mixed", "--ini", str(ini))
    assert found["parameters"][0]["users"] == 7


def test_a_file_alone_is_enough_but_says_nothing_of_threads(
    capsys: Captured, tmp_path: Path
) -> None:
    ini = tmp_path / "uwsgi.ini"
    ini.write_text("[uwsgi]\nhttp-socket = :8000\n")
    text = shown(capsys, "show", "default", "--ini", str(ini), "--cpus", "2")
    assert "threads stays 1: searched only where thread_safe" in text


def test_a_job_brings_its_load_and_its_aim(capsys: Captured, job: str) -> None:
    text = shown(capsys, "show", "cheaper", "--job", job)
    assert "cheaper: 0, 1, 2, 4, 7; the file has 0" in text
    assert "cheaper must be below processes, or uWSGI exits" in text


def test_a_space_that_does_not_fit_says_what_is_missing(capsys: Captured) -> None:
    told = refused(capsys, 2, "show", "http-router", "--app", "mixed")
    assert "the file has no `http`, so there is no router to tune" in told


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("show", "nowhere"), 3, "there is no search space 'nowhere'; choose from"),
        (("show", "default", "--app", "nowhere"), 2, "unknown target app 'nowhere'"),
        (("show", "default", "--cpus", "2"), 2, "limits need an app"),
        (("show", "default", "--app", "mixed", "--cpus", "0"), 2, "--cpus"),
        (("show", "default", "--app", "mixed", "--ini", "absent.ini"), 2, "absent.ini: No such"),
        (("show", "default", "--job", "absent.yaml"), 2, "absent.yaml: No such"),
    ],
)
def test_what_cannot_be_shown_says_why(
    capsys: Captured, arguments: tuple[str, ...], code: int, message: str
) -> None:
    assert message in refused(capsys, code, *arguments)


def test_a_job_names_its_own_target(capsys: Captured, job: str) -> None:
    told = refused(capsys, 2, "show", "default", "--job", job, "--app", "mixed")
    assert "the job names its own target" in told
