"""The confirmation: the one file that is left against the baseline, on fresh data only.

It is looked at several times on the way, each time against a bound that keeps the chance of a
false claim over all looks at 2.5 %: what is clear is not measured to the end.
"""

from tuner import analysis, objective, recommendation
from tuner.model import BASELINE, History, Phase, Settle, Step
from tuner.study import planning
from tuner.study.ends import Confirmed


def confirm(history: History) -> Step | Confirmed | None:
    """Let the blocks up to the next look be measured, until a look decides."""
    job, blocks = history.job, history.blocks(Phase.CONFIRM)
    if job.finalist is None:
        raise ValueError(f"job {job.id} reached confirm without a finalist")
    finalist = history.trial(job.finalist)
    if any(block.is_open for block in blocks):
        return None
    if blocks and recommendation.is_decided(blocks, job.spec):
        if finalist.outcome is None:
            outcome = objective.outcome_of(blocks, job.spec)
            return Settle(number=finalist.number, outcome=outcome)
        return Confirmed(finalist)
    looks = analysis.looks_of(job.spec.budget.confirm_blocks)
    following = next(look for look in looks if look > len(blocks))
    arms = (BASELINE, finalist.number)
    return planning.blocks(history, Phase.CONFIRM, arms, following - len(blocks))
