from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import ScriptedMachine, debian
from tuner.provision.machine import Finished, StepFailed
from tuner.provision.recipes import COMMANDS, prepare


def test_k6_is_needed_by_nothing_but_journeys_tests_and_benchmarks() -> None:
    needing = {name for name, command in COMMANDS.items() if command.journeys}

    assert {"journeys", "test", "test-all"} <= needing
    assert needing.isdisjoint({"setup", "demo", "serve", "images", "check", "docs", "bench-host"})


def test_a_step_that_fails_stops_the_programs_of_all_others(tmp_path: Path) -> None:
    machine = ScriptedMachine({"uv"}, {"/usr/bin/uv --version": Finished(0, "uv 0.13.9")})

    with pytest.raises(StepFailed):
        prepare(scripted.machine(machine, debian(tmp_path, is_root=False)), COMMANDS["demo"])

    assert "stop" in machine.ran


def test_without_images_no_engine_is_asked(tmp_path: Path) -> None:
    answers = {
        "/usr/bin/uv --version": Finished(0, "uv 0.13.9"),
        "/usr/bin/uv sync": Finished(0, ""),
    }
    machine = ScriptedMachine({"uv"}, dict(answers))

    prepare(scripted.machine(machine, debian(tmp_path)), COMMANDS["check"])

    assert not machine.did("docker")
