"""The ends of a tuning job: the recommendation and its evidence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tuner.judge import analysis, recommendation
from tuner.nouns import wording
from tuner.nouns.model import (
    Budget,
    Evidence,
    History,
    Measurement,
    MeasurementState,
    Params,
    ParetoPoint,
    Phase,
    Recommendation,
    Round,
    Scalar,
    Standing,
    Succeed,
    Trial,
    TrialNumber,
    options_of,
)
from tuner.study.candidates import PATIENCE, Candidates, Noise
from tuner.study.renewing import since
from tuner.study.replaying import ablation_of, replayed, wide_of
from tuner.study.state import StudyState
from tuner.targets.search_space import Dimension, derive


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
        skipped=tuple(_skipped(state.spec.budget, state.history.job.finish_in)),
        not_tried=tuple(_not_tried(state)),
    )


def _front(state: StudyState) -> Iterator[ParetoPoint]:
    finalist = state.history.job.finalist
    for number, gains in state.candidates.front(state.spec.objective.aims):
        yield ParetoPoint(number=number, gains=gains, is_chosen=number == finalist)


def _why_the_search_ended(state: StudyState) -> str:
    blocks, budget = len(state.history.blocks(Phase.SEARCH)), state.spec.budget
    if blocks >= budget.trials:
        again = blocks - len(state.candidates.tried)
        more = f", {again} of them to measure a trial again" if again > 0 else ""
        return f"it used all {wording.count(blocks, 'block')} of its budget{more}"
    if state.stagnates:
        return (
            f"the best score did not rise by {wording.share(state.least_gain)} in {PATIENCE} "
            "trials, and no proposal promised more"
        )
    if budget.minutes is not None and state.is_spent:
        return f"the {budget.minutes:g} minutes of the budget left no time for more trials"
    return "the search space has nothing new to try"


def _skipped(budget: Budget, finish_in: Phase | None) -> Iterator[str]:
    """What this budget, or a request to finish, left out, and what that means for the answer."""
    if finish_in is not None:
        asked = f"somebody asked it to finish in the phase {finish_in}"
        yield f"{asked}: the rest up to the confirmation, conditions and scenes were left out"
    if budget.race < 2:
        yield "no race: the candidate with the best belief went straight to confirmation"
    if budget.ablate_runs == 0:
        yield "no ablation: the changed lines are confirmed together, not one by one"
    left_out = ["conditions"] * (budget.conditions == 0) + ["scenes"] * (budget.scene_blocks == 0)
    if left_out:
        yield f"no {' and '.join(left_out)} of production: the gain is that of the bench"


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


# ---- What a tuning job that still runs has shown so far; it decides nothing
#
# The optimiser is not asked: it takes seconds, and a page is read often. So the standings of the
# race are in the order of the gains, and those that went on stand first.

_TWO_SIDED_95 = 1.96  # standard deviations


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A trial of the search with the 95 % interval of its score, by the noise of the host.

    Both ends are log ratios; None for a trial without a score.
    """

    trial: Trial
    low: float | None
    high: float | None


def searched(history: History) -> tuple[Scored, ...]:
    """The trials that the search has made, the user's own file left out."""
    candidates = Candidates.of(history)
    seen = {each.number: each for each in candidates.observations(Noise(history.job.calibration))}
    found = []
    for trial in candidates.tried:
        score, sd = seen[trial.number].score, seen[trial.number].sd
        reach = None if sd is None else _TWO_SIDED_95 * sd
        low, high = (
            (None, None) if score is None or reach is None else (score - reach, score + reach)
        )
        found.append(Scored(trial=trial, low=low, high=high))
    return tuple(found)


def answer_so_far(history: History) -> Recommendation:
    """The rounds, the effects of lines, the looks, the doubts and the bottleneck so far.

    It is no answer: its verdict is `inconclusive`, and its file the user's own.
    """
    domain = derive(history.job.spec, history.memory_line)
    wide = wide_of(history, domain)
    scores = Candidates.of(history).scores
    evidence = Evidence(
        rounds=_rounds(history),
        ablation=None if wide is None else ablation_of(history, domain, wide),
        optimistic_gain=max(scores.values(), default=None),
    )
    return recommendation.so_far(history, domain, evidence)


def _rounds(history: History) -> tuple[Round, ...]:
    """The rounds that have ended, and the one that runs with all that are still in it."""
    job, blocks = history.job, history.blocks(Phase.RACE)
    budget = analysis.within_minutes(job.spec, job.calibration).budget

    def place(seen: Sequence[Measurement], racing: Sequence[TrialNumber]) -> tuple[Standing, ...]:
        return _placed(history, seen, racing)

    race = replayed(blocks, budget, place)
    complete = [block for block in blocks if block.state is MeasurementState.COMPLETE]
    of_round = [block for block in complete if set(block.arms[1:]) == set(race.racing)]
    if len(race.racing) < 2 or not of_round:
        return race.rounds
    running = Round(
        standings=place(complete, race.racing), survivors=len(race.racing)
    )  # nobody has left it yet
    return (*race.rounds, running)


def _placed(
    history: History, seen: Sequence[Measurement], racing: Sequence[TrialNumber]
) -> tuple[Standing, ...]:
    """The standings after these blocks; who raced on, or became the finalist, stands first."""
    main, last = history.job.spec.objective, seen[-1].sequence
    later: set[TrialNumber | None] = {
        number
        for block in history.blocks(Phase.RACE)
        if block.sequence > last
        for number in block.arms
    }
    went_on = later or {history.job.finalist}
    found = analysis.standings(seen, main.metric, main.sign)
    own = [standing for standing in found if standing.number in racing]
    return tuple(sorted(own, key=lambda standing: standing.number not in went_on))
