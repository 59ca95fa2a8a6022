"""The search: seeds first, then what the optimiser proposes, each in a block with the baseline.

It ends when its blocks or its minutes are used up, when nothing new is left, or when the best has
not risen for a while by as much as the confirmation could detect.
"""

import random
from collections.abc import Iterator, Mapping

from tuner.nouns.model import (
    AS_BUDGETED,
    BASELINE,
    BlockOptions,
    Enter,
    Futility,
    Measure,
    Origin,
    Params,
    Phase,
    Settle,
    Step,
)
from tuner.study import helping
from tuner.study.state import StudyState, derived_seed

WORTH_A_BLOCK = 0.003
"""Expected gain (log ratio) for which a stagnant search goes on: most draws gain nothing."""

CYCLES_TO_CUT = 3
"""Cycles from which on a block may be cut short: after two, one at least must be left to save."""


def search(state: StudyState) -> Step | None:
    """Settle closed blocks, keep the job's hosts busy, and go on to the race at the end."""
    due = _settle_next(state) or state.baseline_failed(Phase.SEARCH)
    if due is not None:
        return due
    newcomer = helping.newcomer(state.history)
    if newcomer is not None:
        return state.calibrate(newcomer)
    waiting = sum(block.is_open for block in state.history.blocks(Phase.SEARCH))
    if waiting < 1 + len(state.helpers) and not state.is_spent:
        step = _next_seed(state) or _proposed(state)
        if step is not None:
            return step
    return None if waiting else Enter(phase=Phase.RACE)


def _settle_next(state: StudyState) -> Settle | None:
    """The outcome of the next trial that has new blocks."""
    for trial in state.candidates.tried:
        blocks = state.candidates.blocks.get(trial.number, ())
        seen = trial.outcome.blocks if trial.outcome is not None else 0
        if len(blocks) > seen:
            return state.settle(trial, blocks)
    return None


def _next_seed(state: StudyState) -> Measure | None:
    """A block of the next seed that no trial has."""
    for origin, params in _seeds(state):
        if state.history.twin(params) is None:
            return _first_block(state, params, origin)
    return None


def _seeds(state: StudyState) -> Iterator[tuple[Origin, Params]]:
    for params in map(state.domain.fitted, state.spec.seeds):
        if params is not None:
            yield Origin.EARLIER, params
    for params in state.domain.seeds():
        yield Origin.HEURISTIC, params


def _proposed(state: StudyState) -> Measure | None:
    """A block of what the optimiser proposes; None where it has nothing worth a block."""
    seed = derived_seed(state.spec.seed, len(state.history.blocks(Phase.SEARCH)))
    proposal = state.optimiser.propose(
        state.domain,
        state.candidates.observations(state.noise, _weights(state, seed)),
        sampler=state.spec.sampler,
        seed=seed,
    )
    if proposal is None:
        return None
    unpromising = proposal.gain is None or proposal.gain < WORTH_A_BLOCK
    if unpromising and state.stagnates:
        return None
    known = state.history.twin(proposal.params)
    if known is None:
        return _first_block(state, proposal.params, Origin.SAMPLER)
    return state.measure([(BASELINE, known.number)], options=_block_options(state))


def _first_block(state: StudyState, params: Params, origin: Origin) -> Measure:
    trial = state.new_trial(params, origin)
    arms = (BASELINE, trial.number)
    return state.measure([arms], trials=[trial], options=_block_options(state))


def _block_options(state: StudyState) -> BlockOptions:
    """Blocks of a candidate that cannot win are cut short, where that saves something."""
    sd, scores = state.noise.of_cycle, state.candidates.scores.values()
    if sd is None or not scores or state.spec.budget.cycles < CYCLES_TO_CUT:
        return AS_BUDGETED
    # The best score so far is partly luck, so one standard deviation of a block is taken off.
    likely = max(scores) - state.noise.of_block(None)
    metric = state.spec.objective.metric
    return BlockOptions(futility=Futility(metric=metric, best=max(0.0, likely), sd=sd))


def _weights(state: StudyState, seed: int) -> Mapping[str, float] | None:
    """The weight of each metric in this draw; None where there is one metric.

    Every draw has its own mixture, which leads the search along the whole front (Knowles 2006,
    ParEGO).
    """
    aims = state.spec.objective.aims
    if len(aims) == 1:
        return None
    draw = random.Random(f"weights {seed}")  # noqa: S311  reproducible, not a secret
    shares = [draw.expovariate(1.0) for _ in aims]
    return {aim.metric.value: share / sum(shares) for aim, share in zip(aims, shares, strict=True)}
