import io
from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import FAILED, OK, ScriptedMachine, debian, fedora
from tuner.provision import docker_engine
from tuner.provision.host import Host
from tuner.provision.machine import Finished, StepFailed

ASK = "docker version --format"
ANSWERS = Finished(0, "20.10.24\n")


def ensure(machine: ScriptedMachine, host: Host) -> str:
    printed = io.StringIO()
    docker_engine.ensure(scripted.machine(machine, host, printed=printed), starts_within_s=0)
    return printed.getvalue()


def refusal(machine: ScriptedMachine, host: Host) -> StepFailed:
    with pytest.raises(StepFailed) as caught:
        ensure(machine, host)
    return caught.value


def engine_comes_up(machine: ScriptedMachine) -> None:
    machine.answers[ASK] = ANSWERS


def test_an_engine_that_answers_is_left_alone(tmp_path: Path) -> None:
    machine = ScriptedMachine({"docker", "dockerd"}, {ASK: ANSWERS})

    assert ensure(machine, debian(tmp_path)) == "[ok] Docker Engine 20.10.24 answers\n"
    assert len(machine.ran) == 1
    assert not machine.daemons


def test_a_client_without_an_engine_gets_one_from_apt(tmp_path: Path) -> None:
    machine = ScriptedMachine({"docker"}, {"apt-get": OK})
    machine.on_daemon = lambda: engine_comes_up(machine)

    printed = ensure(machine, debian(tmp_path))

    assert "only the docker client is installed" in printed
    installs = [line for line in machine.ran if line.startswith("apt-get install")]
    assert len(installs) == 1
    assert installs[0].endswith("docker.io iptables")
    assert machine.daemons == ["dockerd"]


def test_a_suite_with_a_separate_client_gets_that_too(tmp_path: Path) -> None:
    machine = ScriptedMachine(set(), {"apt-get": OK})
    machine.on_daemon = lambda: engine_comes_up(machine)

    ensure(machine, debian(tmp_path))

    assert any(line.endswith("docker-cli") for line in machine.ran)


def test_a_stopped_engine_is_only_started(tmp_path: Path) -> None:
    machine = ScriptedMachine({"docker", "dockerd"}, {"service docker start": FAILED})
    machine.on_daemon = lambda: engine_comes_up(machine)

    ensure(machine, debian(tmp_path))

    assert not machine.did("apt-get")
    assert machine.daemons == ["dockerd"]


def test_a_service_manager_that_starts_it_is_preferred_to_a_bare_daemon(tmp_path: Path) -> None:
    machine = ScriptedMachine({"docker", "dockerd"})

    def start(_: object) -> Finished:
        engine_comes_up(machine)
        return OK

    machine.answers["service docker start"] = start

    ensure(machine, debian(tmp_path))

    assert not machine.daemons


def test_a_user_who_is_not_root_is_told_what_to_install(tmp_path: Path) -> None:
    failure = refusal(ScriptedMachine({"docker"}), debian(tmp_path, is_root=False))

    assert "sudo apt-get install -y docker.io iptables" in failure.todo
    assert "not root" in failure.why


def test_a_user_who_is_not_root_is_told_how_to_start_it(tmp_path: Path) -> None:
    failure = refusal(ScriptedMachine({"docker", "dockerd"}), debian(tmp_path, is_root=False))

    assert "sudo service docker start" in failure.todo


def test_a_user_outside_the_docker_group_is_told_so(tmp_path: Path) -> None:
    denied = Finished(1, "permission denied while trying to connect to the Docker daemon socket")
    machine = ScriptedMachine({"docker", "dockerd"}, {"docker version": denied})

    assert "usermod -aG docker" in refusal(machine, debian(tmp_path, is_root=False)).todo
    assert not machine.daemons


def test_another_distribution_is_not_touched(tmp_path: Path) -> None:
    machine = ScriptedMachine()

    assert "your system's package manager" in refusal(machine, fedora(tmp_path)).todo
    assert not machine.did("apt-get")


def test_an_engine_named_by_docker_host_is_its_owners_affair(tmp_path: Path) -> None:
    machine = ScriptedMachine({"docker"})

    failure = refusal(machine, debian(tmp_path, docker_host="tcp://bench:2375"))

    assert "DOCKER_HOST=tcp://bench:2375" in failure.why
    assert not machine.did("apt-get")


def test_an_engine_that_dies_at_start_shows_the_last_lines_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "dockerd.log").write_text("failed to start: no cgroups\n")
    machine = ScriptedMachine({"docker", "dockerd"})

    failure = refusal(machine, debian(tmp_path))

    assert "no cgroups" in failure.why
    assert str(tmp_path / "dockerd.log") in failure.todo
