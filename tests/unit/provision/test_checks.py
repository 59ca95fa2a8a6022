import os
import re
import subprocess
from pathlib import Path

import pytest

from tuner.provision.for_tests import require_every_level
from tuner.provision.machine import StepFailed
from tuner.provision.recipes import CHECKOUT, COMMANDS


def test_the_makefile_has_every_command() -> None:
    text = (CHECKOUT / "Makefile").read_text().replace("\\\n", " ")
    listed = re.search(r"^COMMANDS = (.*)$", text, re.MULTILINE)
    assert listed is not None
    assert sorted(listed[1].split()) == sorted(COMMANDS)


def test_a_level_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="tests/unit: it holds no test"):
        require_every_level(tmp_path)


@pytest.mark.parametrize(
    ("said", "ends_with", "last"),
    [
        (["== 4270 passed in 200.10s (0:03:20) ==", "= 9 passed, 3 deselected in 2.05s ="], 0,
         "4279 passed, 0 failed, 0 skipped"),
        (["= 1 failed, 30 passed, 2 skipped in 1.25s =", "1 passed, 2 errors in 0.31s"], 2,
         "31 passed, 3 failed, 2 skipped"),
        (["the static checks failed, 3 passed in no time"], 2, "0 passed, 0 failed, 0 skipped"),
    ],
)  # fmt: skip
def test_ci_adds_up_all_runs_of_pytest_and_keeps_the_exit_code(
    tmp_path: Path, said: list[str], ends_with: int, last: str
) -> None:
    make = tmp_path / "make"
    make.write_text(
        "\n".join(["#!/bin/sh", *(f"echo '{line}'" for line in said), f"exit {ends_with}"])
    )
    make.chmod(0o755)
    done = subprocess.run(
        ["bash", str(CHECKOUT / ".ci" / "run")],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (ends_with, last)
