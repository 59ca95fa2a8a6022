"""The programs that lose packets and move clocks."""

from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import OK, ScriptedMachine, debian, fedora
from tuner.provision import faults
from tuner.provision.steps import StepFailed


def test_debian_installs_what_is_missing(tmp_path: Path) -> None:
    machine = ScriptedMachine({"socat"}, answers={"apt-get": OK})
    faults.ensure(scripted.machine(machine, debian(tmp_path)))
    (installed,) = [line for line in machine.ran if line.startswith("apt-get install")]
    assert installed.endswith(" faketime")
    assert "socat" not in installed
    machine = ScriptedMachine({"socat", "faketime"})
    faults.ensure(scripted.machine(machine, debian(tmp_path)))
    assert machine.ran == []


def test_another_distribution_is_asked_to_install_them(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="not on PATH: socat, faketime"):
        faults.ensure(scripted.machine(ScriptedMachine(), fedora(tmp_path)))
