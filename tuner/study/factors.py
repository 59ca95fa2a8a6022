"""The factors of an ablation: in what two files differ, and files with some of it."""

from collections.abc import Sequence

from tuner.model import Params
from tuner.search_space import Domain

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


def levels_of(factors: Factors, params: Params, full: Params) -> tuple[bool, ...]:
    """Which factors a file really has: a value that means nothing beside others was put back."""
    return tuple(all(params[name] == full[name] for name in names) for names in factors)
