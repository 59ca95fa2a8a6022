"""The race: the likely best in the same fresh blocks, until one is left.

Beliefs decide which trials race, not scores: the best score is partly luck.
"""

import math

from tuner.nouns import wording
from tuner.nouns.model import (
    BASELINE,
    BlockOptions,
    Enter,
    Measure,
    Origin,
    Phase,
    Step,
    TrialNumber,
)
from tuner.study.advice import Belief
from tuner.study.answering import kept
from tuner.study.blocks import room_mb
from tuner.study.state import Arms, StudyState

DOUBTFUL = 1.0
"""A trial may race if its belief plus this many standard deviations is above the baseline."""


def race(state: StudyState) -> Step | None:
    """Let the next round be measured, or name the winner."""
    blocks = state.history.blocks(Phase.RACE)
    if not blocks:
        return _begin(state)
    if any(block.is_open for block in blocks):
        return None
    failed = state.baseline_failed(Phase.RACE)
    if failed is not None:
        return failed
    if len(state.race.racing) > 1:
        return _round(state, state.race.racing, state.race.missing)
    return _end(state)


def _begin(state: StudyState) -> Step:
    entrants = _entrants(state)
    if not entrants:
        tried = len(state.candidates.tried)
        return kept(state, f"none of {tried} candidates was better than your file in the search")
    if len(entrants) == 1:
        return Enter(phase=Phase.ABLATE, finalist=entrants[0])
    return _round(state, entrants, state.spec.budget.race_blocks)


def _entrants(state: StudyState) -> Arms:
    """The likely best by belief, with the best seed; one trial if there is no race."""
    beliefs, scores = state.beliefs, state.candidates.scores
    wanted = min(state.spec.budget.race, _arms_that_fit(state))
    hopeful = [
        trial
        for trial in state.candidates.tried
        if trial.number in scores and _is_hopeful(beliefs[trial.number], wanted)
    ]
    ranked = sorted(hopeful, key=lambda trial: (-beliefs[trial.number].mean, trial.number))
    front = {number for number, _ in state.candidates.front(state.spec.objective.aims)}
    chosen = sorted(ranked, key=lambda trial: trial.number not in front)[: max(1, wanted)]
    seeds = [trial for trial in ranked if trial.origin in (Origin.HEURISTIC, Origin.EARLIER)]
    if wanted > 1 and seeds and seeds[0] not in chosen:
        chosen[-1] = seeds[0]
    return tuple(trial.number for trial in chosen)


def _is_hopeful(belief: Belief, racing: int) -> bool:
    """A race can afford doubtful trials; without a race the finalist must be likely."""
    return belief.mean + (DOUBTFUL * belief.sd if racing > 1 else 0.0) > 0


def _arms_that_fit(state: StudyState) -> int:
    """Candidates that may run beside the baseline without the host running out of memory."""
    facts = state.history.job.facts
    if facts is None:
        return state.spec.budget.race
    return int(room_mb(facts) / state.spec.limits.memory_mb) - 1


def _round(state: StudyState, racing: tuple[TrialNumber, ...], count: int) -> Measure:
    options = BlockOptions(cycles=state.spec.budget.race_cycles)
    return state.measure([(BASELINE, *racing)] * count, options=options)


def _end(state: StudyState) -> Step:
    """Go on with the winner, unless its gain is clearly too small."""
    if not state.race.racing:
        return kept(state, "every candidate of the race broke under load")
    winner, _ = state.race.winner(state.spec)
    last = state.race.rounds[-1].standings if state.race.rounds else ()
    enough = math.log1p(state.spec.min_effect)
    if any(standing.number == winner and standing.high < enough for standing in last):
        asked = wording.limit(state.spec.min_effect)
        return kept(state, f"the best candidate of the race gains less than {asked}")
    return Enter(phase=Phase.ABLATE, finalist=winner)
