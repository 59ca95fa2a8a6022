from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import FAILED, OK, Answer, ScriptedMachine, debian, fedora
from tuner.provision import for_tests
from tuner.provision.host import Host
from tuner.provision.machine import Finished, StepFailed


def archive(host: Host) -> dict[str, Answer]:
    """Debian's package: what apt-get leaves in the folder of the step, and what is in it."""

    def download(argv: Sequence[str]) -> Finished:
        (folder,) = (host.cache / "prometheus").iterdir()
        (folder / "prometheus_2.42.0_amd64.deb").write_text("a package")
        return OK

    def extract(argv: Sequence[str]) -> Finished:
        *_, package, folder = argv
        assert Path(package).read_text() == "a package"
        programs = Path(folder) / "usr" / "bin"
        programs.mkdir(parents=True)
        for name in ("prometheus", "promtool"):
            (programs / name).write_text(name)
        return OK

    return {"apt-get update": OK, "apt-get download": download, "dpkg-deb": extract}


def test_both_programs_are_unpacked_once_and_nothing_is_installed(tmp_path: Path) -> None:
    host = debian(tmp_path, is_root=False)
    machine = ScriptedMachine(answers=archive(host))
    for_tests.ensure_prometheus(scripted.machine(machine, host))
    for name in (for_tests.SERVER, for_tests.TOOL):
        assert (tmp_path / "prometheus" / name).read_text() == name
    ran = len(machine.ran)
    for_tests.ensure_prometheus(scripted.machine(machine, host))
    assert len(machine.ran) == ran
    assert not machine.did("apt-get install")
    assert sorted(p.name for p in (tmp_path / "prometheus").iterdir()) == ["prometheus", "promtool"]


def test_programs_on_path_are_used(tmp_path: Path) -> None:
    machine = ScriptedMachine({"prometheus", "promtool"})
    for_tests.ensure_prometheus(scripted.machine(machine, fedora(tmp_path)))
    assert machine.ran == []


def test_another_distribution_is_asked_to_install_it(tmp_path: Path) -> None:
    machine = ScriptedMachine({"prometheus"})
    with pytest.raises(StepFailed, match="neither Debian nor Ubuntu"):
        for_tests.ensure_prometheus(scripted.machine(machine, fedora(tmp_path)))


def test_a_failed_download_says_what_to_do(tmp_path: Path) -> None:
    host = debian(tmp_path)
    machine = ScriptedMachine(answers={**archive(host), "apt-get download": FAILED})
    with pytest.raises(StepFailed, match="apt-get download prometheus"):
        for_tests.ensure_prometheus(scripted.machine(machine, host))
    assert not (tmp_path / "prometheus" / "promtool").exists()


def test_a_program_on_path_is_found_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert for_tests.find("promtool", tmp_path) == tmp_path / "prometheus" / "promtool"
    own = tmp_path / "promtool"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    assert for_tests.find("promtool", Path("/nowhere")) == own
