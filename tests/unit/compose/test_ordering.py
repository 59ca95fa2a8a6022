"""The order in which uWSGI reads files, options and variables, as `init` makes one file of them.

The expected values are those of uWSGI 2.0.31, which says with --show-config what it has read.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made
from tuner.nouns.model import DEFAULT_COMMAND

A = "[uwsgi]\nhttp-socket = :8000\nprocesses = 2\nthreads = 2\n"
B = "[uwsgi]\nprocesses = 3\n[app:main]\nuse = egg:shop\n"

Project = Callable[..., Path]


def started(project: Project, words: str, **environment: str) -> None:
    variables = ", ".join(f"{name}: '{value}'" for name, value in environment.items())
    fields = f"build: ., command: '{words}', environment: {{{variables}}}"
    folder = project(
        compose=f"services: {{web: {{{fields}}}}}",
        docker="FROM python:3.12\nWORKDIR /srv\nCOPY . /srv\n",
    )
    (folder / "a.ini").write_text(A)
    (folder / "b.ini").write_text(B)


@pytest.mark.parametrize(
    ("words", "processes"),
    [
        ("uwsgi a.ini --processes 4", 2),
        ("uwsgi --processes 4 a.ini", 2),
        ("uwsgi --ini a.ini --processes 4", 4),
        ("uwsgi --processes 4 --ini a.ini", 2),
        ("uwsgi --ini a.ini --ini b.ini", 3),
        ("uwsgi --ini b.ini --ini a.ini", 2),
        ("uwsgi a.ini b.ini", 3),
        ("uwsgi a.ini --ini b.ini", 2),
        ("uwsgi --ini a.ini --processes 4 --ini b.ini", 3),
        ("uwsgi --ini b.ini --ini a.ini --processes 4", 4),
    ],
)
def test_the_last_one_that_is_read_counts(project: Project, words: str, processes: int) -> None:
    started(project, words)
    found = made()
    set_ = [line for line in found.ini.splitlines() if line.startswith("processes")]
    assert set_[-1] == f"processes = {processes}"
    assert "{ini}" in found.app.command
    assert "b.ini" not in found.app.command
    assert "--processes" not in found.app.command


def test_an_option_that_the_file_overrides_is_named(project: Project) -> None:
    started(project, "uwsgi a.ini --processes 4")
    assert "it does nothing" in made().notes["compose.yml:1 --processes 4"]


def test_each_line_of_several_files_has_its_source(project: Project) -> None:
    started(project, "uwsgi --ini a.ini -p 4 --static-map /s=/srv/s --ini b.ini")
    found = made()
    lines = found.ini.splitlines()
    assert lines[:5] == ["[uwsgi]", "; a.ini", *A.splitlines()[1:]]
    assert lines[5:] == ["; compose.yml:1", "processes = 4", "; b.ini", "processes = 3"]
    assert found.app.command == (*DEFAULT_COMMAND, "--static-map", "/s=/srv/s")
    assert found.notes["uwsgi.ini"].endswith("a.ini and b.ini and the options of compose.yml:1")


@pytest.mark.parametrize("option", ["--ini-paste", "--ini-paste-logged"])
def test_a_file_that_is_the_app_too(project: Project, option: str) -> None:
    started(project, f"uwsgi {option} b.ini")
    found = made()
    assert found.app.command == DEFAULT_COMMAND
    lines = found.ini.splitlines()
    assert {"processes = 3", "paste = config:/srv/b.ini"} <= {*lines}
    assert ("paste-logger = true" in lines) is option.endswith("logged")
    assert lines.index("paste = config:/srv/b.ini") < lines.index("[app:main]")


def test_a_variable_counts_less_than_the_file(project: Project) -> None:
    started(project, "uwsgi --ini b.ini", UWSGI_PROCESSES="7", UWSGI_THREADS="5")
    notes = made().notes
    assert "the variable does nothing" in notes["web.env.UWSGI_PROCESSES"]
    assert notes["web.env.UWSGI_THREADS"].startswith("to do: uWSGI reads it as threads")
