"""Volumes that start with a copy of a folder of the app, on the real engine."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests import real_bench
from tests.contract.test_backing import answer, arm
from tests.real_bench import everything_of
from tuner.bench.engine import DockerLauncher
from tuner.bench.measurement import ArmSpec
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import Target

pytestmark = pytest.mark.docker

ROWS = "row\n" * 5
SHARED = {"source": "./data", "target": "/data", "copy": True}
OWNED = 'test "$(stat -c %u:%g:%a /data /data/rows | xargs)" = "$1" && echo row >> /data/rows'


def copied(owner: str) -> ArmSpec:
    """An arm whose app and service share a copy of `data`, to which a step adds a row."""
    steps = [
        {"in": "counter", "run": ["sh", "-c", OWNED, "sh", owner]},
        {"in": "app", "run": ["sh", "-c", "test -e /seen/rows && echo x > /srv/own/lines"]},
    ]
    one = arm(prepare=steps, volumes=[SHARED])
    target = one.target.model_dump() | {"volumes": [{**SHARED, "target": "/seen"}]}
    return replace(one, target=Target.model_validate(target))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder `data` of a copy of the app `backed`."""
    found = Path(shutil.copytree(real_bench.APPS / "backed", tmp_path / "backed")) / "data"
    found.mkdir()
    (found / "rows").write_text(ROWS)
    (found / "last").symlink_to("rows")
    (found / "rows").chmod(0o640)
    found.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(found / "rows", 1234, 1235)
    (found.parent / ".dockerignore").write_text("data\n")
    return found


@pytest.fixture
def owner(data: Path) -> str:
    """Owner and mode of the folder and of the file in it, as `stat` prints them."""
    seen = (data.stat(), (data / "rows").stat())
    return " ".join(f"{each.st_uid}:{each.st_gid}:{each.st_mode & 0o777:o}" for each in seen)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DockerLauncher]:
    with real_bench.engine(apps=tmp_path.joinpath) as engine:
        yield engine
        engine.end_jobs(())
        assert everything_of(engine.instance) == []


def test_every_arm_starts_with_the_copy_and_the_folder_stays_as_it_is(
    engine: DockerLauncher, data: Path, owner: str
) -> None:
    launcher, one = engine.for_measurement("1", "7"), copied(owner)
    for _ in range(2):
        with launcher.launch(one) as running:
            real_bench.oha().wait_ready(running, one.target)
            assert answer(running, "/count") == "6 1"
            assert answer(running, "/add") == "7"
    assert (data / "rows").read_text() == ROWS


def test_a_host_whose_folder_differs_is_refused_and_a_job_keeps_what_it_has_read(
    engine: DockerLauncher, data: Path, owner: str
) -> None:
    one = copied(owner)
    first = engine.for_measurement("1", "7").inspect(one.target).data_sha256
    (data / "rows").write_text("row\n" * 4)
    assert engine.for_measurement("1", "8").inspect(one.target).data_sha256 == first
    later = engine.for_measurement("2", "9")
    assert later.inspect(one.target).data_sha256 != first
    with pytest.raises(Infrastructure, match="a folder to copy is another one here"):
        later.launch(replace(one, data_sha256=first)).__enter__()
    with pytest.raises(TargetFailed, match="changed meanwhile"):
        engine.for_measurement("1", "10").launch(one).__enter__()


def test_a_link_out_of_the_folder_fails_the_job_and_leaves_nothing(
    engine: DockerLauncher, data: Path, owner: str
) -> None:
    (data / "passwords").symlink_to("/etc/passwd")
    one = copied(owner)
    launcher = engine.for_measurement("1", "7")
    told = "the folder ./data of backed: passwords is a link to /etc/passwd, outside of it"
    with pytest.raises(TargetFailed, match=told) as failed:
        launcher.launch(one).__enter__()
    assert failed.value.code == "prepare_failed"
    with pytest.raises(Infrastructure, match=told):  # a host of the pool that comes later
        launcher.launch(replace(one, data_sha256="0" * 64)).__enter__()
    assert everything_of(engine.instance) == []
