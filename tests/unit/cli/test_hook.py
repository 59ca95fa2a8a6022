"""The pre-commit hook: which files of a commit it gives to `tuner lint`."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

_HOOKS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text()
)
(HOOK,) = _HOOKS


@pytest.mark.parametrize(
    "file",
    [
        *("uwsgi.ini", "deploy/uwsgi.ini", "uwsgi-prod.ini", "conf/uwsgi_params.prod.ini"),
        *("shop.uwsgi.ini", "etc/shop-uwsgi.ini", "uwsgi.yaml", "uwsgi.yml", "docker/uwsgi.xml"),
        *("uwsgi.json", "my_uwsgi.json", ".uwsgi.ini"),
    ],
)
def test_the_hook_takes_files_of_uwsgi(file: str) -> None:
    assert re.search(HOOK["files"], file)


@pytest.mark.parametrize(
    "file",
    [
        *("setup.ini", "uwsgi/app.py", "uwsgi/tox.ini", "uwsgi_params", "uwsgi.ini.j2", "uwsgi.md"),
        *("static/uwsgi.js", "package.json", "roles/uwsgi/tasks/main.yml", "uwsgi.conf"),
    ],
)
def test_the_hook_leaves_other_files_alone(file: str) -> None:
    assert not re.search(HOOK["files"], file)


def test_the_hook_runs_the_linter() -> None:
    assert HOOK["entry"] == "tuner lint"
