"""The size of a job: its blocks, and the time and the memory that they take. Pure functions."""

from collections.abc import Mapping, Sequence
from itertools import chain

from tuner.errors import InvalidInput
from tuner.model import (
    ANSWERS_OF_A_CONNECTION,
    BASELINE,
    CONNECT_TIMEOUT_S,
    RUNS_OF_A_BLOCK,
    WARM_UPS_AT_MOST,
    Budget,
    ClosedLoop,
    JobKind,
    JobSpec,
    Phase,
    Scene,
    Slots,
    TargetFacts,
    TrialNumber,
    conditions_of,
    connections,
    rungs,
)
from tuner.schemas import Size
from tuner.study import needs_mb, rounds
from tuner.wording import count, estimate, memory

Block = tuple[Sequence[TrialNumber], int]
"""Arms of a block, and the cycles of each. Where their numbers do not matter, all are baselines."""

Planned = Mapping[Phase, Sequence[Block]]
"""Every block that a phase may have at most."""

LONG_QUEUE = 4096
"""Connections; few servers ask the kernel for a longer queue, even where somaxconn allows it."""

PAIR = (BASELINE,) * 2


def size_of(spec: JobSpec, plan: Planned) -> Size:
    """What the whole job takes, from the first block to the last."""
    blocks = [*chain(*plan.values())]
    takes_s = round(min(expected_s(spec, blocks) + _scenes_s(spec), _bound_s(spec)), 1)
    arms_at_once = max((len(arms) for arms, _ in blocks), default=0)
    memory_mb = max((needs_mb(spec, arms) for arms, _ in blocks), default=0)
    beside = " and their services" if any(target.services for target in spec.targets) else ""
    return Size(
        takes_s=takes_s,
        blocks=len(blocks),
        arms_at_once=arms_at_once,
        memory_mb=memory_mb,
        sentence=(
            f"{_duration(spec, blocks, takes_s)}:"
            f" {_measured(spec, len(blocks))}; up to {count(arms_at_once, 'arm')}{beside} at once,"
            f" with {memory(memory_mb)} of memory{_if_slow(spec)}"
        ),
    )


def require_allowed_time(spec: JobSpec, minutes: float | None) -> None:
    """Refuse a job that takes longer than the operator allows. Raises `InvalidInput`."""
    if minutes is None:
        return
    takes_s = size_of(spec, planned(spec)).takes_s
    if takes_s > 60 * minutes:
        allowed = f"this service allows {minutes:g} minutes a job (TUNER_JOB_MINUTES)"
        advice = "ask for fewer trials, blocks or windows"
        raise InvalidInput.at("budget", f"it takes {estimate(takes_s)}, and {allowed}; {advice}")


def planned(spec: JobSpec, facts: TargetFacts | None = None) -> Planned:
    """The blocks of a whole job. A race and a confirmation may end early."""
    budget = spec.budget
    pair: Block = (PAIR, budget.cycles)
    match spec.kind:
        case JobKind.COMPARE:
            files = tuple(TrialNumber(number) for number in range(len(spec.variants)))
            working = dict.fromkeys(rungs(spec.workload), files)
            blocks = chain(*rounds(spec, facts, working))
            return {Phase.COMPARE: [(arms, budget.cycles) for arms, _ in blocks]}
        case JobKind.CALIBRATE:
            return {Phase.CALIBRATE: [pair] * budget.calibrate_blocks}
        case JobKind.TUNE:
            ablation: Block = ((BASELINE,) * (RUNS_OF_A_BLOCK + 1), budget.cycles)
            return {
                Phase.CALIBRATE: [pair] * budget.calibrate_blocks,
                Phase.SEARCH: [pair] * budget.trials,
                Phase.RACE: _race(budget),
                Phase.ABLATE: [ablation] * (budget.ablate_runs // RUNS_OF_A_BLOCK),
                Phase.CONFIRM: [pair] * budget.confirm_blocks,
                Phase.CONDITIONS: [pair] * (budget.condition_blocks * _conditions(spec)),
            }


def expected_s(spec: JobSpec, blocks: Sequence[Block], warm_ups: int = 1) -> float:
    """Seconds of the blocks with their starts; by default every arm is steady after one warm-up."""
    starts_s = (spec.targets[arm].start_s for arms, _ in blocks for arm in arms)
    return sum(load_s(spec, block, warm_ups) for block in blocks) + sum(starts_s)


def load_s(spec: JobSpec, block: Block, warm_ups: int = 1) -> float:
    """Seconds of load in one block, as the budget asks; a burst may take longer."""
    arms, cycles = block
    return len(arms) * spec.budget.arm_load_s(cycles * _rungs_of_a_block(spec), warm_ups)


def _rungs_of_a_block(spec: JobSpec) -> int:
    return 1 if spec.kind is JobKind.COMPARE else len(rungs(spec.workload))


def _duration(spec: JobSpec, blocks: Sequence[Block], takes_s: float) -> str:
    """`12 min to 19 min`: the second if no arm gets steady, and connections wait in vain.

    A tuning job may end early.
    """
    longest_s = expected_s(spec, blocks, WARM_UPS_AT_MOST) + _in_vain_s(spec, blocks)
    longest_s += _scenes_s(spec)
    shortest, longest = estimate(takes_s), estimate(min(longest_s, _bound_s(spec)))
    duration = f"about {shortest}" if shortest == longest else f"{shortest} to {longest}"
    return f"{duration}, or less" if spec.kind is JobKind.TUNE else duration


def _if_slow(spec: JobSpec) -> str:
    """What makes windows longer."""
    is_closed = any(isinstance(load, ClosedLoop) for load in rungs(spec.workload).values())
    if spec.kind is not JobKind.COMPARE or not is_closed:
        return ""
    longest_s = spec.budget.window_s / ANSWERS_OF_A_CONNECTION
    return f"; longer where a request takes over {longest_s:g} s"


def _bound_s(spec: JobSpec) -> float:
    return 60 * (spec.budget.minutes or float("inf"))


def _in_vain_s(spec: JobSpec, blocks: Sequence[Block]) -> float:
    """Seconds that runs may end later: more connections than queues hold wait and time out.

    All rungs have as many runs.
    """
    loads = [connections(load) for load in rungs(spec.workload).values()]
    queue = min(spec.limits.somaxconn, LONG_QUEUE)
    late = sum(each > queue for each in loads) / len(loads)
    of_a_rung = sum(len(arms) * (WARM_UPS_AT_MOST + cycles) for arms, cycles in blocks)
    return late * of_a_rung * _rungs_of_a_block(spec) * CONNECT_TIMEOUT_S


def _conditions(spec: JobSpec) -> int:
    """Conditions that a better file is checked under."""
    found = conditions_of(spec.target, spec.workload, Slots(1, 1))
    return min(spec.budget.conditions, len(set(found) - set(spec.skip)))


def _scenes_s(spec: JobSpec) -> float:
    """Seconds of the scenes: they have no windows, and are no part of the plan of blocks."""
    return spec.budget.scenes_s(len(set(Scene) - set(spec.skip)))


def _race(budget: Budget) -> list[Block]:
    return [
        ((BASELINE,) * (racing + 1), budget.race_cycles)
        for racing in budget.race_rounds
        for _ in range(budget.blocks_of_round(racing, entered=budget.race))
    ]


def _measured(spec: JobSpec, blocks: int) -> str:
    """`3 rungs x 4 rounds x 8 arms`."""
    if spec.kind is JobKind.TUNE:
        return f"{count(spec.budget.trials, 'trial')}, {count(blocks, 'block')}"
    if spec.kind is JobKind.CALIBRATE:
        return f"{count(blocks, 'block')} x {count(len(PAIR), 'arm')}"
    steps = len(rungs(spec.workload))
    parts = [count(steps, "rung")] if steps > 1 else []
    parts += [count(spec.budget.compare_blocks, "round"), count(len(spec.variants), "arm")]
    return " x ".join(parts)
