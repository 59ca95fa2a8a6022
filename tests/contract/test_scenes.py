"""Scenes on the real thing: one process is worse off than three, and nothing is left stopped."""

import pytest

from tests.bench_arms import SHORT, opened, work
from tuner.bench.measurement import Disturbance, run_scenes
from tuner.bench.measurement.scenes import FILL
from tuner.nouns.model import ClosedLoop, Scene, SceneRun

pytestmark = pytest.mark.docker

SCENES = (Scene.HUNG_WORKER, Scene.KILLED_WORKER, Scene.RELOAD)
STOP_ALL = (
    "import os, signal, pathlib\n"
    "for each in pathlib.Path('/proc').glob('[0-9]*'):\n"
    "    if (each / 'comm').read_text() == 'uwsgi\\n' and each.name != '1':\n"
    "        os.kill(int(each.name), signal.SIGSTOP)\n"
)


def test_one_process_is_worse_off_than_three() -> None:
    three = work(processes=3, wait_ms=5)
    one = work(processes=1, wait_ms=5, index=1)
    with opened() as bench:
        found = run_scenes(
            bench, [three, one], ClosedLoop(concurrency=16), SHORT, seed=1, scenes=SCENES
        )
    runs: dict[tuple[Scene, int], SceneRun] = {
        (run.scene, run.arm): run for run in found.scene_runs
    }
    assert len(runs) == 2 * len(SCENES)
    assert (runs[Scene.HUNG_WORKER, 0].hurt or 0.0) < 0.1
    assert (runs[Scene.HUNG_WORKER, 1].hurt or 0.0) > 0.3
    assert (runs[Scene.HUNG_WORKER, 1].longest_gap_s or 0.0) > 2.5
    assert (runs[Scene.HUNG_WORKER, 1].back_to_normal_s or 0.0) > 2.5
    for arm in (0, 1):
        assert (runs[Scene.KILLED_WORKER, arm].slots_back_s or 99.0) < 3.0
        assert (runs[Scene.RELOAD, arm].slots_back_s or 99.0) < 3.0
        assert runs[Scene.RELOAD, arm].way == "SIGHUP to the master"


def test_a_file_that_is_touched_reloads_the_app() -> None:
    arm = work("lazy-apps = true", "touch-chain-reload = /tmp/reload", processes=2)
    with opened() as bench:
        found = run_scenes(
            bench, [arm], ClosedLoop(concurrency=8), SHORT, seed=1, scenes=[Scene.RELOAD]
        )
    assert found.scene_runs[0].way == "touch-chain-reload"
    assert found.scene_runs[0].failed == 0.0


def test_where_memory_is_full_the_kernel_kills_one_worker_and_what_fills_it() -> None:
    arm = work(processes=2, wait_ms=5)
    with opened() as bench, bench.launcher.launch(arm) as running:
        bench.load.wait_ready(running, arm.target)
        bench.load.disturb(running, Disturbance.DOOM, 3.0)
        running.run_inside(FILL, timeout_s=10)
        bench.load.wait_ready(running, arm.target)
        assert running.usage().oom_kills == 2
        assert running.log_tail().count("died, killed by signal 9") == 1


def test_a_real_lack_of_memory_is_played_with_every_file() -> None:
    arms = [work(processes=n, wait_ms=5, index=index) for index, n in enumerate((3, 1))]
    with opened() as bench:
        found = run_scenes(
            bench, arms, ClosedLoop(concurrency=16), SHORT, seed=1, scenes=[Scene.OUT_OF_MEMORY]
        )
    assert [run.note for run in found.scene_runs] == ["", ""]
    assert all(run.hurt is not None and run.sent > 0 for run in found.scene_runs)


def test_stopped_workers_are_gone_with_their_container() -> None:
    arm = work(processes=2)
    with opened() as bench, bench.launcher.launch(arm) as running:
        bench.load.wait_ready(running, arm.target)
        bench.load.disturb(running, Disturbance.KILL, 3.0)
        uid = 61_717
        owner = running.run_beside(["stat", "-c", "%u", "/proc/1"], timeout_s=10).strip()
        assert owner != str(uid)
        running.run_beside(["python3", "-c", STOP_ALL], timeout_s=10, uid=int(owner))
    # `opened` fails if a container of its instance is left.
