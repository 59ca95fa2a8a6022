import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import (
    FAILED,
    OK,
    Answer,
    ScriptedMachine,
    debian,
    fedora,
)
from tuner.provision import images
from tuner.provision.host import Host
from tuner.provision.machine import Finished, StepFailed

INSPECT = "docker image inspect --format {{.Id}}"
OURS = f"{INSPECT} {images.TAG}"


def ensure(machine: ScriptedMachine, host: Host) -> str:
    printed = io.StringIO()
    images.ensure(scripted.machine(machine, host, printed=printed))
    return printed.getvalue()


def test_an_image_that_is_there_is_never_asked_for_again(tmp_path: Path) -> None:
    machine = ScriptedMachine({"mmdebstrap"}, {OURS: Finished(0, "sha256:1")})

    ensure(machine, debian(tmp_path))

    assert len(machine.ran) == 1


def test_a_registry_that_answers_is_used(tmp_path: Path) -> None:
    machine = ScriptedMachine({"mmdebstrap"}, {"docker pull": OK, "docker build": OK})

    ensure(machine, debian(tmp_path))

    assert machine.did("docker build")
    assert not machine.did("mmdebstrap")


def test_a_source_that_the_engine_has_is_not_pulled(tmp_path: Path) -> None:
    here: dict[str, Answer] = {
        f"{INSPECT} {images.DEFAULT_SOURCE}": Finished(0, "sha256:2"),
        "docker build": OK,
    }
    machine = ScriptedMachine(set(), here)

    ensure(machine, debian(tmp_path))

    assert not machine.did("docker pull")


def test_a_pulled_image_gets_the_certificates_of_this_machine(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_text("a certificate")
    context: dict[str, str] = {}

    def build(argv: Sequence[str]) -> Finished:
        context.update({path.name: path.read_text() for path in Path(argv[-1]).iterdir()})
        return OK

    machine = ScriptedMachine(set(), {"docker pull": OK, "docker build": build})
    host = Host(**{**vars(debian(tmp_path)), "ca_bundle": bundle})

    ensure(machine, host)

    assert context["ca.crt"] == "a certificate"
    assert "ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt" in context["Dockerfile"]


def test_without_a_registry_it_is_made_from_debian_packages(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "docker pull": FAILED,
        "mmdebstrap": OK,
        "docker import": OK,
        "apt-get": OK,
    }
    machine = ScriptedMachine(set(), answers)

    ensure(machine, debian(tmp_path))

    assert [line.split()[0] for line in machine.ran if not line.startswith("docker image")] == [
        "docker",
        "apt-get",
        "apt-get",
        "mmdebstrap",
        "docker",
    ]


def test_without_a_registry_or_root_the_missing_package_is_named(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="sudo apt-get install -y mmdebstrap"):
        ensure(ScriptedMachine(), debian(tmp_path, is_root=False))


def test_without_a_registry_or_debian_the_way_out_is_named(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="TUNER_PYTHON_IMAGE"):
        ensure(ScriptedMachine(), fedora(tmp_path))
