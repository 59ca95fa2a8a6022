"""The ablation: which of the winner's options earn their place; the rest go back to the user's.

All effects are measured at once: runs that have about half of the options each, in a factorial
design, and every option is judged by all runs. Columns that the winner's own changes leave free
have values that the winner lacks (`widening`): what is ablated is the wide file.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tuner import analysis, objective
from tuner.model import (
    BASELINE,
    RUNS_OF_A_BLOCK,
    Ablation,
    Enter,
    Factor,
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
from tuner.search_space import Domain
from tuner.study import planning, searching
from tuner.study.advice import Optimiser
from tuner.study.ends import Keep
from tuner.study.factors import Factors, factors_of, levels_of, with_levels
from tuner.study.widening import widened

_WORTH_A_LINE = math.log1p(analysis.KEEP_EFFECT)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the design: whose block, which of the factors it really had, log level."""

    block: int
    levels: tuple[bool, ...]
    log: float


def ablate(history: History, optimiser: Optimiser) -> Step | Keep | None:
    """Let the design be measured, then name the file with the smallest diff."""
    domain = searching.domain_of(history)
    blocks = history.blocks(Phase.ABLATE)
    if not blocks:
        return _begin(history, domain, optimiser)
    if any(block.is_open for block in blocks):
        return None
    return (
        searching.baseline_keeps_failing(blocks)
        or _once_more(history, domain, blocks)
        or _settle_next(history, blocks)
        or _end(history, domain)
    )


def ablation_of(history: History) -> Ablation | None:
    """What the runs say of each factor; None where there were none, or too few that worked."""
    domain = searching.domain_of(history)
    wide = wide_of(history, domain)
    if wide is None:
        return None
    factors = factors_of(domain, wide)
    runs = list(_runs(history, factors, wide))
    found = analysis.factorial_effects(
        [run.levels for run in runs], [run.block for run in runs], [run.log for run in runs]
    )
    if found is None:
        return None
    return Ablation(
        factors=tuple(
            Factor(
                parameters=parameters,
                effect=estimate.effect,
                low=estimate.low,
                high=estimate.high,
                p=estimate.p,
                is_kept=analysis.is_kept(estimate),
            )
            for parameters, estimate in zip(factors, found.factors, strict=True)
            if estimate is not None
        ),
        runs=len(runs),
        sd=found.sd,
    )


def wide_of(history: History, domain: Domain) -> Params | None:
    """The params that were taken apart; None where there was no ablation.

    Every run has either the user's value of a parameter or this one.
    """
    blocks = history.blocks(Phase.ABLATE)
    if not blocks:
        return None
    runs = [history.trial(number).params for block in blocks for number in block.arms]
    return {
        d.name: next((params[d.name] for params in runs if params[d.name] != d.users), d.users)
        for d in domain.dimensions
    }


def _finalist(history: History) -> Trial:
    finalist = history.job.finalist
    if finalist is None:
        raise ValueError(f"job {history.job.id} has no winner to ablate")
    return history.trial(finalist)


def _begin(history: History, domain: Domain, optimiser: Optimiser) -> Measure | Enter:
    """All runs of the design in blocks of a few, each with the baseline.

    With one factor there is nothing to tell apart: the confirmation measures it anyway.
    """
    winner, budget = _finalist(history), history.job.spec.budget
    wide = widened(history, domain, winner.params, optimiser) if budget.ablate_runs else {}
    if not wide or not 1 < len(factors_of(domain, wide)) <= analysis.MOST_FACTORS:
        return Enter(phase=Phase.CONFIRM, finalist=winner.number)
    new: list[Trial] = []
    numbers = []
    for params in _design(history, domain, wide, len(history.measurements)):
        trial = _trial(history, new, params)
        if trial.state not in (TrialState.INFEASIBLE, TrialState.FAILED):
            numbers.append(trial.number)
    return _blocks(history, numbers, tuple(new))


def _design(history: History, domain: Domain, wide: Params, first: int) -> list[Params]:
    """What each run of the design starts; `first` is the sequence of its first block.

    A combination that breaks a rule of the space is left out: the effects are fitted to the rest.
    """
    spec, factors = history.job.spec, factors_of(domain, wide)
    seed = planning.derived_seed(spec.seed, first)
    rows = analysis.design(len(factors), spec.budget.ablate_runs, seed)
    runs = (with_levels(domain, wide, factors, levels) for levels in rows)
    lasting = replace(domain, memory=None)  # what is learnt of memory goes on while the runs do
    return [params for params in runs if not lasting.broken(params)]


def _trial(history: History, new: list[Trial], params: Params) -> Trial:
    """The trial of these params: one that is there already, or a new one, noted in `new`."""
    found = history.twin(params) or next((t for t in new if dict(t.params) == dict(params)), None)
    if found is None:
        number = TrialNumber(len(history.trials) + len(new))
        found = Trial(
            number=number, params=params, origin=Origin.ABLATION, state=TrialState.RUNNING
        )
        new.append(found)
    return found


def _blocks(history: History, numbers: Sequence[TrialNumber], new: tuple[Trial, ...]) -> Measure:
    size = RUNS_OF_A_BLOCK
    groups = [tuple(numbers[first : first + size]) for first in range(0, len(numbers), size)]
    arms = [(BASELINE, *group) for group in groups]
    return planning.blocks_of(history, Phase.ABLATE, arms, trials=new)


def _once_more(history: History, domain: Domain, blocks: Sequence[Measurement]) -> Measure | None:
    """The runs that were lost with another arm of their block, each once; broken ones are out."""
    wide = wide_of(history, domain)
    assert wide is not None  # noqa: S101  there are blocks
    broken = {planning.broken_arm(block) for block in blocks}
    wanted = [
        trial.number
        for params in _design(history, domain, wide, blocks[0].sequence)
        if (trial := history.twin(params)) is not None
    ]
    planned = Counter(number for block in blocks for number in block.arms)
    lost = Counter(number for b in blocks if b.failure is not None for number in b.arms)
    again = [
        number
        for number, times in sorted(lost.items())
        if number not in broken and number != BASELINE and planned[number] == wanted.count(number)
        for _ in range(times)
    ]
    return _blocks(history, again, ()) if again else None


def _settle_next(history: History, blocks: Sequence[Measurement]) -> Settle | None:
    """Write down what came of the trials that were made for the design."""
    for trial in history.trials:
        if trial.outcome is not None or trial.number == BASELINE:
            continue
        own = [
            objective.versus(block, block.arms.index(trial.number))
            for block in blocks
            if trial.number in block.arms and planning.broken_arm(block) in (None, trial.number)
        ]
        if own:
            outcome = objective.outcome_of(own, history.job.spec)
            return Settle(number=trial.number, outcome=outcome)
    return None


def _runs(history: History, factors: Factors, wide: Params) -> Iterator[_Run]:
    """Every usable run, the baseline's own among them, by what it really had."""
    main = history.job.spec.objective
    for block in history.blocks(Phase.ABLATE):
        for arm, number in enumerate(block.arms):
            level = objective.log_level(objective.usable(block.windows, arm), main.metric)
            if level is not None:
                levels = levels_of(factors, history.trial(number).params, wide)
                yield _Run(block.sequence, levels, main.sign * level)


def _end(history: History, domain: Domain) -> Step | Keep:
    minimal = _minimal(history, domain)
    if minimal is None or dict(minimal) == dict(domain.baseline):
        return Keep("none of the changed options gains anything that can be told from noise")
    known = history.twin(minimal)
    if known is not None:
        return Enter(phase=Phase.CONFIRM, finalist=known.number)
    number = TrialNumber(len(history.trials))
    trial = Trial(number=number, params=minimal, origin=Origin.MINIMAL, state=TrialState.RUNNING)
    return Measure(plans=(), trials=(trial,))


def _minimal(history: History, domain: Domain) -> Params | None:
    """The kept factors' values; the winner of the race where the runs cannot take it apart.

    None where nothing was kept, and the race did not show a clear gain either.
    """
    wide, winner = wide_of(history, domain), _finalist(history).params
    assert wide is not None  # noqa: S101  there are blocks
    found = ablation_of(history)
    if found is None:
        return winner
    kept = {factor.parameters for factor in found.factors if factor.is_kept}
    if not kept and _is_for_the_confirmation(history, domain):
        kept = {factor.parameters for factor in found.factors if factor.effect > _WORTH_A_LINE}
        kept &= set(factors_of(domain, winner))
        if not kept and _gains_as_a_whole(history):
            return winner  # what only all options together make, no factor has by itself
    if not kept:
        return None
    factors = factors_of(domain, wide)
    params = with_levels(domain, wide, factors, [names in kept for names in factors])
    return winner if domain.broken(params) else params


def _is_for_the_confirmation(history: History, domain: Domain) -> bool:
    """Whether the winner may gain although no line of it was shown to: the race says so, or it has
    but one, and there is nothing that it hides behind."""
    only_one = len(factors_of(domain, _finalist(history).params)) == 1
    return only_one or _gains_as_a_whole(history)


def _gains_as_a_whole(history: History) -> bool:
    """Whether the race showed a clear gain of what was then taken apart."""
    main = history.job.spec.objective
    raced = analysis.standings(history.blocks(Phase.RACE), main.metric, main.sign)
    own = next((standing for standing in raced if standing.number == history.job.finalist), None)
    return own is not None and own.low > _WORTH_A_LINE
