"""The systemd units of docs/: systemd accepts them, and they start commands that exist."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tuner.cli import main

UNITS = sorted((Path(__file__).parents[2] / "docs" / "systemd").glob("*.service"))
PROGRAM = "/opt/uwsgi-tuner/bin/tuner"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_a_command_of_ours(unit: Path) -> None:
    (started,) = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    program, *arguments = started.removeprefix("ExecStart=").split()
    assert program == PROGRAM
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_accepts_a_unit(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace(PROGRAM, sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
