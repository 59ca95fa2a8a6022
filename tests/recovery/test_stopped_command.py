"""kill -9 of a command in the middle of its job: the same command goes on where it was."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from sqlalchemy.exc import ProgrammingError

from tests import misbehaving
from tests.patience import JOB_ENDS_WITHIN_S, TEST_ENDS_WITHIN_S
from tests.service import OWN_LOCK, STOP_WITHIN_S, free_port, opened_store, running
from tuner.nouns.errors import NotFound, Unavailable
from tuner.nouns.model import JobId, JobState, MeasurementId, MeasurementKind, MeasurementState
from tuner.service import bootstrap
from tuner.service.settings import Settings
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

pytestmark = [pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

ROUNDS, BEFORE_THE_KILL = 5, 2
ARMS = [{"name": f"threads-{n}", "ini": f"{misbehaving.INI}threads = {n}\n"} for n in (1, 2)]
SUITE = {
    "kind": "compare",
    "target": {"target_app": "fine"},
    "blocks": ROUNDS,
    "cycles": 1,
    "window_s": 0.5,
    "warmup_s": 0.0,  # what is measured does not matter here
    "arms": ARMS,
}
JOB = JobId(1)
Blocks = Mapping[MeasurementId, tuple[datetime, ...]]
"""The complete blocks, and when their windows began."""


@dataclass(frozen=True)
class Shell:
    """Of a user who has no service: each command starts its own, with the data in `own`."""

    home: Path
    suite: Path
    environ: Mapping[str, str]

    def start(self) -> subprocess.Popen[str]:
        """`tuner compare SUITE`."""
        return subprocess.Popen(
            [sys.executable, "-m", "tuner.cli", "compare", str(self.suite)],
            env=dict(self.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def own(self) -> Path:
        """The data of the service of a command."""
        return self.home / "own"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    misbehaving.write_app(tmp_path, "fine", misbehaving.FINE)
    suite = tmp_path / "suite.yaml"
    suite.write_text(yaml.safe_dump(SUITE))
    # Not tmp_path: as root, PostgreSQL runs as a user who may not pass its folders.
    home = Path(tempfile.mkdtemp(prefix="tuner-command-"))
    home.chmod(0o711)
    (home / "sitecustomize.py").write_text(OWN_LOCK.format(name=home.name))
    inherited = {name: value for name, value in os.environ.items() if "TUNER_" not in name}
    own = {
        "TUNER_DATA_DIR": str(home),
        "TUNER_PORT": str(free_port()),  # nothing answers there
        "TUNER_TARGET_APPS": str(tmp_path),
        "PYTHONPATH": str(home),
    }
    yield Shell(home, suite, inherited | own)
    shutil.rmtree(home, ignore_errors=True)


def test_a_killed_comparison_goes_on_and_keeps_the_blocks_that_it_has(shell: Shell) -> None:
    first = shell.start()
    try:
        wait_for_blocks(shell, first)
        before = complete_blocks(shell)
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()
    again = shell.start()
    try:
        out, said = again.communicate(timeout=JOB_ENDS_WITHIN_S)
    finally:
        again.terminate()  # it stops its service
        again.wait(STOP_WITHIN_S)
    assert again.returncode == 0, said
    told = re.search(rf"goes on with job {JOB}: (\d+) of {ROUNDS} blocks are measured", said)
    assert told is not None, said
    assert len(before) <= int(told[1]) < ROUNDS
    assert "threads-2" in out

    elsewhere = {"TUNER_DATA_DIR": str(shell.own), "TUNER_TARGET_APPS": str(shell.suite.parent)}
    with running(until="/healthz", measures=False, **elsewhere) as service:
        assert [job["id"] for job in service.get("/v1/jobs").json()["jobs"]] == [JOB]
        with opened_store(service) as store:
            assert store.job(JOB).state is JobState.SUCCEEDED
            after = blocks_in(store)
        service.wait_for(lambda: not service.containers(), 30, "no container is left")
    assert len(after) == ROUNDS
    assert before.items() <= after.items()


def wait_for_blocks(shell: Shell, command: subprocess.Popen[str]) -> None:
    """Until the job has some blocks, and not yet all."""
    deadline = time.monotonic() + JOB_ENDS_WITHIN_S
    while len(complete_blocks(shell)) < BEFORE_THE_KILL:
        assert command.poll() is None, command.communicate()
        assert time.monotonic() < deadline, (shell.own / "serve.log").read_text()[-4000:]
        time.sleep(0.2)


def complete_blocks(shell: Shell) -> Blocks:
    """Those in the database of the command that runs; none before it has a job."""
    own = Settings.from_environ({**shell.environ, "TUNER_DATA_DIR": str(shell.own)})
    engine = make_engine(bootstrap.database_url(own))
    try:
        return blocks_in(Store(engine, Queue()))
    except (NotFound, Unavailable, ProgrammingError):  # no server, no tables, no job yet
        return {}
    finally:
        engine.dispose()


def blocks_in(store: Store) -> Blocks:
    """The complete blocks of the job."""
    return {
        made.id: tuple(window.started_at for window in made.windows)
        for made in store.measurements(JOB)
        if made.kind is MeasurementKind.BLOCK and made.state is MeasurementState.COMPLETE
    }
