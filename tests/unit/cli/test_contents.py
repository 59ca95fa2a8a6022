"""`tuner --help` is a table of contents: quick, complete, one sentence a command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import run
from tuner.cli import COMMANDS, HIDDEN


def test_help_has_a_whole_sentence_for_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for name, (_, sentence) in COMMANDS.items():
        assert f"{name:<9}  {sentence}" in shown
        assert sentence.endswith(".")


@pytest.mark.parametrize("name", [*COMMANDS, *HIDDEN])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "--help") == 0
    assert f"Usage: tuner {name}" in capsys.readouterr().out


def test_init_imports_nothing_of_the_service(tmp_path: Path) -> None:
    (tmp_path / "compose.yml").write_text("services: {web: {image: a, command: uwsgi --socket :1}}")
    code = (
        "import sys, tuner.cli\n"
        "try: tuner.cli.main(['app', 'init', 'shop'])\n"
        "except SystemExit: pass\n"
        "slow = {'numpy', 'scipy', 'sklearn', 'fastapi', 'sqlalchemy', 'optuna', 'alembic'}\n"
        "print(sorted(slow & sys.modules.keys()))"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environ,
    )
    assert (tmp_path / "shop" / "target.yaml").is_file()
    assert done.stdout.endswith("\n[]\n")


def test_help_imports_nothing_that_is_slow() -> None:
    code = (
        "import sys, tuner.cli\n"
        "try: tuner.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "slow = {'pydantic', 'rich', 'httpx', 'yaml', 'numpy', 'scipy', 'sklearn', 'docker',"
        " 'fastapi', 'sqlalchemy', 'optuna'}\n"
        "print(sorted(slow & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")
