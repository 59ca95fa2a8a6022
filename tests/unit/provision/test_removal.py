from pathlib import Path

import pytest

from tests.unit.provision import scripted
from tests.unit.provision.scripted import OK, Answer, ScriptedMachine, debian
from tuner.provision import oha, removal
from tuner.provision.machine import Finished, StepFailed

LISTED: dict[str, Answer] = {
    "docker version": OK,
    "docker images": Finished(0, "uwsgi-tuner/load:1\nuwsgi-tuner/base:2\n"),
}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    binary = oha.cached_path(tmp_path / "cache")
    binary.parent.mkdir(parents=True)
    binary.write_text("oha")
    return tmp_path / "cache"


def remove(machine: ScriptedMachine, cache: Path) -> None:
    removal.remove(scripted.machine(machine, debian(cache)))


def test_images_and_programs_are_removed(cache: Path) -> None:
    machine = ScriptedMachine(set(), {**LISTED, "docker rmi": OK})
    remove(machine, cache)
    assert machine.did("docker rmi uwsgi-tuner/base:2 uwsgi-tuner/load:1")
    assert not cache.exists()


def test_what_others_keep_beside_stays(cache: Path) -> None:
    (cache / "theirs").write_text("theirs")
    remove(ScriptedMachine(set(), {"docker version": OK, "docker images": OK}), cache)
    assert [path.name for path in cache.iterdir()] == ["theirs"]


def test_nothing_is_removed_while_an_image_is_in_use(cache: Path) -> None:
    machine = ScriptedMachine(set(), {**LISTED, "docker rmi": Finished(1, "is in use")})
    with pytest.raises(StepFailed, match="is in use"):
        remove(machine, cache)
    assert oha.cached_path(cache).exists()


def test_without_an_engine_the_programs_are_removed(cache: Path) -> None:
    remove(ScriptedMachine(set(), {}), cache)
    assert not cache.exists()
