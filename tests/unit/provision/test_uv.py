import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import FAILED, OK, Answer, ScriptedMachine, debian
from tuner.provision import programs
from tuner.provision.host import Host
from tuner.provision.machine import Finished, StepFailed

MAKE_VENV = f"{sys.executable} -m venv"


def sync(machine: ScriptedMachine, host: Host, checkout: Path) -> None:
    programs.sync(scripted.machine(machine, host, checkout), compiled=False)


def private(cache: Path) -> str:
    return str(cache / "uv" / "bin" / "uv")


def machine_without_uv(cache: Path) -> ScriptedMachine:
    venv_python = str(cache / "uv" / "bin" / "python")
    return ScriptedMachine(
        set(), {MAKE_VENV: OK, f"{venv_python} -m pip install": OK, f"{private(cache)} sync": OK}
    )


def test_a_uv_on_path_is_used(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "/usr/bin/uv --version": Finished(0, "uv 0.13.9"),
        "/usr/bin/uv sync": OK,
    }
    machine = ScriptedMachine({"uv"}, answers)

    sync(machine, debian(tmp_path), tmp_path)

    assert machine.did("/usr/bin/uv sync --locked --all-groups")


@pytest.mark.parametrize("answer", [FAILED, Finished(0, "uv 0.4.1")], ids=["dead shim", "too old"])
def test_a_uv_that_cannot_read_our_lock_is_passed_over(tmp_path: Path, answer: Finished) -> None:
    machine = machine_without_uv(tmp_path)
    machine.programs.add("uv")
    machine.answers["/usr/bin/uv --version"] = answer

    sync(machine, debian(tmp_path), tmp_path)

    assert machine.did(f"{private(tmp_path)} sync")


def test_a_python_without_ensurepip_gets_the_package_that_adds_it(tmp_path: Path) -> None:
    machine = machine_without_uv(tmp_path)
    machine.answers[MAKE_VENV] = FAILED

    def install(_: Sequence[str]) -> Finished:
        machine.answers[MAKE_VENV] = OK
        return OK

    machine.answers.update({"apt-get update": OK, "apt-get install": install})

    sync(machine, debian(tmp_path), tmp_path)

    assert any(line.endswith("python3-venv") for line in machine.ran)


def test_a_user_who_is_not_root_is_told_which_package(tmp_path: Path) -> None:
    machine = machine_without_uv(tmp_path)
    machine.answers[MAKE_VENV] = FAILED

    with pytest.raises(StepFailed, match="apt-get install python3-venv"):
        sync(machine, debian(tmp_path, is_root=False), tmp_path)


def test_an_environment_that_exists_keeps_its_interpreter(tmp_path: Path) -> None:
    machine = machine_without_uv(tmp_path)
    (tmp_path / ".venv").mkdir()

    sync(machine, debian(tmp_path), tmp_path)

    assert not any("--python" in line for line in machine.ran)


def test_a_lock_that_is_out_of_date_is_shown_with_what_to_do(tmp_path: Path) -> None:
    machine = machine_without_uv(tmp_path)
    machine.answers[f"{private(tmp_path)} sync"] = Finished(2, "The lockfile needs to be updated")

    with pytest.raises(StepFailed) as caught:
        sync(machine, debian(tmp_path), tmp_path)

    assert "needs to be updated" in caught.value.why
    assert "uv lock" in caught.value.todo
