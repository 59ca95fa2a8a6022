"""The confirmation: the finalist against the baseline, on fresh data only.

It is looked at several times. The bounds of the looks together keep the chance of a false claim at
2.5 %, so a clear result ends it early.
"""

from tuner.judge import analysis, recommendation
from tuner.nouns.model import BASELINE, Enter, Phase, Step, Verdict
from tuner.study.answering import confirmed
from tuner.study.conditions import scenes_of, wanted
from tuner.study.state import StudyState


def confirm(state: StudyState) -> Step | None:
    """Let the blocks up to the next look be measured, until a look decides."""
    finalist, blocks = state.finalist, state.history.blocks(Phase.CONFIRM)
    if any(block.is_open for block in blocks):
        return None
    if blocks and recommendation.is_decided(blocks, state.spec):
        if finalist.outcome is None:
            return state.settle(finalist, blocks)
        is_better = recommendation.confirmed(state.history, finalist).verdict is Verdict.BETTER
        is_checked = wanted(state) or scenes_of(state)
        return Enter(phase=Phase.CONDITIONS) if is_better and is_checked else confirmed(state)
    looks = analysis.looks_of(state.spec.budget.confirm_blocks)
    following = next(look for look in looks if look > len(blocks))
    return state.measure([(BASELINE, finalist.number)] * (following - len(blocks)))
