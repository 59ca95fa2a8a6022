"""The search: seeds first, then what the optimiser proposes, each in a block with the baseline.

It ends when its blocks or its minutes are used up, when nothing new is left, or when the best has
not risen for a while by as much as the confirmation could detect.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence

from tuner.judge import analysis, objective
from tuner.nouns import wording
from tuner.nouns.model import (
    BASELINE,
    GATE_BLOCKS,
    BlockOptions,
    Enter,
    Futility,
    Measure,
    Measurement,
    MeasurementState,
    Origin,
    Params,
    Phase,
    Settle,
    Step,
    TrialNumber,
)
from tuner.study.advice import Belief
from tuner.study.answering import kept
from tuner.study.comparing import room_mb
from tuner.study.state import Arms, StudyState, derived_seed, newcomer

WORTH_A_BLOCK = 0.003
"""Expected gain (log ratio) for which a stagnant search goes on: most draws gain nothing."""

CYCLES_TO_CUT = 3
"""Cycles from which on a block may be cut short: after two, one at least must be left to save."""


def search(state: StudyState) -> Step | None:
    """Settle closed blocks, keep the job's hosts busy, and go on to the race at the end."""
    due = _settle_next(state) or state.baseline_failed(Phase.SEARCH)
    if due is not None:
        return due
    host = None if state.is_finishing else newcomer(state.history)
    if host is not None:
        return state.calibrate(host)
    waiting = sum(block.is_open for block in state.history.blocks(Phase.SEARCH))
    if state.is_finishing:
        return None if waiting else _confirm_best(state, _entrants(state, 1))
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
    cycles = state.block_cycles
    if sd is None or not scores or cycles < CYCLES_TO_CUT:
        return BlockOptions(cycles=cycles)
    # The best score so far is partly luck, so one standard deviation of a block is taken off.
    likely = max(scores) - state.noise.of_block(cycles)
    metric = state.spec.objective.metric
    futility = Futility(metric=metric, best=max(0.0, likely), sd=sd)
    return BlockOptions(cycles=cycles, futility=futility)


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


# ---- The race: the likely best in the same fresh blocks, until one is left
#
# Beliefs decide which trials race, not scores: the best score is partly luck.

DOUBTFUL = 1.0
"""A trial may race if its belief plus this many standard deviations is above the baseline."""


LIKELY_BEST = 2
"""Candidates of a race after a search that knows them to half of `min_effect`."""

GATE_LEVEL = 0.80
"""Two-sided level of the interval that ends them: each of its ends is a bound of 90 %."""


def race(state: StudyState) -> Step | None:
    """Let the next round be measured, or name the winner."""
    blocks = state.history.blocks(Phase.RACE)
    if state.is_finishing:
        return _confirm_best(state, _leaders(state, blocks))
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
    entrants = _entrants(state, min(_candidates(state), _arms_that_fit(state)))
    if not entrants:
        return _keep(state)
    if len(entrants) == 1:
        return Enter(phase=Phase.ABLATE, finalist=entrants[0])
    return _round(state, entrants, state.spec.budget.race_blocks)


def _keep(state: StudyState) -> Step:
    tried = len(state.candidates.tried)
    return kept(state, f"none of {tried} candidates was better than your file in the search")


def _confirm_best(state: StudyState, best: Arms) -> Step:
    """The shortest way of a job that finishes: the rest of search, race and ablation are left."""
    return Enter(phase=Phase.CONFIRM, finalist=best[0]) if best else _keep(state)


def _leaders(state: StudyState, blocks: Sequence[Measurement]) -> Arms:
    """Those that race, the best by all blocks so far first."""
    complete = [block for block in blocks if block.state is MeasurementState.COMPLETE]
    placed = state.placed(complete, state.race.racing)
    return tuple(standing.number for standing in placed) or (
        state.race.racing if blocks else _entrants(state, 1)
    )


def _entrants(state: StudyState, wanted: int) -> Arms:
    """The `wanted` best by belief, with the best seed; one trial if there is no race."""
    beliefs, scores = state.beliefs, state.candidates.scores
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


def _candidates(state: StudyState) -> int:
    """Candidates that the race should have: two where the search has told the best ones apart."""
    known = sorted(state.beliefs.values(), key=lambda belief: -belief.mean)[:LIKELY_BEST]
    is_known = all(belief.sd < math.log1p(state.spec.min_effect) / 2 for belief in known)
    return min(state.spec.budget.race, LIKELY_BEST if is_known else state.spec.budget.race)


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
    highs = [standing.high for standing in last if standing.number == winner]
    if state.spec.budget.ablate_runs:
        low, high = _bounds(state, winner)
        alone = sum(len(block.arms) == 2 for block in state.history.blocks(Phase.RACE))
        if low <= 0 and high >= enough and alone < GATE_BLOCKS:
            return _round(state, (winner,), 1)
        highs.append(high)
    if min(highs, default=math.inf) < enough:
        asked = wording.limit(state.spec.min_effect)
        return kept(state, f"the best candidate of the race gains less than {asked}")
    return Enter(phase=Phase.ABLATE, finalist=winner)


def _bounds(state: StudyState, number: TrialNumber) -> tuple[float, float]:
    """Lower and upper 90 % bound of a candidate's gain in all blocks of the race (logs)."""
    main, blocks = state.spec.objective, state.history.blocks(Phase.RACE)
    ratios = objective.ratios_to_baseline(blocks, number, main.metric)
    return analysis.t_interval([main.sign * ratio for ratio in ratios], GATE_LEVEL)
