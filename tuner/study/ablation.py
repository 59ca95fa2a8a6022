"""The ablation as its runs tell it: its factors, and the effect of each."""

from collections.abc import Iterator, Sequence

from tuner.judge import analysis, objective
from tuner.nouns.model import Ablation, History, Params, Phase
from tuner.targets.search_space import Domain

TOGETHER = frozenset({"processes", "threads"})
"""Parameters that make one factor: one means little without the other."""

Factors = tuple[tuple[str, ...], ...]


def factors_of(domain: Domain, params: Params) -> Factors:
    """The parameters in which `params` differ from the user's own, those of `TOGETHER` as one."""
    differing = [d.name for d in domain.dimensions if params[d.name] != d.users]
    paired = tuple(name for name in differing if name in TOGETHER)
    single = [(name,) for name in differing if name not in TOGETHER]
    return (paired, *single) if paired else tuple(single)


def with_levels(domain: Domain, full: Params, factors: Factors, levels: Sequence[bool]) -> Params:
    """The values of `full` where a factor is on, the user's everywhere else."""
    chosen = {n for names, is_on in zip(factors, levels, strict=True) if is_on for n in names}
    own = domain.baseline
    return domain.settle({name: full[name] if name in chosen else own[name] for name in own})


def with_own_slots(domain: Domain, params: Params) -> Params:
    """The values of `params`, with as many processes and threads as the user's file has."""
    factors = factors_of(domain, params)
    return with_levels(domain, params, factors, [TOGETHER.isdisjoint(names) for names in factors])


def wide_of(history: History, domain: Domain) -> Params | None:
    """The params whose factors the ablation tells apart; None where there was no ablation.

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


def ablation_of(history: History, domain: Domain, wide: Params) -> Ablation | None:
    """The effect of each factor of `wide`; None where too few runs worked."""
    factors = factors_of(domain, wide)
    runs = list(_runs(history, factors, wide))
    if not runs:
        return None
    levels, groups, logs = zip(*runs, strict=True)
    return analysis.factorial_effects(factors, levels, groups, logs)


def _runs(
    history: History, factors: Factors, wide: Params
) -> Iterator[tuple[tuple[bool, ...], int, float]]:
    """Every usable run, the baseline's own among them: its levels, its block, its log level.

    The levels are what the file really has: `settle` puts back values that mean nothing.
    """
    main = history.job.spec.objective
    for block in history.blocks(Phase.ABLATE):
        windows = objective.at_equal_speed(block.windows)
        for arm, number in enumerate(block.arms):
            level = objective.log_level(objective.usable(windows, arm), main.metric)
            if level is not None:
                params = history.trial(number).params
                levels = tuple(all(params[n] == wide[n] for n in names) for names in factors)
                yield levels, block.sequence, main.sign * level
