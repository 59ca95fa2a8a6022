"""One case, a landscape with its noise, a method and a seed, to one line of results.

| scene     | the truth                                                                       |
|-----------|---------------------------------------------------------------------------------|
| `plain`   | as recorded                                                                     |
| `null`    | every configuration does as the user's own                                      |
| `planted` | with one more option worth 5 %, and two that do nothing                         |
| `good`    | the user's own file is within 1 % of the best                                   |
"""

import hashlib
import math
import time
import zlib
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from tests.benchmarks.replay import rivals
from tests.benchmarks.replay.driver import play
from tests.benchmarks.replay.landscape import NULL_OPTIONS, PLANTED_OPTION, Truth
from tests.benchmarks.replay.noise import Noise, residuals
from tests.benchmarks.replay.records import Landscape
from tests.benchmarks.replay.samplers import AnyOptimiser, SpaceFilling
from tests.benchmarks.replay.scoring import Result, score
from tests.benchmarks.replay.surface import FloatArray
from tests.benchmarks.replay.world import World
from tuner.nouns.model import PRESETS, JobKind, JobSpec, SamplerName
from tuner.study import decider

LANDSCAPES = Path(__file__).parent / "landscapes"
APPS = ("cpu-bound", "io-bound", "memory-hungry")
PLANTED_EFFECT = math.log(1.05)
GOOD_IS_BEHIND = 0.005  # log ratio of the best to a user's file that is already good


class Scene(StrEnum):
    """Which truth is derived from the record."""

    PLAIN = "plain"
    NULL = "null"
    PLANTED = "planted"
    GOOD = "good"


class Rival(StrEnum):
    """What is done with the seconds instead of our job."""

    TPE_BEST = "tpe+best_trial"
    TPE_SEEDED_BEST = "heuristics+tpe+best_trial"
    RANDOM_BEST = "random+best_trial"
    HEURISTICS_DUEL = "heuristics+duel"


Method = SamplerName | SpaceFilling | Rival
"""Our job with one of its samplers, or something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One replayed job. `seconds` is what a rival may spend: those of our job of the same seed."""

    app: str
    scene: Scene
    level: float
    method: Method
    seed: int
    budget: str = "standard"
    is_bad_machine: bool = False
    is_smoothed: bool = False  # the record, before anything is derived from it
    seconds: float | None = None

    @property
    def group(self) -> str:
        """What all seeds of this case have in common, the record's content included."""
        weather = "+bursts" if self.is_bad_machine else ""
        level = f"{100 * self.level:g}%{weather}"
        record = f"{self.app}@{digest(self.app)}{'+smoothed' if self.is_smoothed else ''}"
        return f"{record}/{self.scene}/{level}/{self.budget}/{self.method}"

    @property
    def key(self) -> str:
        """Tells this case from all others; says nothing about the code that runs it."""
        return f"{self.group}/{self.seed}"

    @property
    def reference(self) -> "Case":
        """Our job whose seconds a rival may spend: that of the default sampler."""
        return replace(self, method=DEFAULT_SAMPLER, seconds=None)


DEFAULT_SAMPLER = SamplerName.GP


def run(case: Case) -> Result:
    """Replay it."""
    truth = truth_of(case.app, case.scene, case.budget, is_smoothed=case.is_smoothed)
    world = world_of(case, truth)
    began = time.process_time()
    result = _result(case, truth, world)
    return replace(result, cpu_s=round(time.process_time() - began, 3))


def _result(case: Case, truth: Truth, world: World) -> Result:
    match case.method:
        case SamplerName() | SpaceFilling() as sampler:
            spec = truth.spec.model_copy(update={"seed": case.seed})
            return score(play(spec, world, decider(AnyOptimiser(sampler))), truth)
        case Rival.HEURISTICS_DUEL:
            spec = _heuristics_only(truth).model_copy(update={"seed": case.seed})
            return score(play(spec, world, decider(AnyOptimiser())), truth)
        case Rival.TPE_BEST | Rival.TPE_SEEDED_BEST | Rival.RANDOM_BEST as rival:
            if case.seconds is None:
                raise ValueError(f"{case.key}: nobody said how many seconds there are")
            return rivals.best_trial(
                truth,
                world,
                sampler="random" if rival is Rival.RANDOM_BEST else "tpe",
                seconds=case.seconds,
                seed=case.seed,
                is_seeded=rival is Rival.TPE_SEEDED_BEST,
            )


def _heuristics_only(truth: Truth) -> JobSpec:
    """No search beyond the heuristics, no race and no ablation: the best of them is confirmed."""
    update = {"trials": len(truth.domain.seeds()), "race": 0, "ablate_runs": 0}
    return truth.spec.model_copy(update={"budget": truth.spec.budget.model_copy(update=update)})


def world_of(case: Case, truth: Truth) -> World:
    """A host whose noise depends on the case, but not on the method."""
    noise = Noise(level=case.level, is_bad_machine=case.is_bad_machine)
    seed = zlib.crc32(replace(case, method=DEFAULT_SAMPLER).key.encode())
    return World(truth, _shapes(case.app), noise, seed=seed)


@cache
def truth_of(app: str, scene: Scene, budget: str, *, is_smoothed: bool = False) -> Truth:
    """The truth of a scene, with the budget of the job to be run on it."""
    record = landscape(app)
    job = {"budget": PRESETS[budget], "kind": JobKind.TUNE}
    record = record.model_copy(update={"spec": record.spec.model_copy(update=job)})
    truth = Truth.of(record, is_smoothed=is_smoothed)
    match scene:
        case Scene.PLAIN:
            return truth
        case Scene.NULL:
            return truth.null()
        case Scene.PLANTED:
            effects = dict.fromkeys(NULL_OPTIONS, 0.0) | {PLANTED_OPTION: PLANTED_EFFECT}
            return truth.planted(effects)
        case Scene.GOOD:
            return truth.rebased(truth.nearly_best(GOOD_IS_BEHIND))


@cache
def landscape(app: str) -> Landscape:
    """The record of an app."""
    return Landscape.model_validate_json(_path(app).read_text())


def is_recorded(app: str) -> bool:
    """Whether there is a record of it."""
    return _path(app).exists()


@cache
def digest(app: str) -> str:
    """Tells one record of an app from the next."""
    return hashlib.sha256(_path(app).read_bytes()).hexdigest()[:8]


def _path(app: str) -> Path:
    return LANDSCAPES / f"{app}.json"


@cache
def _shapes(app: str) -> FloatArray:
    return residuals(landscape(app))
