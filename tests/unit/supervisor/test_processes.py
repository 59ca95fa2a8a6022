"""Real children: killed ones come back, and none outlives the supervisor."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SUPERVISOR = """
import sys
from pathlib import Path
from tuner.service.supervisor import run

folder = Path(sys.argv[1])

class Database:
    url = "postgresql://nowhere"
    def start(self): note("database start")
    def poll(self): return None
    def stop(self): note("database stop")

def note(line):
    with (folder / "notes").open("a") as notes:
        notes.write(line + "\\n")

children = {
    name: ("sh", "-c", script)
    for name, script in (part.split("=", 1) for part in sys.argv[2:])
}
sys.exit(run(
    children,
    environ={"FOLDER": str(folder), "PATH": "/usr/bin:/bin"},
    database=Database(),
    prepare=lambda: note("prepare"),
    grace_s=1.0,
))
"""
SLEEPER = "echo $$ >> $FOLDER/pids; exec sleep 300"
POLITE = (
    'trap "echo {0} stop >> $FOLDER/notes; exit 0" TERM; '
    "echo $$ >> $FOLDER/pids; while :; do sleep 0.05; done"
)
DEAF = 'trap "" TERM; echo $$ >> $FOLDER/pids; while :; do sleep 0.05; done'


@contextmanager
def _supervised(folder: Path, *children: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", SUPERVISOR, str(folder), *children])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _pids(folder: Path) -> list[int]:
    try:
        return [int(line) for line in (folder / "pids").read_text().split()]
    except FileNotFoundError:
        return []


def _notes(folder: Path) -> list[str]:
    return (folder / "notes").read_text().splitlines()


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def _wait(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come to that in time"
        time.sleep(0.02)


def test_a_killed_child_is_started_again(tmp_path: Path) -> None:
    with _supervised(tmp_path, f"a={SLEEPER}"):
        _wait(lambda: len(_pids(tmp_path)) == 1)
        os.kill(_pids(tmp_path)[0], signal.SIGKILL)
        _wait(lambda: len(_pids(tmp_path)) == 2)
        assert _lives(_pids(tmp_path)[1])


def test_a_killed_supervisor_leaves_nothing(tmp_path: Path) -> None:
    with _supervised(tmp_path, f"a={SLEEPER}", f"b={DEAF}") as process:
        _wait(lambda: len(_pids(tmp_path)) == 2)
        process.kill()
        process.wait()
        _wait(lambda: not any(map(_lives, _pids(tmp_path))), 5.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_the_worker_then_the_api_then_the_database(
    tmp_path: Path, number: signal.Signals
) -> None:
    children = [f"{name}={POLITE.format(name)}" for name in ("api", "worker")]
    with _supervised(tmp_path, *children) as process:
        _wait(lambda: len(_pids(tmp_path)) == 2)
        process.send_signal(number)
        assert process.wait(timeout=10) == 0
    assert _notes(tmp_path) == [
        "database start",
        "prepare",
        "worker stop",
        "api stop",
        "database stop",
    ]


def test_a_child_that_does_not_listen_is_killed_after_the_grace(tmp_path: Path) -> None:
    with _supervised(tmp_path, f"a={DEAF}") as process:
        _wait(lambda: len(_pids(tmp_path)) == 1)
        process.terminate()
        assert process.wait(timeout=10) == 0
        assert not _lives(_pids(tmp_path)[0])


def test_a_child_whose_settings_are_wrong_ends_the_service(tmp_path: Path) -> None:
    with _supervised(tmp_path, f"a={SLEEPER}", "b=exit 2") as process:
        assert process.wait(timeout=10) == 2
    assert _notes(tmp_path)[-1] == "database stop"
