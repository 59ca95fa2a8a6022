"""A shell completes commands, and the options of a command whose module is imported only then."""

import os
import subprocess
import sys

import pytest


def completed(line: str, shell: str) -> list[str]:
    words = {"_TYPER_COMPLETE_ARGS": line, "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    env = {**os.environ, **words, "_TUNER_COMPLETE": f"complete_{shell}"}
    if shell == "fish":
        env["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    done = subprocess.run(
        [sys.executable, "-m", "tuner.cli"], env=env, capture_output=True, text=True, check=False
    )
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_commands_and_their_options_are_completed(shell: str) -> None:
    assert {"doctor", "options"} >= set(completed("tuner do", shell)) >= {"doctor"}
    assert "--seconds" in completed("tuner doctor --s", shell)
