"""The blocks of a tuning job with their seconds, and what of a budget fits in its minutes.

Pure functions. As in `planning`, only noise and seconds decide, never an effect that was seen.
"""

from collections.abc import Iterator, Mapping, Sequence

from tuner.judge.analysis.estimating import FEWEST_BLOCKS
from tuner.judge.analysis.planning import (
    FEWEST_PLANNED,
    ablating,
    block_cycles,
    blocks_to_confirm,
)
from tuner.nouns.model import (
    BASELINE,
    GATE_BLOCKS,
    RUNS_OF_A_BLOCK,
    Budget,
    Calibration,
    JobKind,
    JobSpec,
    Phase,
    Scene,
    Slots,
    TrialNumber,
    conditions_of,
    rungs,
)

Block = tuple[Sequence[TrialNumber], int]
"""Arms of a block, and the windows of each. Where numbers do not matter, all are baselines."""

PAIR = (BASELINE,) * 2

FEWEST_SEARCHED = 8
"""Blocks of a search; a budget with fewer has its own."""

_SMALLER: tuple[Mapping[str, int], ...] = (
    {"ablate_runs": 48},
    {"ablate_runs": 24},
    {"confirm_blocks": 24},
    {"ablate_runs": 0},
    {"conditions": 1, "condition_blocks": 6, "scene_blocks": 2},
    {"race": 2},
    {"confirm_blocks": 16},
    {"race": 0},
    {"confirm_blocks": FEWEST_PLANNED},
    {"scene_blocks": 0},
    {"conditions": 0},
)
"""What a job gives up first, where its minutes are short. The ablation makes the file shorter, but
proves nothing of it. What is unlike in production goes last."""

_PACE = 1.2
"""Seconds of a block as a multiple of what is planned, before a calibration knows them: arms that
get steady late."""


def tuning_blocks(
    spec: JobSpec, calibration: Calibration | None
) -> Mapping[Phase, Sequence[Block]]:
    """The blocks of each phase of a tuning job, at most. A calibration makes them fewer, and
    shorter on a quiet host.
    """
    budget = spec.budget
    shorter: Block = (PAIR, block_cycles(calibration, spec))
    ablation = ablating(calibration, (), spec)
    ablated: Block = ((BASELINE,) * (RUNS_OF_A_BLOCK + 1), ablation.cycles)
    return {
        Phase.CALIBRATE: [(PAIR, budget.cycles)] * budget.calibrate_blocks,
        Phase.SEARCH: [shorter] * budget.trials,
        Phase.RACE: _race(budget),
        Phase.ABLATE: [ablated] * (ablation.runs // RUNS_OF_A_BLOCK),
        Phase.CONFIRM: [shorter] * blocks_to_confirm(calibration, spec),
        Phase.CONDITIONS: [shorter] * (budget.condition_blocks * _conditions(spec)),
    }


def compromise_blocks(spec: JobSpec) -> Sequence[Block]:
    """Blocks of the compromise, which few jobs need."""
    conditions = _conditions(spec)
    pairs = spec.budget.condition_blocks + FEWEST_BLOCKS * conditions if conditions else 0
    return [(PAIR, spec.budget.cycles)] * pairs


def scenes_s(spec: JobSpec) -> float:
    """Seconds of load of all scenes that the job plays."""
    return spec.budget.scenes_s(len(set(Scene) - set(spec.skip)))


def expected_s(spec: JobSpec, blocks: Sequence[Block], warm_ups: int = 1) -> float:
    """Seconds of the blocks with their starts; by default every arm is steady after one warm-up."""
    starts_s = (spec.targets[arm].start_s for arms, _ in blocks for arm in arms)
    return sum(load_s(spec, block, warm_ups) for block in blocks) + sum(starts_s)


def load_s(spec: JobSpec, block: Block, warm_ups: int = 1) -> float:
    """Seconds of load in one block, as the budget asks; a burst may take longer."""
    arms, cycles = block
    return len(arms) * spec.budget.arm_load_s(cycles * rungs_of_a_block(spec), warm_ups)


def rungs_of_a_block(spec: JobSpec) -> int:
    """Loads that each arm of a block gets; a comparison has a block for each."""
    return 1 if spec.kind is JobKind.COMPARE else len(rungs(spec.workload))


def within_minutes(spec: JobSpec, calibration: Calibration | None) -> JobSpec:
    """The job with what of its budget fits in its minutes; itself where it has none.

    What is left then goes to the search, which heeds the clock.
    """
    minutes = spec.budget.minutes
    if minutes is None or spec.kind is not JobKind.TUNE:
        return spec
    smallest = spec
    for smallest in _smaller(spec):
        if _least_s(smallest, calibration) <= 60 * minutes:
            break
    return smallest


def fewest_minutes(spec: JobSpec) -> float:
    """Minutes of the smallest job that `within_minutes` makes of this one."""
    *_, smallest = _smaller(spec)
    return _least_s(smallest, None) / 60


def after_search_s(spec: JobSpec, calibration: Calibration | None) -> float:
    """Seconds from the end of the search to the answer, at the pace of the calibration.

    Without blocks that a clear result leaves out, they are fewer.
    """
    blocks = tuning_blocks(spec, calibration)
    phases = list(blocks)
    later = phases[phases.index(Phase.SEARCH) + 1 :]
    of_phases_s = sum(expected_s(spec, blocks[phase]) for phase in later)
    last_s = max(scenes_s(spec), expected_s(spec, compromise_blocks(spec)))
    return (of_phases_s + last_s) * _pace(spec, calibration)


def _smaller(spec: JobSpec) -> Iterator[JobSpec]:
    """The job, then the same with an ever smaller budget."""
    budget = spec.budget
    yield spec
    for most in _SMALLER:
        fewer = {name: min(getattr(budget, name), value) for name, value in most.items()}
        budget = budget.model_copy(update=fewer)
        yield spec.model_copy(update={"budget": budget})


def _least_s(spec: JobSpec, calibration: Calibration | None) -> float:
    """Seconds of a job with the shortest search."""
    blocks = tuning_blocks(spec, calibration)
    before = [*blocks[Phase.CALIBRATE], *blocks[Phase.SEARCH][:FEWEST_SEARCHED]]
    before_s = expected_s(spec, before) * _pace(spec, calibration)
    return before_s + after_search_s(spec, calibration)


def _pace(spec: JobSpec, calibration: Calibration | None) -> float:
    """Seconds of an A/A block as a multiple of those planned."""
    if calibration is None or calibration.block_s is None:
        return _PACE
    return max(1.0, calibration.block_s / expected_s(spec, [(PAIR, spec.budget.cycles)]))


def _conditions(spec: JobSpec) -> int:
    """Conditions that a better file is checked under."""
    found = conditions_of(spec.target, spec.workload, Slots(1, 1))
    return min(spec.budget.conditions, len(set(found) - set(spec.skip)))


def _race(budget: Budget) -> list[Block]:
    """The blocks of all rounds, and those of the gate between a race and an ablation."""
    rounds: list[Block] = [
        ((BASELINE,) * (racing + 1), budget.race_cycles)
        for racing in budget.race_rounds
        for _ in range(budget.blocks_of_round(racing, entered=budget.race))
    ]
    has_gate = rounds and budget.ablate_runs
    return [*rounds, *([(PAIR, budget.race_cycles)] * GATE_BLOCKS if has_gate else [])]
