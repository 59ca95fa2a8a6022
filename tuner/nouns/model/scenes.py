"""Scenes: what goes wrong in production, played under load, and what came of it.

A scene is played for the baseline and the candidate in the same block. A file may be faster and
lose more requests when a worker hangs: the throughput of a window does not show that.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from tuner.nouns.model.noun import about

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
        return _TABLE[self].sentence

    @property
    def remedy(self) -> str:
        """The options that help a file that does badly in it."""
        return _TABLE[self].remedy


@dataclass(frozen=True, slots=True)
class _Meaning:
    sentence: str
    remedy: str


_TABLE = {
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
