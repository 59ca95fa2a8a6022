from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import OK, ScriptedMachine, debian, fedora
from tuner.provision import for_tests
from tuner.provision.machine import StepFailed


def test_debian_installs_it_once(tmp_path: Path) -> None:
    machine = ScriptedMachine(answers={"apt-get": OK})
    for_tests.ensure_chromium(scripted.machine(machine, debian(tmp_path)))
    assert machine.did("apt-get install")
    machine = ScriptedMachine({"chromium"})
    for_tests.ensure_chromium(scripted.machine(machine, debian(tmp_path)))
    assert machine.ran == []


def test_another_distribution_is_asked_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="chromium is not on PATH"):
        for_tests.ensure_chromium(scripted.machine(ScriptedMachine(), fedora(tmp_path)))
