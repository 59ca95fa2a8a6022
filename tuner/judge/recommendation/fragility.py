"""No more fragile than the present file: scenes of baseline and candidate, compared.

"Clearly worse" is conservative. Every block of the candidate must be worse than every block of the
baseline, and by a step that a user notices. So one block of chance does not decide.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from tuner.nouns.model import Measurement, Scene, SceneComparison, SceneRun

FEWEST_BLOCKS = 2
WORSE_BY_SHARE = 0.1  # of the requests
WORSE_BY_S = 1.0
WORSE_BY_MB = 5.0  # for each 10 000 requests
WORSE_BY_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure of a run, in words, and from when on a higher one is worse than another.

    `unsure` is by how much one run may be wrong.
    """

    of: Callable[[SceneRun], float | None]
    words: Callable[[float, SceneRun], str]
    worse_from: Callable[[float], float]
    unsure: Callable[[SceneRun], float] = lambda run: 0.0


def _growth_words(value: float, run: SceneRun) -> str:
    unsure = run.growth_unsure_mb_per_10k
    said = f"memory grows by {max(0.0, value):.1f} MB"
    said += f" (give or take {unsure:.1f})" if unsure else ""
    left = run.requests_left
    return f"{said}, and is full after {left:,} more requests" if left is not None else said


def _times(by: float) -> Callable[[float], float]:
    return lambda value: max(value + by, WORSE_BY_FACTOR * value)


_HURT = _Figure(
    lambda run: run.hurt,
    lambda value, run: (
        f"{100 * value:.0f} % of the requests fail or wait longer than {run.limit_s or 1:g} s"
    ),
    lambda value: value + WORSE_BY_SHARE,
)
_BACK = _Figure(
    lambda run: run.back_to_normal_s,
    lambda value, _: f"normal again after {value:.1f} s",
    _times(WORSE_BY_S),
)
_SLOTS = _Figure(
    lambda run: run.slots_back_s,
    lambda value, _: f"all workers are back after {value:.1f} s",
    _times(WORSE_BY_S),
)
_GAP = _Figure(
    lambda run: run.longest_gap_s,
    lambda value, _: f"the longest time without an answer is {value:.1f} s",
    _times(WORSE_BY_S),
)
_GROWTH = _Figure(
    lambda run: run.growth_mb_per_10k,
    lambda value, run: _growth_words(value, run),
    _times(WORSE_BY_MB),
    lambda run: run.growth_unsure_mb_per_10k or 0.0,
)
_FIGURES = {
    Scene.HUNG_WORKER: (_HURT, _BACK),
    Scene.KILLED_WORKER: (_HURT, _SLOTS),
    Scene.OUT_OF_MEMORY: (_HURT, _BACK),
    Scene.RELOAD: (_HURT, _GAP),
    Scene.OVERLOAD: (_HURT, _BACK),
    Scene.SLOW_CLIENTS: (_HURT,),
    Scene.GROWTH: (_GROWTH,),
}


def compare_scenes(
    blocks: Iterable[Measurement], accept: Collection[Scene] = ()
) -> tuple[SceneComparison, ...]:
    """Arm 0 (baseline) against arm 1 (candidate) in each scene that was played."""
    runs = [run for block in blocks if block.result for run in block.result.scene_runs]
    return tuple(
        _compared(scene, [run for run in runs if run.scene is scene], scene in accept)
        for scene in dict.fromkeys(run.scene for run in runs)
    )


def _compared(scene: Scene, runs: Sequence[SceneRun], is_accepted: bool) -> SceneComparison:
    arms = [[run for run in runs if run.arm == arm and not run.note] for arm in (0, 1)]
    if not all(arms):
        why = next((run.note for run in runs if run.note), "one of the files was not played")
        return SceneComparison(
            scene=scene,
            baseline=_words(scene, arms[0]),
            candidate=_words(scene, arms[1]),
            is_worse=False,
            sentence=f"{scene.sentence}: not compared, because {why}",
            remedy=scene.remedy,
        )
    worse = [figure for figure in _FIGURES[scene] if _is_worse(figure, *arms)]
    shown = (worse or _FIGURES[scene])[:1]
    baseline, candidate = (_said(shown, arm) for arm in arms)
    return SceneComparison(
        scene=scene,
        baseline=_words(scene, arms[0]),
        candidate=_words(scene, arms[1]),
        is_worse=bool(worse),
        is_accepted=is_accepted,
        sentence=f"{scene.sentence}: {baseline}; with the candidate {candidate}",
        remedy=scene.remedy,
    )


def _is_worse(figure: _Figure, baseline: Sequence[SceneRun], candidate: Sequence[SceneRun]) -> bool:
    before = [value + unsure for value, unsure in _readings(figure, baseline)]
    after = [value - unsure for value, unsure in _readings(figure, candidate)]
    if min(len(before), len(after)) < FEWEST_BLOCKS:
        return False
    return min(after) >= figure.worse_from(max(0.0, *before))


def _values(figure: _Figure, runs: Sequence[SceneRun]) -> list[float]:
    return [value for value, _ in _readings(figure, runs)]


def _readings(figure: _Figure, runs: Sequence[SceneRun]) -> list[tuple[float, float]]:
    return [(value, figure.unsure(run)) for run in runs if (value := figure.of(run)) is not None]


def _words(scene: Scene, runs: Sequence[SceneRun]) -> str:
    return _said(_FIGURES[scene], runs) or "not played"


def _said(figures: Sequence[_Figure], runs: Sequence[SceneRun]) -> str:
    """The medians over the blocks."""
    found = [(figure, values) for figure in figures if (values := _values(figure, runs))]
    return "; ".join(figure.words(median(values), runs[0]) for figure, values in found)
