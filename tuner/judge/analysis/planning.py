"""How many windows, blocks and runs a job needs on a host as noisy as this one.

The budget says the most. Only noise and seconds decide, never an effect that was seen: so the error
rates of the job stay what they are. The noise of a block with c windows of each arm is

    block_sd(c)² = 2 (start_sd² + window_sd² / c)

by the parts that the calibration found.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import variance

from scipy import special

from tuner.judge import objective
from tuner.judge.analysis.calibrating import FEWEST_RATIOS
from tuner.nouns.model import BASELINE, Calibration, JobSpec, Measurement

FEWEST_CYCLES = 2
"""Windows of an arm in one block: with one alone, noise of starts and of windows look the same."""

QUIET_SD = 0.04
"""Noise of a block that is low enough to rank candidates: more windows would cost more than they
tell. `make bench-search` has the figures."""

FEWEST_ANSWERS = 5000
"""Of a file in all blocks of the confirmation: about what it takes to show that errors are at most
0.1 % above the baseline's, where both files fail one request in 1 000. An app that answers slowly
keeps its windows."""

WORTH_SEEING = 1.5
"""Of `min_effect`: the gain that a confirmation shows with a power of 90 %."""

FEWEST_PLANNED = 12
"""Blocks of a confirmation: with fewer, Student's t makes the first looks useless."""

LINE_SE = 0.0053
"""Standard error of the effect of a line, in logs: half of the least gain worth a line."""

RUNS_OF_A_DESIGN = 24
"""An ablation has this many runs, or a multiple of them."""

_NEEDED_Z = float(-special.ndtri(0.025) - special.ndtri(0.10))


@dataclass(frozen=True, slots=True)
class Ablating:
    """Runs of an ablation, and windows of each arm in one of its blocks."""

    runs: int
    cycles: int


def block_sd(calibration: Calibration, cycles: int) -> float:
    """The noise of a block with so many windows of each arm, in logs.

    Where its parts are not known, that of the A/A blocks.
    """
    if calibration.start_sd is None or calibration.window_sd is None:
        return calibration.block_sd
    return math.sqrt(2 * (calibration.start_sd**2 + calibration.window_sd**2 / cycles))


def block_cycles(calibration: Calibration | None, spec: JobSpec) -> int:
    """Windows of each arm in a block of the search, and of the confirmation."""
    budget = spec.budget
    if calibration is None:
        return budget.cycles
    answers = calibration.throughput_rps * budget.window_s * max(1, budget.confirm_blocks)
    fewest = max(FEWEST_CYCLES, math.ceil(FEWEST_ANSWERS / max(answers, 1.0)))
    enough = range(fewest, budget.cycles)
    return next((c for c in enough if block_sd(calibration, c) <= QUIET_SD), budget.cycles)


def blocks_to_confirm(calibration: Calibration | None, spec: JobSpec) -> int:
    """Blocks of the confirmation that its looks and their bounds are planned for.

    Twice what is needed, because a few A/A blocks know the noise only roughly.
    """
    most = spec.budget.confirm_blocks
    if calibration is None:
        return most
    sd = block_sd(calibration, block_cycles(calibration, spec))
    needed = (_NEEDED_Z * sd / math.log1p(WORTH_SEEING * spec.min_effect)) ** 2
    return min(most, max(FEWEST_PLANNED, math.ceil(2 * needed)))


def ablating(
    calibration: Calibration | None, raced: Sequence[Measurement], spec: JobSpec
) -> Ablating:
    """The shortest ablation that knows each line to `LINE_SE`; else all that the budget has.

    `raced` are the blocks of the race: they tell more about the noise. The effect of a line is the
    difference of two halves of the runs, so its standard error is 2 sd / √runs.
    """
    budget = spec.budget
    most = Ablating(budget.ablate_runs, budget.cycles)
    if calibration is None:
        return most
    larger = _noise_of_race(calibration, raced, spec)
    plans = [most]
    for cycles in range(min(FEWEST_CYCLES, budget.cycles), budget.cycles + 1):
        run_sd = larger * block_sd(calibration, cycles) / math.sqrt(2)
        designs = math.ceil((2 * run_sd / LINE_SE) ** 2 / RUNS_OF_A_DESIGN)
        plans.append(Ablating(RUNS_OF_A_DESIGN * max(1, designs), cycles))
    fitting = [plan for plan in plans if plan.runs <= budget.ablate_runs]
    return min(fitting, key=lambda plan: plan.runs * budget.arm_load_s(plan.cycles))


def _noise_of_race(calibration: Calibration, raced: Sequence[Measurement], spec: JobSpec) -> float:
    """The noise seen so far as a multiple of what the calibration says: 1 without a race.

    Squares are pooled by their degrees of freedom: an A/A block has one each, because the mean of
    its arms' difference is known to be 0.
    """
    wanted = block_sd(calibration, spec.budget.race_cycles) ** 2
    squares, degrees = float(calibration.blocks), calibration.blocks
    for number in sorted({number for block in raced for number in block.arms} - {BASELINE}):
        ratios = objective.ratios_to_baseline(raced, number, spec.objective.metric)
        if len(ratios) >= FEWEST_RATIOS and wanted > 0:
            squares += (len(ratios) - 1) * variance(ratios) / wanted
            degrees += len(ratios) - 1
    return math.sqrt(squares / degrees)
