"""The programs that lose packets and move clocks."""

from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import OK, ScriptedMachine, debian, fedora
from tuner.provision import for_tests
from tuner.provision.machine import StepFailed


def test_debian_installs_what_is_missing(tmp_path: Path) -> None:
    machine = ScriptedMachine({"socat"}, answers={"apt-get": OK})
    for_tests.ensure_faults(scripted.machine(machine, debian(tmp_path)))
    (installed,) = [line for line in machine.ran if line.startswith("apt-get install")]
    assert installed.endswith(" faketime")
    assert "socat" not in installed
    machine = ScriptedMachine({"socat", "faketime"})
    for_tests.ensure_faults(scripted.machine(machine, debian(tmp_path)))
    assert machine.ran == []


def test_another_distribution_is_asked_to_install_them(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="not on PATH: socat, faketime"):
        for_tests.ensure_faults(scripted.machine(ScriptedMachine(), fedora(tmp_path)))
