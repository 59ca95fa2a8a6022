"""The confirmation on fresh data only, then conditions and scenes of production."""

from tuner.judge import analysis, recommendation
from tuner.nouns.model import (
    BASELINE,
    BlockOptions,
    Condition,
    Enter,
    Measure,
    Origin,
    Phase,
    Scene,
    Slots,
    Step,
    Verdict,
    conditions_of,
)
from tuner.study.answering import confirmed
from tuner.study.replaying import with_own_slots
from tuner.study.state import StudyState

# ---- The conditions: a file that is better here, against the baseline where production is unlike
# here
#
# First each condition of production has few blocks, one condition after the other. It ends early
# once the whole interval is a gain or a loss. Where the answer depends on one of them, a compromise
# is measured: the same file with the user's own slots. Else come the scenes: what goes wrong in
# production, with both files in the same blocks.


def wanted(state: StudyState) -> tuple[Condition, ...]:
    """The conditions of this job, the likeliest to turn the sign first."""
    spec, domain = state.spec, state.domain
    slots = Slots(domain.slots(domain.baseline), domain.slots(state.finalist.params))
    found = conditions_of(spec.target, spec.workload, slots)
    return tuple(c for c in found if c not in spec.skip)[: spec.budget.conditions]


def scenes_of(state: StudyState) -> tuple[Scene, ...]:
    """The scenes of this job."""
    spec = state.spec
    return tuple(s for s in Scene if s not in spec.skip) if spec.budget.scene_blocks else ()


def check_conditions(state: StudyState) -> Step | None:
    """Let the blocks of each condition be measured until it is clear, then those of the scenes."""
    history, pair = state.history, (BASELINE, state.finalist.number)
    blocks = history.blocks(Phase.CONDITIONS)
    if any(block.is_open for block in blocks):
        return None
    if state.is_finishing:
        return confirmed(state)
    most = state.spec.budget.condition_blocks
    for condition in wanted(state):
        more = recommendation.blocks_missing(history, condition, state.finalist.number, most)
        if more:
            options = BlockOptions(cycles=state.block_cycles, condition=condition)
            return state.measure([pair] * more, options=options)
    played = sum(bool(block.block_options.scenes) for block in blocks)
    missing, scenes = state.spec.budget.scene_blocks - played, scenes_of(state)
    so_far = recommendation.checked(history, state.finalist).verdict
    if so_far is Verdict.DEPENDS and (step := _compromise(state)):
        return step
    if so_far is Verdict.BETTER and scenes and missing > 0:
        return state.measure([pair] * missing, options=BlockOptions(scenes=scenes))
    return confirmed(state)


def _compromise(state: StudyState) -> Step | None:
    """Measure the finalist with the user's own slots; None once it is clear, or is no other file.

    The slots turn the sign in most cases, and the other lines may still gain everywhere. It takes
    the time of the scenes, which are not played then.
    """
    history, domain = state.history, state.domain
    params = with_own_slots(domain, state.finalist.params)
    if dict(params) in (dict(domain.baseline), dict(state.finalist.params)):
        return None
    trial = history.twin(params)
    if trial is None:
        return Measure(plans=(), trials=(state.new_trial(params, Origin.ABLATION),))
    for condition in (None, *wanted(state)):
        most = analysis.FEWEST_BLOCKS if condition else state.spec.budget.condition_blocks
        more = recommendation.blocks_missing(history, condition, trial.number, most)
        if more:
            pairs = [(BASELINE, trial.number)] * more
            options = BlockOptions(cycles=state.block_cycles, condition=condition)
            return state.measure(pairs, options=options)
        if recommendation.is_lost(history, condition, trial.number):
            break
    if trial.outcome is not None:
        return None
    blocks = [block for block in history.blocks(Phase.CONDITIONS) if trial.number in block.arms]
    return state.settle(trial, [b for b in blocks if b.block_options.condition is None])


# ---- The confirmation: the finalist against the baseline, on fresh data only
#
# It is looked at several times. The bounds of the looks together keep the chance of a false claim
# at 2.5 %, so a clear result ends it early.


def confirm(state: StudyState) -> Step | None:
    """Let the blocks up to the next look be measured, until a look decides."""
    finalist, blocks = state.finalist, state.history.blocks(Phase.CONFIRM)
    if any(block.is_open for block in blocks):
        return None
    if blocks and recommendation.is_decided(blocks, state.history.job):
        if finalist.outcome is None:
            return state.settle(finalist, blocks)
        is_better = recommendation.confirmed(state.history, finalist).verdict is Verdict.BETTER
        is_checked = not state.is_finishing and (wanted(state) or scenes_of(state))
        return Enter(phase=Phase.CONDITIONS) if is_better and is_checked else confirmed(state)
    planned = analysis.blocks_to_confirm(state.history.job.calibration, state.spec)
    looks = analysis.looks_of(planned)
    following = next((look for look in looks if look > len(blocks)), len(blocks) + 1)
    options = BlockOptions(cycles=state.block_cycles)
    pairs = [(BASELINE, finalist.number)] * (following - len(blocks))
    return state.measure(pairs, options=options)
