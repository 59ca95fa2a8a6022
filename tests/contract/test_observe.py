"""A look at real uWSGIs in containers whose ailment is staged."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.staged_productions import (
    INI,
    SLOW_BACKEND,
    STATS,
    THROTTLED,
    Production,
    docker,
    production,
    staged,
)

pytestmark = pytest.mark.docker


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tuner.cli", "observe", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def observed(seen: Production) -> dict[str, Any]:
    done = command(seen.stats, "--pid", str(seen.pid), "--minutes", "0.12", "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_workers_that_wait_for_a_backend_are_named(tmp_path: Path) -> None:
    with staged(SLOW_BACKEND, tmp_path) as seen:
        found = observed(seen)
    assert found["diagnosis"]["bottleneck"] == "io_wait"
    assert found["diagnosis"]["evidence"]["busy"] > 0.9
    assert found["queue_full_s"] > 0.8 * found["seconds"]  # 20 users, 4 slots, a queue of 8
    assert found["rps"] == pytest.approx(8, rel=0.25)  # 4 slots of 0.5 s
    assert found["requests"] == {"GET /backend/*": 1.0}
    assert found["processes"] == 4
    assert found["box"] == {"cpus": 1.0, "has_quota": True, "memory_mb": 256.0}


def test_a_cpu_that_is_throttled_is_named(tmp_path: Path) -> None:
    with staged(THROTTLED, tmp_path) as seen:
        found = observed(seen)
    assert found["diagnosis"]["bottleneck"] == "cpu_quota"
    assert found["diagnosis"]["evidence"]["throttled"] > 0.05  # less beside busy neighbours
    assert found["box"]["cpus"] == 0.2


def test_it_changes_nothing_and_stats_can_be_turned_on_without_a_restart(tmp_path: Path) -> None:
    started = ("inspect", "--format", "{{.State.StartedAt}} {{.State.Pid}}")
    with production(tmp_path, INI) as seen:
        refused = command(seen.stats, "--pid", str(seen.pid))
        assert refused.returncode == 5
        assert "add this" in refused.stderr
        before = docker(*started, seen.container)
        seen.ini.write_text(INI + STATS)
        time.sleep(2)  # a worker that was only just forked has no handler yet
        docker("kill", "--signal=HUP", seen.container)
        look = seen.watcher().look()
        after = docker(*started, seen.container)
    assert after == before
    assert look.activity.processes == 4
    assert look.queue is not None
    assert look.processes is not None
    assert len(look.processes.workers) == 4
