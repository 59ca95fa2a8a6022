"""`tuner lint --uwsgi`: for which uWSGI a file is checked, and where `auto` finds that."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import run

LATER = "[uwsgi]\nmodule = app\nmax-requests = 5000\nmax-requests-delta = 50\n"
ONLY = ("--rule", "U022")
NEWEST = "(the newest known: no file pins one, and none is on the PATH)"


@pytest.fixture
def ini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file two folders below the root of a repository, where the command runs; no uwsgi."""
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "deploy" / "shop"
    folder.mkdir(parents=True)
    (folder / "uwsgi.ini").write_text(LATER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Path("deploy/shop/uwsgi.ini")


def test_an_option_of_a_later_release_is_named_with_its_line(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("lint", str(ini), *ONLY, "--uwsgi", "2.0.23") == 1
    said = capsys.readouterr()
    assert f"{ini}:4: error U022 not-in-this-release: This option exists only from 2.0.29: " in (
        said.out
    )
    assert "your 2.0.23 ignores it" in said.out
    assert said.err == ""
    for version in ((), ("--uwsgi", "2.0.29"), ("--uwsgi", "2.0.40")):
        assert run("lint", str(ini), *ONLY, *version) == 0


def test_the_version_is_in_the_answer(ini: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("lint", str(ini), "--uwsgi", "2.0.25.1", "--format", "json")
    assert json.loads(capsys.readouterr().out)["uwsgi_version"] == "2.0.25.1"


def test_a_command_with_an_option_of_a_later_release_does_not_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = "uwsgi --http :8000 --max-requests-delta 5"
    assert run("lint", "--command", command, "--uwsgi", "2.0.28") == 2
    wanted = "--max-requests-delta exists only from 2.0.29: your 2.0.28 does not start with it"
    assert wanted in capsys.readouterr().err


@pytest.mark.parametrize("version", ["1.9", "2.0.14", "2.1", "newest", ""])
def test_a_version_that_is_not_known_is_bad_input(
    ini: Path, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("lint", str(ini), "--uwsgi", version) == 2
    assert f"--uwsgi: {version!r} is neither a 2.0 from 2.0.15 on nor auto" in (
        capsys.readouterr().err
    )


def test_an_image_says_its_version_itself(ini: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("lint", str(ini), "--uwsgi", "2.0.23", "--image", "shop:1") == 2
    assert "the image says which uWSGI it has" in capsys.readouterr().err


# ---- auto


def _assumed(ini: Path, capsys: pytest.CaptureFixture[str]) -> str:
    run("lint", str(ini), *ONLY, "--uwsgi", "auto")
    return capsys.readouterr().err.strip().removeprefix("checked for uWSGI ")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("Dockerfile", "FROM python:3.11\nRUN pip install 'uWSGI==2.0.23' flask\n", 2),
        (
            "Dockerfile.prod",
            "ARG UWSGI_VERSION=2.0.23\nRUN pip install uwsgi==${UWSGI_VERSION}\n",
            2,
        ),
        ("Dockerfile", 'ENV V="2.0.23"\nRUN pip install "pyuwsgi==$V"\n', 2),
        ("Dockerfile", "RUN apt-get install -y uwsgi=2.0.23-1\n", 1),
        ("requirements.txt", "flask\n# uWSGI==2.0.18\nuWSGI == 2.0.23 # for now\n", 3),
        ("requirements-prod.txt", "uwsgi[x]===2.0.23; sys_platform != 'win32'\n", 1),
        ("requirements.txt", "pyuwsgi==2.0.23.post0\n", 1),
        ("pyproject.toml", '[project]\ndependencies = [\n  "uwsgi==2.0.23",\n]\n', 3),
        ("pyproject.toml", '[tool.poetry.dependencies]\nuwsgi = "2.0.23"\n', 2),
        ("uv.lock", '[[package]]\nname = "uwsgi"\nversion = "2.0.23"\n', 3),
        ("poetry.lock", '[[package]]\nname = "uWSGI"\nversion = "2.0.23"\n', 3),
        ("Pipfile.lock", '{"default": {"uwsgi": {"index": "x",\n"version": "==2.0.23"}}}', 2),
    ],
)
def test_a_file_nearby_pins_the_version(
    ini: Path, name: str, text: str, line: int, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(text)
    assert _assumed(ini, capsys) == f"2.0.23 ({name}:{line})"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "uwsgi>=2.0.23\nuwsgi~=2.0.23\nuwsgi\nuwsgitop==0.12\n"),
        ("requirements.txt", "uwsgi==2.0.*\nmy-uwsgi==2.0.20\ndjango-uwsgi==2.0.20\n"),
        ("requirements.txt", "uwsgi==2.0.23rc1\n"),
        ("pyproject.toml", '[tool.poetry.dependencies]\nuwsgi = "^2.0.23"\n'),
        ("uv.lock", '[[package]]\nname = "uwsgitop"\nversion = "2.0.23"\n'),
        ("Dockerfile", "ARG OTHER=2.0.23\nRUN pip install uwsgi==$UWSGI\n"),
        ("Pipfile.lock", "no JSON"),
    ],
)
def test_what_is_no_pin_is_not_taken_for_one(
    ini: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(text)
    assert _assumed(ini, capsys) == f"2.0.31 {NEWEST}"


def test_the_nearest_folder_counts_and_in_it_what_runs(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("requirements.txt").write_text("uwsgi==2.0.20\n")
    Path("deploy/pyproject.toml").write_text('dependencies = ["uwsgi==2.0.21"]\n')
    assert _assumed(ini, capsys).startswith("2.0.21 (")
    Path("deploy/uv.lock").write_text('[[package]]\nname = "uwsgi"\nversion = "2.0.22"\n')
    assert _assumed(ini, capsys).startswith("2.0.22 (")
    Path("deploy/Dockerfile").mkdir()  # no file
    Path("deploy/shop/Dockerfile").write_text("RUN pip install uwsgi==2.0.24\n")
    assert _assumed(ini, capsys) == "2.0.24 (deploy/shop/Dockerfile:1)"


def test_what_is_above_the_repository_is_of_others(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("deploy/.git").touch()
    Path("requirements.txt").write_text("uwsgi==2.0.20\n")
    assert _assumed(ini, capsys) == f"2.0.31 {NEWEST}"


def test_without_a_pin_the_installed_one_counts(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = Path("bin/uwsgi")
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 2.0.21-debian\n")
    program.chmod(0o755)
    assert _assumed(ini, capsys) == "2.0.21-debian (uwsgi --version)"
    other = Path("other.ini")
    other.write_text(LATER)
    program.write_text("#!/bin/sh\necho asked >> asked\necho 2.0.21\n")
    run("lint", str(ini), str(other), *ONLY, "--uwsgi", "auto")
    assert Path("asked").read_text() == "asked\n"  # once for all files
    assert capsys.readouterr().err == "checked for uWSGI 2.0.21 (uwsgi --version)\n"
    program.write_text("#!/bin/sh\necho broken\n")
    assert _assumed(ini, capsys) == f"2.0.31 {NEWEST}"
    program.write_text("not to be run")
    assert _assumed(ini, capsys) == f"2.0.31 {NEWEST}"


def test_each_file_is_checked_for_the_version_near_it(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path("other/uwsgi.ini")
    other.parent.mkdir()
    other.write_text(LATER)
    Path("other/requirements.txt").write_text("uwsgi==2.0.29\n")
    Path("requirements.txt").write_text("uwsgi==2.0.28\n")
    words = (str(ini), str(other), *ONLY, "--uwsgi", "auto", "--format", "json")
    assert run("lint", *words) == 1
    said = capsys.readouterr()
    answers = json.loads(said.out)
    found = {file: (a["uwsgi_version"], len(a["findings"])) for file, a in answers.items()}
    assert found == {str(ini): ("2.0.28", 1), str(other): ("2.0.29", 0)}
    assert said.err.splitlines() == [
        "checked for uWSGI 2.0.28 (requirements.txt:1)",
        "checked for uWSGI 2.0.29 (other/requirements.txt:1)",
    ]


def test_a_pin_that_is_too_old_is_refused_with_its_place(
    ini: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("requirements.txt").write_text("uwsgi==2.0.14\n")
    assert "'2.0.14' from requirements.txt:1 is neither" in _assumed(ini, capsys)


def test_a_rule_for_some_versions_says_them_where_it_is_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("lint", "--explain", "U105") == 0
    assert "(note, fix: unsafe, uWSGI 2.0.29 and later)" in capsys.readouterr().out
    assert run("lint", "--explain", "U019") == 0
    assert "later" not in capsys.readouterr().out.partition("\n")[0]
