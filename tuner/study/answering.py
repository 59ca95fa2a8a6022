"""The answer of a job that tunes: what is recommended, and all that speaks for it."""

from collections.abc import Iterator
from dataclasses import replace

from tuner import recommendation
from tuner.model import (
    Evidence,
    History,
    Params,
    ParetoPoint,
    Phase,
    Recommendation,
    Scalar,
    options_of,
)
from tuner.search_space import Dimension, Domain
from tuner.study import searching
from tuner.study.ablating import ablation_of, wide_of
from tuner.study.advice import Optimiser
from tuner.study.ends import Confirmed, Keep
from tuner.study.racing import chosen, front_of, standings_of


def answer(history: History, end: Keep | Confirmed, optimiser: Optimiser) -> Recommendation:
    """The recommendation with its evidence, and what all of it was measured without."""
    found = _answer(history, end, optimiser)
    preflight = history.job.facts.preflight if history.job.facts else None
    if preflight is None or not preflight.left_out:
        return found
    names = options_of(preflight.left_out)
    reason = f"{found.reason} All files were measured without {names}, which trials do not run."
    return replace(found, reason=reason)


def _answer(history: History, end: Keep | Confirmed, optimiser: Optimiser) -> Recommendation:
    domain = searching.domain_of(history)
    ablated = wide_of(history, domain)
    if isinstance(end, Keep):
        tried = ablated or domain.baseline
        found = _evidence(history, domain, tried, optimiser)
        return recommendation.keep_untested(history, domain, end.reason, tried, found)
    own = end.finalist.params
    found = _evidence(history, domain, own, optimiser)
    return recommendation.recommend(history, domain, end.finalist, ablated or own, found)


def _evidence(history: History, domain: Domain, at: Params, optimiser: Optimiser) -> Evidence:
    so_far = standings_of(history, optimiser)
    importances, slices = optimiser.explain(domain, searching.observations(history), at)
    scores = [searching.score_of(trial) for trial in searching.candidates(history)]
    return Evidence(
        rounds=so_far.rounds,
        ablation=ablation_of(history),
        importances=importances,
        slices=slices,
        front=_front(history),
        optimistic_gain=max((score for score in scores if score is not None), default=None),
        ended_because=_why_the_search_ended(history),
        chosen_because=chosen(history, so_far)[1] if so_far.racing else "",
        skipped=tuple(_skipped(history)),
        not_tried=tuple(_not_tried(history, domain)),
    )


def _front(history: History) -> tuple[ParetoPoint, ...]:
    finalist = history.job.finalist
    return tuple(
        ParetoPoint(number=number, gains=gains, is_chosen=number == finalist)
        for number, gains in front_of(history)
    )


def _why_the_search_ended(history: History) -> str:
    blocks, budget = len(history.blocks(Phase.SEARCH)), history.job.spec.budget
    if blocks >= budget.trials:
        return f"all {budget.trials} trials of the budget were made"
    if searching.stagnates(history):
        calibration = history.job.calibration
        least = calibration.mde if calibration else history.job.spec.min_effect
        return (
            f"the best did not rise by {100 * least:.1f} % in {searching.PATIENCE} trials, and "
            "nothing promised more"
        )
    if budget.minutes is not None and searching.is_spent(history):
        return f"the {budget.minutes:g} minutes of the budget left no time for more"
    return "nothing new was left to try in the space"


def _skipped(history: History) -> Iterator[str]:
    """What this budget left out, and what that means for the answer."""
    budget = history.job.spec.budget
    if budget.race < 2:
        yield "no race: the candidate that the search believes best went straight to confirmation"
    if budget.ablate_runs == 0:
        yield "no ablation: the changed lines are proven together, not one by one"


def _not_tried(history: History, domain: Domain) -> Iterator[str]:
    """Values of the space that no candidate had, parameter by parameter."""
    tried = [trial.params for trial in searching.candidates(history)]
    for dimension in domain.dimensions:
        if dimension.is_fixed:
            yield from _held(domain, dimension)
            continue
        seen = {params[dimension.name] for params in tried} | {dimension.users}
        missing = _missing(dimension, seen)
        if missing:
            yield f"{dimension.name}: {missing}"


def _held(domain: Domain, dimension: Dimension) -> Iterator[str]:
    when = domain.space.parameters[dimension.name].when
    if isinstance(when, str):
        yield f"{dimension.name}: stayed as it is, for the space varies it only where {when}"


def _missing(dimension: Dimension, seen: set[Scalar]) -> str:
    """Choices by name; whole numbers as the part of their range that was never entered."""
    if dimension.values:
        return ", ".join(str(value) for value in dimension.values if value not in seen)
    numbers = [int(value) for value in seen]
    low, high = min(numbers), max(numbers)
    below = f"{dimension.low} to {low - 1}" if low > dimension.low else ""
    above = f"{high + 1} to {dimension.high}" if high < dimension.high else ""
    return " and ".join(part for part in (below, above) if part)
