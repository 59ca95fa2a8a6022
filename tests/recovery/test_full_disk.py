"""Disks that run full: that of the data directory in a job, and Docker's while data are frozen."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import misbehaving, real_bench
from tests.contract.test_backing import arm
from tests.own_engine import own_engine
from tests.patience import TEST_ENDS_WITHIN_S
from tests.recovery.test_kills import check_rows, submit, wait_for_phase
from tests.service import is_refused_as_busy, running
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import FailureCode

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

DISK_MB = 200  # a new cluster and its WAL need about 60


def may_mount() -> bool:
    """Whether this machine lets us have a small disk of our own."""
    if os.geteuid() != 0:
        return False
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
        check=False,
        capture_output=True,
    )
    return tried.returncode == 0


@contextmanager
def small_disk(at: Path) -> Iterator[Path]:
    """A disk of `DISK_MB` that is gone afterwards."""
    at.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0711", "none", str(at)], check=True
    )
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)
        at.rmdir()


def fill(path: Path) -> None:
    """Write until there is no byte left."""
    with path.open("wb", buffering=0) as filler:
        for piece in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    filler.write(b"\0" * piece)
            except OSError:
                continue


@pytest.mark.skipif(not may_mount(), reason="only root may mount a small disk")
def test_a_job_waits_for_room_on_a_full_disk_and_goes_on(tmp_path: Path) -> None:
    misbehaving.write_app(tmp_path, "fine", misbehaving.FINE)
    place = Path("/tmp") / f"tuner-small-disk-{os.getpid()}"
    apps = {"TUNER_TARGET_APPS": str(tmp_path)}
    with (
        small_disk(place) as disk,
        running(measures=False, TUNER_DATA_DIR=str(disk), **apps) as service,
    ):
        job = submit(service)
        while not wait_for_phase(service, job["id"], "search"):  # a busy machine looks too late
            ended = service.job(job["id"])
            is_fine = ended["state"] == "succeeded" or is_refused_as_busy(ended)
            assert is_fine, (ended, service.log())
            job = submit(service)
        fill(disk / "filler")
        said = service.http.get("/readyz")
        assert (said.status_code, said.json()["system"]) == (503, "postgresql")
        assert f"0 MB are left on the disk of {disk}" in said.json()["detail"]
        service.pause(8.0)
        assert service.process.poll() is None, service.log()
        (disk / "filler").unlink()
        ended = service.finish(job["id"])
        assert ended["state"] == "succeeded", (ended, service.log())
        check_rows(service, job["id"])


@pytest.mark.skipif(not may_mount(), reason="only root may mount a small disk")
def test_data_that_fill_dockers_disk_while_they_are_frozen_leave_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The step can write its 60 MB; the frozen copy of them does not fit."""
    write = {"in": "app", "run": ["sh", "-c", "head -c 60000000 /dev/urandom > /srv/own/rows"]}
    fills = arm(prepare=[write])
    images = [real_bench.BASE_IMAGE, real_bench.LOAD_IMAGE]
    with own_engine(images, disk_mb=4096) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        with real_bench.engine(least_free_mb=1) as launcher:
            measuring = launcher.for_measurement("1", "7")
            measuring.inspect(fills.target)  # the images are built while there is room
            engine.leave_free(100)
            with pytest.raises(TargetFailed, match="Docker's disk is too small") as failed:
                measuring.launch(fills).__enter__()
            assert failed.value.code == FailureCode.OUT_OF_DISK
            assert real_bench.everything_of(launcher.instance) == []
