"""What production may be unlike the bench, and what may go wrong there."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from tuner.nouns.model.base import about
from tuner.nouns.model.services import Runs
from tuner.nouns.model.targets import Target
from tuner.nouns.model.workloads import Workload, scaled

# ---- Scenes: what goes wrong in production, played under load, and what came of it
#
# A scene is played for the baseline and the candidate in the same block. A file may be faster and
# lose more requests when a worker hangs: the throughput of a window does not show that.

SCENE_S = 6.0
"""Seconds of a scene with one arm, about: 1 s before it, 3 s of it, and 2 s after it."""


class Scene(StrEnum):
    """Something that goes wrong while requests come in."""

    HUNG_WORKER = "hung_worker"
    KILLED_WORKER = "killed_worker"
    OUT_OF_MEMORY = "out_of_memory"
    RELOAD = "reload"
    OVERLOAD = "overload"
    SLOW_CLIENTS = "slow_clients"
    GROWTH = "growth"

    @property
    def sentence(self) -> str:
        """What happens, for a person."""
        return _SCENES[self].sentence

    @property
    def remedy(self) -> str:
        """The options that help a file that does badly in it."""
        return _SCENES[self].remedy


@dataclass(frozen=True, slots=True)
class _Meaning:
    sentence: str
    remedy: str


_SCENES = {
    Scene.HUNG_WORKER: _Meaning(
        "a worker process hangs for 3 s",
        "raise `processes`: the others answer meanwhile; `harakiri` ends a request that hangs",
    ),
    Scene.KILLED_WORKER: _Meaning(
        "a worker process is killed",
        "raise `processes`; without `lazy-apps` a new process need not load the app",
    ),
    Scene.OUT_OF_MEMORY: _Meaning(
        "the memory is full, and the kernel kills a worker process",
        "raise `processes`: the others answer meanwhile; `reload-on-rss` replaces a process before"
        " the kernel kills it",
    ),
    Scene.RELOAD: _Meaning(
        "the app is reloaded",
        "use `lazy-apps` with `touch-chain-reload`: one process after the other is replaced; lower"
        " `worker-reload-mercy` where old processes take long to end",
    ),
    Scene.OVERLOAD: _Meaning(
        "three times the requests come for 3 s",
        "raise `listen`: the kernel holds more connections; `processes` where CPUs are idle",
    ),
    Scene.SLOW_CLIENTS: _Meaning(
        "20 clients send a byte each half second",
        "put `http` or nginx in front: it holds slow clients, and no worker waits for them",
    ),
    Scene.GROWTH: _Meaning(
        "each worker answers 10 000 requests",
        "set `max-requests` or `max-worker-lifetime`: a process that has grown is replaced",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneRun:
    """One scene, played once with one arm. A figure that does not apply is None.

    Shares are of all requests of the run: 1 s before the scene, the scene, and some seconds after.
    """

    scene: Scene
    arm: int
    limit_s: float | None = None  # an answer that takes longer is late
    sent: int = 0
    failed: float | None = None  # share of the requests that failed
    late: float | None = None  # share of the requests that were answered after limit_s
    longest_gap_s: float | None = None  # without any answer
    back_to_normal_s: float | None = None  # from the beginning of the scene
    slots_back_s: float | None = None  # until every worker process accepts again
    growth_mb_per_10k: float | None = None  # requests, of one worker process
    growth_unsure_mb_per_10k: float | None = None  # the same, give or take
    requests_left: int | None = None  # until the memory limit; None if memory may not grow
    way: str = ""  # how the app was reloaded
    note: str = ""  # why the scene was not played

    @property
    def hurt(self) -> float | None:
        """Share of the requests that failed or were late."""
        return None if self.failed is None else self.failed + (self.late or 0.0)


@dataclass(frozen=True, kw_only=True)
class SceneComparison:
    """One scene with both files, in words."""

    scene: Annotated[Scene, about("what goes wrong")]
    baseline: Annotated[str, about("the figures of the present file, over all blocks")]
    candidate: Annotated[str, about("the same of the candidate")]
    is_worse: Annotated[bool, about("whether the candidate does clearly worse")]
    is_accepted: Annotated[bool, about("whether the job accepts that it does worse here")] = False
    sentence: Annotated[str, about("both in one sentence; or why there is no comparison")]
    remedy: Annotated[str, about("the options that help")]


# ---- What production may be unlike the bench: the conditions under which a gain is checked again

DISTANCE = 4.0
"""Times the round trip of the bench: from the same zone to the next one, or a slow network."""


class Condition(StrEnum):
    """One way in which production may differ."""

    BESIDE = "beside"
    FARTHER = "farther"
    HALF_LOAD = "half_load"
    DOUBLE_LOAD = "double_load"

    @property
    def sentence(self) -> str:
        """Where production is like this, for a person."""
        return _TABLE[self]

    def applied(self, target: Target, workload: Workload) -> tuple[Target, Workload]:
        """App and load under this condition."""
        match self:
            case Condition.BESIDE:
                beside = {"runs": Runs.BESIDE, "rtt_ms": 0.0}
                # An API outside, which a stub stands for, runs on no machine of the user.
                own = {name for name, each in target.services.items() if each.stub is None}
                theirs = dict.fromkeys(own - target.beside, beside)
                return _with_services(target, theirs), workload
            case Condition.FARTHER:
                ways = {n: {"rtt_ms": DISTANCE * ms} for n, ms in target.delayed_ms.items()}
                return _with_services(target, ways), workload
            case Condition.HALF_LOAD:
                return target, scaled(workload, 0.5)
            case Condition.DOUBLE_LOAD:
                return target, scaled(workload, 2.0)


_TABLE: Mapping[Condition, str] = {
    Condition.BESIDE: "the services share the app's CPUs",
    Condition.FARTHER: "the services are four times as far away",
    Condition.HALF_LOAD: "the load is half of this",
    Condition.DOUBLE_LOAD: "the load is twice this",
}

_WITH_MORE_SLOTS = (
    Condition.BESIDE,
    Condition.HALF_LOAD,
    Condition.DOUBLE_LOAD,
    Condition.FARTHER,
)
_WITH_FEWER_SLOTS = (
    Condition.FARTHER,
    Condition.DOUBLE_LOAD,
    Condition.BESIDE,
    Condition.HALF_LOAD,
)


@dataclass(frozen=True, slots=True)
class Slots:
    """Requests that both files serve at once."""

    baseline: float
    candidate: float


def conditions_of(target: Target, workload: Workload, slots: Slots) -> tuple[Condition, ...]:
    """The conditions that differ from the bench, the likeliest to turn the sign first.

    Slots that are added take CPU from services beside the app; slots that are saved are missing
    where requests wait longer.
    """
    order = _WITH_FEWER_SLOTS if slots.candidate < slots.baseline else _WITH_MORE_SLOTS
    return tuple(c for c in order if c.applied(target, workload) != (target, workload))


def _with_services(target: Target, changes: Mapping[str, dict[str, Any]]) -> Target:
    """The app with other fields of these services."""
    changed = {name: target.services[name].model_copy(update=its) for name, its in changes.items()}
    return target.model_copy(update={"services": {**target.services, **changed}})
