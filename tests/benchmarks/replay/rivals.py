"""What others do with the same seconds of measuring: Optuna, and its `best_trial` is shipped.

One trial is one start of the candidate alone, warmed up, and as many windows back to back as a
block of ours has on both of its arms: the practice of the articles. The user's file is the first
trial. A configuration that breaks is told as infeasible; rules of the space are known beforehand.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from tests.benchmarks.replay.landscape import Truth
from tests.benchmarks.replay.scoring import Result, best_of
from tests.benchmarks.replay.world import World
from tuner.judge import objective
from tuner.nouns.model import BlockOptions, Failure, Params, Verdict
from tuner.targets.search_space import Dimension, Domain

SAMPLERS: Mapping[str, Callable[[int], BaseSampler]] = {
    "tpe": lambda seed: TPESampler(seed=seed),
    "random": lambda seed: RandomSampler(seed=seed),
}
"""Samplers by name, with the options that Optuna gives them."""

_FEASIBILITY = "feasibility"
_BROKEN = -5.0  # log ratio that a broken configuration is told with


@dataclass(frozen=True, slots=True)
class _Tried:
    """One trial: its log level of the objective, signed; None where it broke."""

    params: Params
    level: float | None


def best_trial(
    truth: Truth, world: World, *, sampler: str, seconds: float, seed: int, is_seeded: bool
) -> Result:
    """Search until the seconds are used up, and ship the best that was observed.

    With `is_seeded` the heuristics of the space are tried first.
    """
    study = optuna.create_study(direction="maximize", sampler=SAMPLERS[sampler](seed))
    domain, tried = truth.domain, list[_Tried]()
    first = [domain.baseline, *(domain.seeds() if is_seeded else ())]
    for params in itertools.chain(first, _proposals(study, domain, tried, of_seeds=len(first))):
        tried.append(_Tried(params, _measured(truth, world, params)))
        if world.now_s >= seconds:
            break
    return _shipped(truth, tried, world.now_s)


def _shipped(truth: Truth, tried: list[_Tried], seconds: float) -> Result:
    baseline = tried[0].level
    if baseline is None:
        raise ValueError("the user's own file fails in this record")
    lucky = max(tried, key=lambda one: -float("inf") if one.level is None else one.level)
    assert lucky.level is not None  # the baseline has one
    gain = truth.gain(lucky.params)
    assert gain is not None  # it ran
    is_claim = dict(lucky.params) != dict(truth.domain.baseline)
    return Result(
        verdict=(Verdict.BETTER if is_claim else Verdict.NO_DIFFERENCE).value,
        shipped=gain,
        best=truth.best_gain,
        visited=best_of([one.params for one in tried], truth),
        keeps_bounds=truth.may_ship(lucky.params),
        reported=lucky.level - baseline if is_claim else None,
        compared=gain if is_claim else None,
        crashes=sum(one.level is None for one in tried),
        trials=len(tried) - 1,
        seconds={"search": round(seconds, 1)},
        blocks={"search": len(tried)},
    )


def _measured(truth: Truth, world: World, params: Params) -> float | None:
    budget = truth.spec.budget
    reply = world.block([params], budget, BlockOptions(cycles=2 * budget.cycles))
    if isinstance(reply.outcome, Failure):
        return None
    aim = truth.spec.objective
    level = objective.log_level(reply.outcome.windows, aim.metric)
    return None if level is None else aim.sign * level


def _proposals(
    study: optuna.Study, domain: Domain, tried: list[_Tried], *, of_seeds: int
) -> Iterator[Params]:
    """What Optuna asks for, without end; it is told the first trials, then each of its own."""
    distributions = _distributions(domain)
    baseline = tried[0].level or 0.0
    for one in tried[:of_seeds]:
        study.enqueue_trial({name: one.params[name] for name in distributions})
        _tell(study, study.ask(distributions), one.level, baseline)
    while True:
        asked = study.ask(distributions)
        params = domain.settle({**domain.baseline, **asked.params})
        if domain.broken(params):
            _tell(study, asked, None, baseline)
        else:
            yield params
            _tell(study, asked, tried[-1].level, baseline)


def _tell(study: optuna.Study, asked: optuna.Trial, level: float | None, baseline: float) -> None:
    asked.set_constraint(_FEASIBILITY, 1.0 if level is None else 0.0)
    study.tell(asked, _BROKEN if level is None else level - baseline)


def _distributions(domain: Domain) -> dict[str, BaseDistribution]:
    return {dimension.name: _distribution(dimension) for dimension in domain.free}


def _distribution(dimension: Dimension) -> BaseDistribution:
    if dimension.values:
        return CategoricalDistribution(dimension.values)
    return IntDistribution(dimension.low, dimension.high, log=dimension.log)
