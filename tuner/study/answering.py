"""The ends of a tuning job: the recommendation and its evidence."""

from collections.abc import Iterator
from dataclasses import replace

from tuner.judge import recommendation
from tuner.nouns import wording
from tuner.nouns.model import (
    Budget,
    Evidence,
    Params,
    ParetoPoint,
    Phase,
    Recommendation,
    Scalar,
    Succeed,
    options_of,
)
from tuner.study.candidates import PATIENCE
from tuner.study.renewing import since
from tuner.study.state import StudyState
from tuner.targets.search_space import Dimension


def kept(state: StudyState, reason: str) -> Succeed:
    """The end if no candidate is worth confirming: the user's own file stays, for this reason."""
    history, domain = state.history, state.domain
    tried = state.wide or domain.baseline
    evidence = _evidence(state, tried)
    return _end(state, recommendation.keep_untested(history, domain, reason, tried, evidence))


def confirmed(state: StudyState) -> Succeed:
    """The end if the confirmation of the finalist is complete."""
    history, domain, finalist = state.history, state.domain, state.finalist
    wide, evidence = state.wide or finalist.params, _evidence(state, finalist.params)
    return _end(state, recommendation.recommend(history, domain, finalist, wide, evidence))


def _end(state: StudyState, found: Recommendation) -> Succeed:
    """The recommendation, and what all files were measured without."""
    facts = state.history.job.facts
    preflight = facts.preflight if facts else None
    if preflight is not None and preflight.left_out:
        names = options_of(preflight.left_out)
        reason = f"{found.reason} All files were measured without {names}, which trials do not run."
        found = replace(found, reason=reason)
    found = replace(found, since=since(state.spec, found))
    return Succeed(recommendation=found)


def _evidence(state: StudyState, at: Params) -> Evidence:
    importances, slices = state.optimiser.explain(state.domain, state.observations, at)
    return Evidence(
        rounds=state.race.rounds,
        ablation=state.ablation,
        importances=importances,
        slices=slices,
        front=tuple(_front(state)),
        optimistic_gain=max(state.candidates.scores.values(), default=None),
        ended_because=_why_the_search_ended(state),
        chosen_because=state.race.winner(state.spec)[1] if state.race.racing else "",
        skipped=tuple(_skipped(state.spec.budget)),
        not_tried=tuple(_not_tried(state)),
    )


def _front(state: StudyState) -> Iterator[ParetoPoint]:
    finalist = state.history.job.finalist
    for number, gains in state.candidates.front(state.spec.objective.aims):
        yield ParetoPoint(number=number, gains=gains, is_chosen=number == finalist)


def _why_the_search_ended(state: StudyState) -> str:
    blocks, budget = len(state.history.blocks(Phase.SEARCH)), state.spec.budget
    if blocks >= budget.trials:
        return f"it made all {budget.trials} trials of the budget"
    if state.stagnates:
        return (
            f"the best score did not rise by {wording.share(state.least_gain)} in {PATIENCE} "
            "trials, and no proposal promised more"
        )
    if budget.minutes is not None and state.is_spent:
        return f"the {budget.minutes:g} minutes of the budget left no time for more trials"
    return "the search space has nothing new to try"


def _skipped(budget: Budget) -> Iterator[str]:
    """What this budget left out, and what that means for the answer."""
    if budget.race < 2:
        yield "no race: the candidate with the best belief went straight to confirmation"
    if budget.ablate_runs == 0:
        yield "no ablation: the changed lines are confirmed together, not one by one"


def _not_tried(state: StudyState) -> Iterator[str]:
    """Values of the space that no candidate had, parameter by parameter."""
    for dimension in state.domain.dimensions:
        if dimension.is_fixed:
            when = state.domain.space.parameters[dimension.name].when
            if isinstance(when, str):
                yield f"{dimension.name}: not varied; the space varies it only where {when}"
            continue
        tried = {trial.params[dimension.name] for trial in state.candidates.tried}
        missing = _missing(dimension, tried | {dimension.users})
        if missing:
            yield f"{dimension.name}: {missing}"


def _missing(dimension: Dimension, seen: set[Scalar]) -> str:
    """Choices by name; whole numbers as the parts of their range below and above what was tried."""
    if dimension.values:
        return ", ".join(str(value) for value in dimension.values if value not in seen)
    numbers = [int(value) for value in seen]
    low, high = min(numbers), max(numbers)
    below = f"{dimension.low} to {low - 1}" if low > dimension.low else ""
    above = f"{high + 1} to {dimension.high}" if high < dimension.high else ""
    return " and ".join(part for part in (below, above) if part)
