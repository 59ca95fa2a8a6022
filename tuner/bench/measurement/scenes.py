"""Scenes: what goes wrong in production, played with each arm under a steady load."""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

from tuner.bench.measurement.bench import Bench, measured
from tuner.bench.measurement.course import Course, warming
from tuner.bench.measurement.driving import Driver, Stopwatch, arm_at_fault, services_running
from tuner.bench.measurement.host import ArmSpec, Disturbance, Disturbed
from tuner.nouns.model import (
    APP,
    SERIES_STEP_S,
    Budget,
    Burst,
    ClosedLoop,
    Journey,
    Load,
    MeasurementResult,
    OpenLoop,
    Scene,
    SceneRun,
    Workload,
    connections,
)
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.topology import Topology

# ---- How the memory of an app grows with the requests that it answers

REQUESTS = 10_000
FEWEST_STEPS = 6
UNSURE_MB = 0.3  # of one reading: the kernel counts 32 pages of a CPU at once; one digit is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """MB for each 10 000 requests, give or take `unsure_mb_per_10k`.

    `requests_left` is how many more fit into the memory limit; None if memory may not grow at all.
    """

    mb_per_10k: float
    unsure_mb_per_10k: float
    requests_left: int | None


def growth_of(memory_mb: Sequence[float], rps: float, limit_mb: float) -> Growth | None:
    """The growth in one run at `rps`, of its memory in each step; None for too short a run.

    The median of the slopes between all pairs of steps of the second half: one step of the cache or
    of the garbage collector does not move it. All workers share the requests, so the figure is
    that of one worker that answers them all.
    """
    later = memory_mb[len(memory_mb) // 2 :]
    if len(later) < FEWEST_STEPS or rps <= 0:
        return None
    slopes = [
        (later[last] - later[first]) / ((last - first) * SERIES_STEP_S)
        for first, last in combinations(range(len(later)), 2)
    ]
    grown, unsure = median(slopes) / rps, UNSURE_MB / (len(later) * SERIES_STEP_S) / rps
    left = round((limit_mb - later[-1]) / grown) if grown > unsure else None
    return Growth(
        mb_per_10k=REQUESTS * grown, unsure_mb_per_10k=REQUESTS * unsure, requests_left=left
    )


# ---- Scenes: what goes wrong in production, played with each arm under a steady load
#
# The load is an open loop at half of what the slowest arm serves, the same for all arms. Requests
# fall due whether or not the server answers, as users come; a closed loop would wait for a hung
# worker and send nothing, so few requests would be late. Below saturation a late request is the
# scene's doing.

BEFORE_S = 1.0  # of load before a scene
LASTS_S = 3.0
AFTER_S = 2.0
LOAD_STARTS_S = 0.3  # the load generator's own start
WARM_UP_S = 1.0  # at least: it gives the rate
GROWTH_S = 4.0
SLOWEST_START_S = 15.0  # that a scene waits for
LIMIT_S = 1.0  # without a limit of the workload, or a bound on latency
SHARE_OF_CAPACITY = 0.5
OVERLOAD = 3.0  # times the load
MOST_USERS = 16  # of a load that cannot be sent at a rate
TOUCH_S = 10.0
FILL_S = 3.0  # until the kernel must have killed
FILLED_UP_TO_MB = 2048  # in this time

FILL = ("timeout", "-s", "KILL", f"{FILL_S:g}", "tail", "/dev/zero")
"""`tail` keeps what may be the last line, and this one never ends."""
_CAN_FILL = ("sh", "-c", "command -v timeout && command -v tail")

_TOUCHED = ("touch-chain-reload", "touch-reload", "touch-workers-reload")
_DISTURBANCES = {
    Scene.HUNG_WORKER: Disturbance.HANG,
    Scene.KILLED_WORKER: Disturbance.KILL,
    Scene.SLOW_CLIENTS: Disturbance.SLOW_CLIENTS,
}
_NEEDS_UWSGI = (
    Scene.HUNG_WORKER,
    Scene.KILLED_WORKER,
    Scene.OUT_OF_MEMORY,
    Scene.RELOAD,
    Scene.GROWTH,
)
_FACES_CLIENTS = (Topology.HTTP_SOCKET, Topology.HTTP11_SOCKET, Topology.HTTP_ROUTER)


def run_scenes(
    bench: Bench,
    arms: Sequence[ArmSpec],
    workload: Workload,
    budget: Budget,
    *,
    seed: int,
    scenes: Sequence[Scene],
    late_s: float | None = None,
) -> MeasurementResult:
    """Fresh starts of all arms, warm-up, then each scene with all arms in random order.

    An answer is late after the workload's own limit, else after `late_s`, else after `LIMIT_S`.

    Raises `TargetFailed` (with the arm at fault), `Infrastructure`, or `Aborted`.
    """
    order = random.Random(seed)  # noqa: S311  a reproducible shuffle, not a secret
    watch = Stopwatch()
    runs = []
    bench.launcher.check_room(arms)
    with bench.aborting(), bench.started(arms) as (running, ready_s):
        drivers = [
            bench.driver(target, arm, workload, watch)
            for target, arm in zip(running, arms, strict=True)
        ]
        effective = tuple(target.effective_ini() for target in running)
        for driver in drivers:
            bench.check_wanted()
            driver.warm_up(max(WARM_UP_S, budget.warmup_s))
        rate_rps = min(map(_served_rps, drivers)) * SHARE_OF_CAPACITY
        stages = [
            Stage(driver=driver, rate_rps=rate_rps, start_s=seconds, late_s=late_s or LIMIT_S)
            for driver, seconds in zip(drivers, ready_s, strict=True)
        ]
        for scene in scenes:
            for stage in order.sample(stages, len(stages)):
                bench.check_wanted()
                runs.append(stage.play(scene))
    of_all = measured(arms, drivers, watch, ready_s, effective)
    return replace(of_all, scene_runs=tuple(runs))


def _served_rps(driver: Driver) -> float:
    reading = driver.last_warm_up
    return reading.requests / reading.duration_s if reading is not None else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One started arm on which scenes are played, one after the other.

    `start_s` is how long the arm took to get ready.
    """

    driver: Driver
    rate_rps: float
    start_s: float
    late_s: float

    def play(self, scene: Scene) -> SceneRun:
        """One scene. The arm is ready again at the end."""
        if why := self._why_not(scene):
            return SceneRun(scene=scene, arm=self.driver.arm.index, note=why)
        driver = self.driver
        with arm_at_fault(driver.arm), services_running(driver.running), driver.watch.loading():
            if scene is Scene.GROWTH:
                return self._grow()
            kills = driver.running.usage().oom_kills
            run = self._disturb(scene)
            driver.load.wait_ready(driver.running, driver.arm.target)
            if scene is Scene.OUT_OF_MEMORY and driver.running.usage().oom_kills == kills:
                return SceneRun(scene=scene, arm=run.arm, note="the kernel killed no process")
        return run

    def _why_not(self, scene: Scene) -> str:
        """Why a scene cannot be played with this arm; empty if it can."""
        if not self.driver.arm.target.is_uwsgi and scene in _NEEDS_UWSGI:
            return "the server is not uWSGI: its workers are not known"
        if scene is Scene.OUT_OF_MEMORY:
            return self._why_not_filled()
        faces = self.driver.running.front.topology in _FACES_CLIENTS
        if scene is Scene.SLOW_CLIENTS and not faces:
            return "another server is in front of the app and takes the slow clients"
        return ""

    def _why_not_filled(self) -> str:
        if self.driver.arm.limits.memory_mb > FILLED_UP_TO_MB:
            return f"more than {FILLED_UP_TO_MB} MB are not filled in {FILL_S:g} s"
        if not self.driver.running.run_inside(_CAN_FILL, timeout_s=TOUCH_S):
            return "the image lacks `timeout` or `tail`, which would fill the memory"
        return ""

    def _disturb(self, scene: Scene) -> SceneRun:
        """A run of load in which the scene happens."""
        length_s = BEFORE_S + self._wait_s(scene) + AFTER_S
        with ThreadPoolExecutor(max_workers=1) as pool:
            under_way = pool.submit(self._course, self.load(), length_s)
            self.driver.load.run_on(LOAD_STARTS_S + BEFORE_S)
            happened, way, more = self._happen(scene)
            course = under_way.result()
        began_s = BEFORE_S
        if happened is not None:
            began_s = (happened.began - course.started_at).total_seconds()
        due = max(1, course.due + sum(each.due for each in more))
        return SceneRun(
            scene=scene,
            arm=self.driver.arm.index,
            limit_s=self._limit_s,
            sent=course.sent + sum(each.sent for each in more),
            failed=(course.failed + sum(each.failed for each in more)) / due,
            late=(course.late + sum(each.late for each in more)) / due,
            longest_gap_s=course.longest_gap_s,
            back_to_normal_s=course.back_to_normal_s(began_s, began_s + LASTS_S),
            slots_back_s=happened.slots_back_s if happened is not None else None,
            way=way,
        )

    def _happen(self, scene: Scene) -> tuple[Disturbed | None, str, list[Course]]:
        """Let it happen: when it did, in which way, and the courses of further load."""
        load, running = self.driver.load, self.driver.running
        if scene is Scene.OVERLOAD:
            return None, "", [self._course(self.load(OVERLOAD - 1), LASTS_S)]
        if scene is Scene.OUT_OF_MEMORY:
            doomed = load.disturb(running, Disturbance.DOOM, FILL_S)
            running.run_inside(FILL, timeout_s=FILL_S + TOUCH_S)
            return doomed, "", []
        if scene is Scene.RELOAD:
            if way := self._reloaded_by_file():
                return None, way, []
            seconds = self._wait_s(scene)
            return load.disturb(running, Disturbance.RELOAD, seconds), "SIGHUP to the master", []
        return load.disturb(running, _DISTURBANCES[scene], self._wait_s(scene)), "", []

    def _reloaded_by_file(self) -> str:
        """Reload in the way that the file provides; which it was, empty if there is none."""
        running = self.driver.running
        ini = IniFile.parse(running.effective_ini() or self.driver.arm.ini)
        for option in _TOUCHED:
            for path in ini.values(option):
                if path.startswith("/") and running.run_inside(["touch", path], timeout_s=TOUCH_S):
                    return option
        letter = "c" if ini.flag("lazy-apps") else "r"
        for path in ini.values("master-fifo"):
            words = ["sh", "-c", 'test -p "$1" && echo "$0" > "$1"', letter, path]
            if path.startswith("/") and running.run_inside(words, timeout_s=TOUCH_S):
                return f"master-fifo ({letter})"
        return ""

    def _wait_s(self, scene: Scene) -> float:
        """How long a scene lasts at most: a new process may have to load the app."""
        if scene in (Scene.KILLED_WORKER, Scene.RELOAD):
            return min(max(LASTS_S, 2 * self.start_s), SLOWEST_START_S)
        return LASTS_S

    def _course(self, load: Load, seconds: float) -> Course:
        driver = self.driver
        return driver.load.course(
            driver.running, driver.arm.target, load, seconds, late_s=self._limit_s
        )

    def load(self, times: float = 1.0) -> Load:
        """The steady load, or a multiple of it. What cannot be sent at a rate has few users."""
        load = warming(self.driver.loads[0])
        if isinstance(load, Burst | Journey) or not load.is_plain:
            users = round(times * max(2, min(connections(load) // 2, MOST_USERS)))
            field = "concurrency" if isinstance(load, ClosedLoop) else "users"
            return load.model_copy(update={field: users})
        return OpenLoop(
            kind="open_loop",
            requests=load.requests,
            rate_rps=max(1.0, times * self.rate_rps),
            concurrency=round(max(1.0, times) * load.concurrency),
            keep_alive=load.keep_alive,
        )

    @property
    def _limit_s(self) -> float:
        load = self.driver.loads[0]
        return load.limit_s if isinstance(load, Burst | Journey) else self.late_s

    def _grow(self) -> SceneRun:
        """The memory of the app under the whole load."""
        driver = self.driver
        load = warming(driver.loads[0])
        reading = driver.load.drive(driver.running, driver.arm.target, load, GROWTH_S)
        used = reading.over_time.usage.get(APP)
        found = growth_of(
            used.memory_mb if used is not None else (),
            reading.requests / reading.duration_s,
            driver.arm.limits.memory_mb,
        )
        run = SceneRun(scene=Scene.GROWTH, arm=driver.arm.index, sent=reading.sent)
        if found is None:
            return replace(run, note="there are too few readings of the memory")
        return replace(
            run,
            growth_mb_per_10k=found.mb_per_10k,
            growth_unsure_mb_per_10k=found.unsure_mb_per_10k,
            requests_left=found.requests_left,
        )
