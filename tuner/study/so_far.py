"""What a tuning job that still runs has shown so far, in the nouns of an answer. Decides nothing.

The optimiser is not asked: it takes seconds, and a page is read often. So the standings of the race
are in the order of the gains, and those that went on stand first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.judge import analysis, recommendation
from tuner.nouns.model import (
    Evidence,
    History,
    Measurement,
    MeasurementState,
    Phase,
    Recommendation,
    Round,
    Standing,
    Trial,
    TrialNumber,
)
from tuner.study.ablation import ablation_of, wide_of
from tuner.study.candidates import Candidates
from tuner.study.noise import Noise
from tuner.study.race import replayed
from tuner.targets.search_space import derive

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
    budget, blocks = history.job.spec.budget, history.blocks(Phase.RACE)

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
