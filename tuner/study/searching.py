"""The search: seeds first, then what the optimiser proposes, each in a block with the baseline.

It ends when its blocks are used up, when the clock says so, when nothing new is left, or when the
best has not risen for a while by as much as the confirmation could see.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import pstdev

from tuner import objective
from tuner.model import (
    AS_BUDGETED,
    BASELINE,
    BlockOptions,
    Enter,
    Fail,
    Futility,
    History,
    Measure,
    Measurement,
    Origin,
    Params,
    Phase,
    Settle,
    Step,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.search_space import Domain, derive
from tuner.study import memory, noise, planning
from tuner.study.advice import Observation, Optimiser

BASELINE_MAY_FAIL = 2
"""Blocks of one phase in which the user's own file may break before the job is given up."""

MOST_BLOCKS_OF_A_TRIAL = 3
"""The search spends no more on one trial: deciding between good ones is the race's work."""

PATIENCE = 12
"""Blocks without a new best, beyond which the optimiser has to promise something."""

WORTH_A_BLOCK = 0.003
"""Expected gain (log ratio) that is enough of a promise: most draws gain nothing at all."""

CYCLES_TO_CUT = 3
"""Cycles from which on a block may be cut short: after two, one at least must be left to save."""

IN_SEARCH = (Origin.BASELINE, Origin.EARLIER, Origin.HEURISTIC, Origin.SAMPLER)

_EVERY_AIM = 0.05  # weight of the sum, which decides where the largest parts are equal
_SAME = 0.02  # log ratio: the least scale on which gains of one metric are compared with another's


def search(history: History, optimiser: Optimiser) -> Step | None:
    """Settle what came back, keep every host of the pool busy, end when it is enough."""
    settled = settle_next(history)
    if settled is not None:
        return settled
    failed = baseline_keeps_failing(history.blocks(Phase.SEARCH))
    if failed is not None:
        return failed
    waiting = sum(block.is_open for block in history.blocks(Phase.SEARCH))
    if waiting < history.hosts and not is_spent(history):
        domain = domain_of(history)
        found = _next(history, domain, optimiser)
        if found is not None:
            return found
    return None if waiting else Enter(phase=Phase.RACE)


def domain_of(history: History) -> Domain:
    """The domain of the job, with what is known of its memory."""
    domain = derive(history.job.spec, history.memory_line)
    return replace(domain, memory=memory.learnt(history))


def baseline_keeps_failing(blocks: Sequence[Measurement]) -> Fail | None:
    """The end of a job whose own file does not hold."""
    failures = [b.failure for b in blocks if planning.broken_arm(b) == BASELINE]
    if len(failures) <= BASELINE_MAY_FAIL or failures[0] is None:
        return None
    return Fail(failure=failures[0])


def settle_next(history: History) -> Settle | None:
    """Write down what came of the next trial that has blocks not looked at yet."""
    closed = blocks_of_trials(history)
    for trial in history.trials:
        blocks = closed.get(trial.number, [])
        seen = trial.outcome.blocks if trial.outcome is not None else 0
        if trial.number != BASELINE and len(blocks) > seen:
            return Settle(
                number=trial.number, outcome=objective.outcome_of(blocks, history.job.spec)
            )
    return None


def blocks_of_trials(history: History) -> Mapping[TrialNumber, list[Measurement]]:
    """The closed blocks of the search by candidate."""
    found: dict[TrialNumber, list[Measurement]] = defaultdict(list)
    for block in history.blocks(Phase.SEARCH):
        if not block.is_open:
            found[block.arms[1]].append(block)
    return found


def is_spent(history: History) -> bool:
    """Whether the budget's blocks, or its minutes, are used up."""
    budget = history.job.spec.budget
    if len(history.blocks(Phase.SEARCH)) >= budget.trials:
        return True
    if budget.minutes is None or history.job.started_at is None:
        return False
    spent_s = (history.now - history.job.started_at).total_seconds()
    return 60 * budget.minutes - spent_s < budget.after_search_s


def _next(history: History, domain: Domain, optimiser: Optimiser) -> Measure | None:
    """A block of the next seed not tried yet, else of what the optimiser proposes."""
    for origin, params in _seeds(history, domain):
        if history.twin(params) is None:
            return _first_block(history, params, origin)
    number = len(history.blocks(Phase.SEARCH))
    proposal = optimiser.propose(
        domain,
        observations(history, weights=_weights(history, number)),
        sampler=history.job.spec.sampler,
        seed=planning.derived_seed(history.job.spec.seed, number),
    )
    if proposal is None:
        return None
    unpromising = proposal.gain is None or proposal.gain < WORTH_A_BLOCK
    if unpromising and stagnates(history):
        return None
    known = history.twin(proposal.params)
    if known is None:
        return _first_block(history, proposal.params, Origin.SAMPLER)
    plan = planning.block(
        history, Phase.SEARCH, (BASELINE, known.number), block_options=_block_options(history)
    )
    return Measure(plans=(plan,))


def _seeds(history: History, domain: Domain) -> list[tuple[Origin, Params]]:
    earlier = (domain.fitted(params) for params in history.job.spec.seeds)
    return [
        *((Origin.EARLIER, params) for params in earlier if params is not None),
        *((Origin.HEURISTIC, params) for params in domain.seeds()),
    ]


def _first_block(history: History, params: Params, origin: Origin) -> Measure:
    number = TrialNumber(len(history.trials))
    trial = Trial(number=number, params=params, origin=origin, state=TrialState.RUNNING)
    plan = planning.block(
        history, Phase.SEARCH, (BASELINE, number), block_options=_block_options(history)
    )
    return Measure(plans=(plan,), trials=(trial,))


def _block_options(history: History) -> BlockOptions:
    """Blocks of a candidate that cannot win any more are cut short, where that saves something."""
    sd = noise.cycle_sd(history.job.calibration)
    scores = [score for trial in candidates(history) if (score := score_of(trial)) is not None]
    if sd is None or not scores or history.job.spec.budget.cycles < CYCLES_TO_CUT:
        return AS_BUDGETED
    # The best one so far is lucky too: it is held to what it keeps after one block's noise.
    likely = max(scores) - noise.block_sd(history.job.calibration, None)
    metric = history.job.spec.objective.metric
    return BlockOptions(futility=Futility(metric=metric, best=max(0.0, likely), sd=sd))


def stagnates(history: History) -> bool:
    """Whether the best score has not risen for `PATIENCE` trials by what could be confirmed."""
    calibration = history.job.calibration
    least = calibration.mde if calibration else history.job.spec.min_effect
    best, since = 0.0, 0
    for trial in candidates(history):
        score = score_of(trial)
        if score is not None and score > best + least:
            best, since = score, 0
        else:
            since += 1
    return since >= PATIENCE


def candidates(history: History) -> list[Trial]:
    """The trials that the search made, in order."""
    return [t for t in history.trials if t.number != BASELINE and t.origin in IN_SEARCH]


def score_of(trial: Trial) -> float | None:
    """The score of a feasible trial; None for any other."""
    outcome = trial.outcome
    return outcome.score if outcome is not None and outcome.is_feasible else None


def observations(history: History, weights: Mapping[str, float] | None = None) -> list[Observation]:
    """What an optimiser may know of the search so far.

    With `weights` the scores are one number made of all metrics of the objective.
    """
    blocks = blocks_of_trials(history)
    waiting = {b.arms[1] for b in history.blocks(Phase.SEARCH) if b.is_open}
    combined = _combined(history, weights) if weights else {}
    return [
        _told(history, trial, blocks.get(trial.number, []), combined, trial.number in waiting)
        for trial in history.trials
        if trial.origin in IN_SEARCH
    ]


def _told(
    history: History,
    trial: Trial,
    blocks: list[Measurement],
    combined: Mapping[TrialNumber, float],
    is_waiting: bool,
) -> Observation:
    outcome = trial.outcome
    score = outcome.score if outcome else None
    own = trial.number == BASELINE
    return Observation(
        number=trial.number,
        params=trial.params,
        score=combined.get(trial.number, score) if score is not None else None,
        feasible=outcome is None or outcome.is_feasible,
        told=trial.state is not TrialState.FAILED,
        sd=noise.SMALLEST_SD if own else noise.score_sd(history.job.calibration, blocks),
        may_repeat=not own
        and not is_waiting
        and outcome is not None
        and outcome.state is TrialState.COMPLETE
        and len(blocks) < MOST_BLOCKS_OF_A_TRIAL,
    )


def _weights(history: History, number: int) -> Mapping[str, float] | None:
    """How much each metric counts in the draw at hand; None where there is but one.

    Another mixture for every draw leads the search along the whole front (Knowles 2006, ParEGO).
    """
    aims = history.job.spec.objective.aims
    if len(aims) == 1:
        return None
    seed = planning.derived_seed(history.job.spec.seed, number)
    draw = random.Random(f"weights {seed}")  # noqa: S311  reproducible, not a secret
    shares = [draw.expovariate(1.0) for _ in aims]
    return {aim.metric.value: share / sum(shares) for aim, share in zip(aims, shares, strict=True)}


def _combined(history: History, weights: Mapping[str, float]) -> dict[TrialNumber, float]:
    """One score per trial: how little it is behind the best of each metric (augmented Chebyshev).

    Each metric's gains are taken in units of their own spread: a factor of memory is easier won
    than one of throughput.
    """
    known: dict[TrialNumber, Mapping[str, float]] = {BASELINE: dict.fromkeys(weights, 0.0)}
    for trial in candidates(history):
        if trial.outcome is not None and weights.keys() <= trial.outcome.gains.keys():
            known[trial.number] = trial.outcome.gains
    best = {name: max(gains[name] for gains in known.values()) for name in weights}
    scale = {name: max(_SAME, pstdev(gains[name] for gains in known.values())) for name in weights}
    behind = {
        number: [weights[name] * (best[name] - gains[name]) / scale[name] for name in weights]
        for number, gains in known.items()
    }
    return {number: -(max(parts) + _EVERY_AIM * sum(parts)) for number, parts in behind.items()}
