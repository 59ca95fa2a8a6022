"""The ablation: which of the winner's options earn their place; the rest go back to the user's.

All effects are measured at once: runs that have about half of the winner's options each, in a
factorial design, and every option is judged by all runs. Processes and threads are one factor,
for one means little without the other.
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
from tuner.study.ends import Keep

TOGETHER = frozenset({"processes", "threads"})
"""Parameters that make one factor."""

MOST_FACTORS = 23
"""What the largest design tells apart; a winner that changes more is confirmed as a whole."""

_WORTH_A_LINE = math.log1p(analysis.KEEP_EFFECT)

Factors = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of the design: whose block, which of the factors were the winner's, log level."""

    block: int
    levels: tuple[bool, ...]
    log: float


def ablate(history: History) -> Step | Keep | None:
    """Let the design be measured, then name the file with the smallest diff."""
    domain = searching.domain_of(history)
    blocks = history.blocks(Phase.ABLATE)
    if not blocks:
        winner = _finalist(history)
        if not _is_worth_it(history, factors_of(domain, winner.params)):
            return Enter(phase=Phase.CONFIRM, finalist=winner.number)
        return _begin(history, domain, winner.params)
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
    winner = winner_of(history, domain)
    if winner is None:
        return None
    factors = factors_of(domain, winner)
    runs = list(_runs(history, domain, factors, winner))
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


def factors_of(domain: Domain, params: Params) -> Factors:
    """The parameters in which `params` differ from the user's own, those of `TOGETHER` as one."""
    differing = [d.name for d in domain.dimensions if params[d.name] != d.users]
    paired = tuple(name for name in differing if name in TOGETHER)
    single = [(name,) for name in differing if name not in TOGETHER]
    return (paired, *single) if paired else tuple(single)


def winner_of(history: History, domain: Domain) -> Params | None:
    """The params that were ablated; None where there was no ablation.

    Every run has either the user's value of a parameter or the winner's.
    """
    blocks = history.blocks(Phase.ABLATE)
    if not blocks:
        return None
    runs = [history.trial(number).params for block in blocks for number in block.sides]
    return {
        d.name: next((params[d.name] for params in runs if params[d.name] != d.users), d.users)
        for d in domain.dimensions
    }


def _finalist(history: History) -> Trial:
    finalist = history.job.finalist
    if finalist is None:
        raise ValueError(f"job {history.job.id} has no winner to ablate")
    return history.trial(finalist)


def _is_worth_it(history: History, factors: Factors) -> bool:
    """With one factor there is nothing to tell apart: the confirmation measures it anyway."""
    return history.job.spec.budget.ablate_runs > 0 and 1 < len(factors) <= MOST_FACTORS


def _with(domain: Domain, winner: Params, factors: Factors, levels: Sequence[bool]) -> Params:
    """The winner's values where a factor is on, the user's everywhere else."""
    chosen = {n for names, is_on in zip(factors, levels, strict=True) if is_on for n in names}
    own = domain.baseline
    return domain.settle({name: winner[name] if name in chosen else own[name] for name in own})


def _begin(history: History, domain: Domain, winner: Params) -> Measure:
    """All runs of the design in blocks of a few, each with the baseline."""
    new: list[Trial] = []
    numbers = []
    for params in _design(history, domain, winner, len(history.measurements)):
        trial = _trial(history, new, params)
        if trial.state not in (TrialState.INFEASIBLE, TrialState.FAILED):
            numbers.append(trial.number)
    return _blocks(history, numbers, tuple(new))


def _design(history: History, domain: Domain, winner: Params, first: int) -> list[Params]:
    """What each run of the design starts; `first` is the sequence of its first block.

    A combination that breaks a rule of the space is left out: the effects are fitted to the rest.
    """
    spec, factors = history.job.spec, factors_of(domain, winner)
    seed = planning.derived_seed(spec.seed, first)
    rows = analysis.design(len(factors), spec.budget.ablate_runs, seed)
    runs = (_with(domain, winner, factors, levels) for levels in rows)
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
    sides = [(BASELINE, *group) for group in groups]
    return planning.blocks_of(history, Phase.ABLATE, sides, trials=new)


def _once_more(history: History, domain: Domain, blocks: Sequence[Measurement]) -> Measure | None:
    """The runs that were lost with another side of their block, each once; broken ones are out."""
    winner = winner_of(history, domain)
    assert winner is not None  # noqa: S101  there are blocks
    broken = {planning.broken_side(block) for block in blocks}
    wanted = [
        trial.number
        for params in _design(history, domain, winner, blocks[0].sequence)
        if (trial := history.twin(params)) is not None
    ]
    planned = Counter(number for block in blocks for number in block.sides)
    lost = Counter(number for b in blocks if b.failure is not None for number in b.sides)
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
            objective.versus(block, block.sides.index(trial.number))
            for block in blocks
            if trial.number in block.sides and planning.broken_side(block) in (None, trial.number)
        ]
        if own:
            outcome = objective.outcome_of(own, history.job.spec)
            return Settle(number=trial.number, outcome=outcome)
    return None


def _runs(history: History, domain: Domain, factors: Factors, winner: Params) -> Iterator[_Run]:
    """Every usable run, the baseline's own among them, by what it really had of the winner."""
    main = history.job.spec.objective
    for block in history.blocks(Phase.ABLATE):
        for side, number in enumerate(block.sides):
            level = objective.log_level(objective.usable(block.windows, side), main.metric)
            if level is not None:
                levels = _levels(domain, factors, history.trial(number).params, winner)
                yield _Run(block.sequence, levels, main.sign * level)


def _levels(domain: Domain, factors: Factors, params: Params, winner: Params) -> tuple[bool, ...]:
    """Which factors a file really has: a value that means nothing beside others was put back."""
    return tuple(all(params[name] == winner[name] for name in names) for names in factors)


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
    """The kept factors' values; the whole winner where the runs cannot take it apart.

    None where nothing was kept, and the race did not show a clear gain either.
    """
    winner = winner_of(history, domain)
    assert winner is not None  # noqa: S101  there are blocks
    found = ablation_of(history)
    if found is None:
        return winner
    kept = {factor.parameters for factor in found.factors if factor.is_kept}
    if not kept and _gains_as_a_whole(history):
        kept = {factor.parameters for factor in found.factors if factor.effect > _WORTH_A_LINE}
        if not kept:
            return winner  # what only all options together make, no factor has by itself
    if not kept:
        return None
    factors = factors_of(domain, winner)
    params = _with(domain, winner, factors, [names in kept for names in factors])
    return winner if domain.broken(params) else params


def _gains_as_a_whole(history: History) -> bool:
    """Whether the race showed a clear gain of what was then taken apart."""
    main = history.job.spec.objective
    raced = analysis.standings(history.blocks(Phase.RACE), main.metric, main.sign)
    own = next((standing for standing in raced if standing.number == history.job.finalist), None)
    return own is not None and own.low > _WORTH_A_LINE
