"""The size of a job: its blocks, and the time and the memory that they take. Pure functions."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain

from tuner.judge.analysis import (
    PAIR,
    Block,
    compromise_blocks,
    detectable,
    expected_s,
    load_s,
    rungs_of_a_block,
    scenes_s,
    tuning_blocks,
    within_minutes,
)
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import (
    ANSWERS_OF_A_CONNECTION,
    BASELINE,
    CONNECT_TIMEOUT_S,
    WARM_UPS_AT_MOST,
    Calibration,
    ClosedLoop,
    Job,
    JobKind,
    JobSpec,
    JobState,
    JobStatus,
    MeasurementKind,
    MeasurementState,
    Phase,
    Scene,
    Tally,
    TargetFacts,
    TrialNumber,
    connections,
    rungs,
)
from tuner.nouns.schemas import Incumbent, PhaseSize, Progress, Size
from tuner.nouns.wording import count, estimate, memory, share
from tuner.study import needs_mb, rounds

Planned = Mapping[Phase, Sequence[Block]]
"""The blocks of each phase. A clear gain with unclear costs may take more to be confirmed, and a
race that scatters may ask for more runs, up to the budget."""

_NOISES = (0.01, 0.03)
"""Noise of a block on a quiet host of its own, and on a shared one."""

LONG_QUEUE = 4096
"""Connections; few servers ask the kernel for a longer queue, even where somaxconn allows it."""


def size_of(spec: JobSpec, plan: Planned) -> Size:
    """What the whole job takes: the sum of its phases."""
    phases = phases_of(spec, plan)
    blocks = sum(phase.blocks for phase in phases)
    takes_s = round(sum(phase.takes_s for phase in phases), 1)
    longest_s = sum(phase.longest_s for phase in phases)
    at_once = [arms for arms, _ in chain(*plan.values())]
    arms_at_once = max(map(len, at_once), default=0)
    memory_mb = max((needs_mb(spec, arms) for arms in at_once), default=0)
    beside = " and their services" if any(target.services for target in spec.targets) else ""
    return Size(
        takes_s=takes_s,
        blocks=blocks,
        arms_at_once=arms_at_once,
        memory_mb=memory_mb,
        sentence=(
            f"{_duration(spec, takes_s, longest_s)}:"
            f" {_measured(spec, blocks)}; up to {count(arms_at_once, 'arm')}{beside} at once,"
            f" with {memory(memory_mb)} of memory{_if_slow(spec)}{_if_prepared(spec)}"
            f"{_shown(spec, plan)}"
        ),
        phases=phases,
    )


def phases_of(spec: JobSpec, plan: Planned) -> tuple[PhaseSize, ...]:
    """What each phase with blocks takes, in their order. Only the search heeds the clock."""
    rows = [_phase(spec, phase, blocks) for phase, blocks in plan.items()]
    rows = [row for row in (*rows, _after_conditions(spec)) if row.blocks]
    if spec.budget.minutes is None:
        return tuple(rows)
    others_s = sum(row.takes_s for row in rows if row.phase != Phase.SEARCH)
    left_s = max(0.0, 60 * spec.budget.minutes - others_s)
    return tuple(_cut(row, left_s) if row.phase == Phase.SEARCH else row for row in rows)


def _phase(spec: JobSpec, phase: Phase, blocks: Sequence[Block]) -> PhaseSize:
    """All blocks with one warm-up; the longest if no arm gets steady, and connections wait in vain.

    A tuning job may end after a search without a good candidate, and a search after one trial.
    """
    is_sure = spec.kind is not JobKind.TUNE or phase is Phase.CALIBRATE
    least = len(blocks) if is_sure else int(phase is Phase.SEARCH)
    longest_s = expected_s(spec, blocks, WARM_UPS_AT_MOST) + _in_vain_s(spec, blocks)
    return PhaseSize(
        phase=phase,
        least_blocks=least,
        blocks=len(blocks),
        least_s=round(expected_s(spec, blocks[:least]), 1),
        takes_s=round(expected_s(spec, blocks), 1),
        longest_s=round(longest_s, 1),
    )


def _after_conditions(spec: JobSpec) -> PhaseSize:
    """What takes longer: the scenes, or the compromise that takes their place.

    The scenes have no windows, and few jobs need a compromise: the plan of blocks has neither.
    """
    playing_s, compromise = scenes_s(spec), compromise_blocks(spec)
    scenes = spec.budget.scene_blocks if set(Scene) - set(spec.skip) else 0
    compromise_s = expected_s(spec, compromise)
    longest_s = expected_s(spec, compromise, WARM_UPS_AT_MOST)
    return PhaseSize(
        phase=" or ".join(["scenes"] * bool(scenes) + ["compromise"] * bool(compromise)),
        least_blocks=0,
        blocks=len(compromise) if compromise_s > playing_s else scenes,
        least_s=0.0,
        takes_s=round(max(playing_s, compromise_s), 1),
        longest_s=round(max(playing_s, longest_s), 1),
    )


def _cut(search: PhaseSize, left_s: float) -> PhaseSize:
    """The search in the time that the other phases leave."""
    return search.model_copy(
        update={
            "least_blocks": 0,
            "least_s": 0.0,
            "takes_s": round(min(search.takes_s, left_s), 1),
            "longest_s": round(min(search.longest_s, left_s), 1),
        }
    )


def require_allowed_time(spec: JobSpec, minutes: float | None) -> None:
    """Refuse a job that takes longer than the operator allows. Raises `InvalidInput`."""
    if minutes is None:
        return
    fitted = within_minutes(spec, None)
    takes_s, prepare_s = size_of(fitted, planned(fitted)).takes_s, _prepare_s(spec)
    if takes_s + prepare_s <= 60 * minutes:
        return
    allowed = f"this service allows {minutes:g} minutes a job (TUNER_JOB_MINUTES)"
    if takes_s <= 60 * minutes:
        its = f"its steps may take {estimate(prepare_s)} before the job's {estimate(takes_s)}"
        raise InvalidInput.at("target.prepare", f"{its}, and {allowed}; lower their timeout_s")
    advice = "ask for fewer trials, blocks or windows"
    raise InvalidInput.at("budget", f"it takes {estimate(takes_s)}, and {allowed}; {advice}")


def planned(
    spec: JobSpec, facts: TargetFacts | None = None, calibration: Calibration | None = None
) -> Planned:
    """The blocks of a whole job, whose budget fits in its minutes. A race and a confirmation may
    end early.
    """
    budget = spec.budget
    match spec.kind:
        case JobKind.COMPARE:
            files = tuple(TrialNumber(number) for number in range(len(spec.variants)))
            working = dict.fromkeys(rungs(spec.workload), files)
            blocks = chain(*rounds(spec, facts, working))
            return {Phase.COMPARE: [(arms, budget.cycles) for arms, _ in blocks]}
        case JobKind.CALIBRATE:
            return {Phase.CALIBRATE: [(PAIR, budget.cycles)] * budget.calibrate_blocks}
        case JobKind.TUNE:
            return tuning_blocks(spec, calibration)


def _duration(spec: JobSpec, takes_s: float, longest_s: float) -> str:
    """`12 min to 19 min`; a tuning job may end early."""
    shortest, longest = estimate(takes_s), estimate(longest_s)
    duration = f"about {shortest}" if shortest == longest else f"{shortest} to {longest}"
    return f"{duration}, or less" if spec.kind is JobKind.TUNE else duration


def _shown(spec: JobSpec, plan: Planned) -> str:
    """What the confirmation can show in the minutes of a budget, where nobody knows the noise."""
    blocks = len(plan.get(Phase.CONFIRM, ()))
    if spec.budget.minutes is None or not blocks:
        return ""
    seen = [f"{share(detectable(sd, blocks))} at a block noise of {share(sd)}" for sd in _NOISES]
    return f". {count(blocks, 'fresh block')} can show a gain of {' and of '.join(seen)}"


def _if_slow(spec: JobSpec) -> str:
    """What makes windows longer."""
    is_closed = any(isinstance(load, ClosedLoop) for load in rungs(spec.workload).values())
    if spec.kind is not JobKind.COMPARE or not is_closed:
        return ""
    longest_s = spec.budget.window_s / ANSWERS_OF_A_CONNECTION
    return f"; longer where a request takes over {longest_s:g} s"


def _prepare_s(spec: JobSpec) -> float:
    """Seconds that the data of all targets may take; of each once, on one host."""
    return sum({target.name: target.prepare_s for target in spec.targets}.values())


def _if_prepared(spec: JobSpec) -> str:
    limit_s = _prepare_s(spec)
    return f"; up to {estimate(limit_s)} more to prepare its data" if limit_s else ""


def _in_vain_s(spec: JobSpec, blocks: Sequence[Block]) -> float:
    """Seconds that runs may end later: more connections than queues hold wait and time out.

    All rungs have as many runs.
    """
    loads = [connections(load) for load in rungs(spec.workload).values()]
    queue = min(spec.limits.somaxconn, LONG_QUEUE)
    late = sum(each > queue for each in loads) / len(loads)
    of_a_rung = sum(len(arms) * (WARM_UPS_AT_MOST + cycles) for arms, cycles in blocks)
    return late * of_a_rung * rungs_of_a_block(spec) * CONNECT_TIMEOUT_S


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


# ---- How far a job is, and its best trial so far. Pure functions over its status

_ORDER = tuple(Phase)


def progress_of(status: JobStatus, plan: Planned) -> Progress:
    """Trials, blocks and seconds done, and what is left of them."""
    job = status.job
    blocks = [tally for tally in status.tallies if tally.kind is MeasurementKind.BLOCK]
    complete = [tally for tally in blocks if tally.state is MeasurementState.COMPLETE]
    left = _left(job, plan, blocks)
    first = [tally.first_window_at for tally in complete if tally.first_window_at is not None]
    is_search = job.spec.kind is JobKind.TUNE
    return Progress(
        blocks_done=sum(tally.count for tally in complete),
        blocks_left=len(left),
        measured_s=sum(tally.load_s for tally in status.tallies),
        eta_s=_eta_s(job, left, complete),
        first_window_at=min(first, default=None),
        trials_done=status.settled if is_search else None,
        trials_planned=_trials_planned(job, status.candidates) if is_search else None,
    )


def incumbent_of(status: JobStatus) -> Incumbent | None:
    """The feasible trial with the highest score; None before the first score."""
    best = status.best
    if status.job.spec.kind is not JobKind.TUNE or best is None or best.outcome is None:
        return None
    score = best.outcome.score
    if score is None:
        return None
    return Incumbent.of(best.outcome, best, ratio=math.exp(score))


def _is_before(job: Job, phase: Phase) -> bool:
    return _ORDER.index(job.phase) < _ORDER.index(phase)


def _trials_planned(job: Job, candidates: int) -> int:
    """The budget's, until the search has ended. A small space or the clock may end it early."""
    if job.state.is_final or not (job.phase is Phase.SEARCH or _is_before(job, Phase.SEARCH)):
        return candidates
    return max(job.spec.budget.trials, candidates)


def _left(job: Job, plan: Planned, blocks: Sequence[Tally]) -> list[Block]:
    """Blocks that the present and the later phases may still need."""
    if job.state.is_final:
        return []
    left: list[Block] = []
    for phase, planned in plan.items():
        if job.phase is not phase and not _is_before(job, phase):
            continue
        own = [tally for tally in blocks if tally.phase is phase]
        missing = planned[sum(tally.count for tally in own if not tally.is_open) :]
        if job.finish_in is not None and phase is not Phase.CONFIRM:
            missing = []  # only what is open
        waiting = [
            _shape(job.spec, tally) for tally in own if tally.is_open for _ in range(tally.count)
        ]
        left += missing if len(missing) >= len(waiting) else waiting
    return left


def _shape(spec: JobSpec, tally: Tally) -> Block:
    return (BASELINE,) * tally.arms, tally.cycles or spec.budget.cycles


def _eta_s(job: Job, left: Sequence[Block], complete: Sequence[Tally]) -> float | None:
    """Load that is left, at the pace of the blocks so far, shared by the hosts that made them."""
    if job.state.is_final:
        return 0.0
    if job.state is JobState.QUEUED:
        return None
    took_s = sum(tally.took_s for tally in complete)
    asked_s = sum(tally.timed * load_s(job.spec, _shape(job.spec, tally)) for tally in complete)
    left_s = sum(load_s(job.spec, block) for block in left)
    at_pace_s = left_s * took_s / asked_s if asked_s else expected_s(job.spec, left)
    hosts = len(frozenset[str]().union(*(tally.hosts for tally in complete))) or 1
    return round(at_pace_s / hosts, 1)
