"""The conditions: a file that is better here, against the baseline where production is unlike here.

Each condition has few blocks, one condition after the other. It ends early once the whole interval
is a gain or a loss.
"""

from tuner import recommendation
from tuner.model import BASELINE, BlockOptions, Condition, Phase, Slots, Step, conditions_of
from tuner.study.answering import confirmed
from tuner.study.state import StudyState


def wanted(state: StudyState) -> tuple[Condition, ...]:
    """The conditions of this job, the likeliest to turn the sign first."""
    spec, domain = state.spec, state.domain
    slots = Slots(domain.slots(domain.baseline), domain.slots(state.finalist.params))
    found = conditions_of(spec.target, spec.workload, slots)
    return tuple(c for c in found if c not in spec.skip)[: spec.budget.conditions]


def check_conditions(state: StudyState) -> Step | None:
    """Let the blocks of each condition be measured until it is clear, then answer."""
    history, pair = state.history, (BASELINE, state.finalist.number)
    if any(block.is_open for block in history.blocks(Phase.CONDITIONS)):
        return None
    for condition in wanted(state):
        more = recommendation.blocks_missing(history, condition)
        if more:
            return state.measure([pair] * more, options=BlockOptions(condition=condition))
    return confirmed(state)
