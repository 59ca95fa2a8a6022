"""The real runner, on programs that every machine has."""

import io
import sys
import time
from pathlib import Path

import pytest

from tuner.provision.machine import Commands, StepFailed, Steps


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "cache" / "provision.log")


def test_output_and_code_are_returned_and_logged(commands: Commands) -> None:
    finished = commands.run(["sh", "-c", "echo said; echo warned >&2; exit 3"])

    assert (finished.code, finished.output) == (3, "said\nwarned\n")
    assert not finished.ok
    assert "warned" in commands.log.read_text()


def test_a_program_that_is_not_there_is_a_result_not_an_exception(
    commands: Commands,
) -> None:
    assert commands.run(["no-such-program-here"]).code == 127


def test_a_program_that_takes_too_long_is_ended_with_its_children(
    commands: Commands, tmp_path: Path
) -> None:
    touched = tmp_path / "late"

    finished = commands.run(["sh", "-c", f"(sleep 1; touch {touched}) & wait"], timeout_s=0.1)

    assert finished.timed_out
    assert not finished.ok
    time.sleep(1.2)
    assert not touched.exists()


def test_a_silent_program_is_given_up_earlier_than_one_that_talks(commands: Commands) -> None:
    silent = commands.run(["sleep", "5"], timeout_s=5, answer_within_s=0.1)
    talking = commands.run(["sh", "-c", "echo hi; sleep 0.5"], timeout_s=5, answer_within_s=0.3)

    assert silent.timed_out
    assert talking.ok


def test_a_program_does_not_wait_for_the_daemon_it_leaves_behind(commands: Commands) -> None:
    started = time.monotonic()

    assert commands.run(["sh", "-c", "sleep 20 & echo left"]).ok
    assert time.monotonic() - started < 10


def test_the_environment_of_a_call_is_added_to_ours(commands: Commands) -> None:
    script = "import os; print(os.environ['EXTRA'], 'PATH' in os.environ)"

    assert commands.run([sys.executable, "-c", script], env={"EXTRA": "1"}).output == "1 True\n"


def test_a_failure_names_the_program_its_last_lines_and_the_log(commands: Commands) -> None:
    with pytest.raises(StepFailed) as caught:
        commands.must(["sh", "-c", "echo broken; exit 9"], what="thing", todo="mend it")

    assert "ended with 9" in caught.value.why
    assert "broken" in caught.value.why
    assert str(commands.log) in caught.value.why


def test_a_failure_is_printed_with_what_to_do() -> None:
    stream = io.StringIO()

    Steps(stream).failed(StepFailed("Docker Engine", "none\nanswers", "start it"))

    assert stream.getvalue() == "[!!] Docker Engine: none\n     answers\n     -> start it\n"
