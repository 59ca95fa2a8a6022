"""The wheel: the same bytes each time, with all that an installed product needs."""

import hashlib
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tuner.provision import programs
from tuner.provision.host import detect

ROOT = Path(__file__).parents[2]
NEEDED = (
    "tuner/_data/target_apps/_base/Dockerfile",
    "tuner/_data/target_apps/_base/requirements.txt",
    "tuner/_data/search_spaces/default.yaml",
    "tuner/_data/migrations/env.py",
    "tuner/bench/load/image/Dockerfile",
    "tuner/bench/load/image/journeys.Dockerfile",
)


def built(folder: Path) -> Path:
    uv = shutil.which("uv") or str(programs.private_path(detect(os.environ).cache))
    command = [uv, "build", "--wheel", "--quiet", "--out-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.mark.full
def test_two_builds_are_the_same_bytes_and_hold_the_recipes(tmp_path: Path) -> None:
    first, second = built(tmp_path / "1"), built(tmp_path / "2")
    hashes = {hashlib.sha256(file.read_bytes()).hexdigest() for file in (first, second)}
    assert len(hashes) == 1
    assert set(NEEDED) <= set(zipfile.ZipFile(first).namelist())
