"""Ablation and race as their blocks tell them: effects, rounds, standings, the winner."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from tuner.judge import analysis, objective
from tuner.nouns import wording
from tuner.nouns.model import (
    Ablation,
    Budget,
    History,
    JobSpec,
    Measurement,
    MeasurementState,
    Params,
    Phase,
    Round,
    Standing,
    TrialNumber,
)
from tuner.study.advice import Observation
from tuner.targets.search_space import Domain

# ---- The ablation as its runs tell it: its factors, and the effect of each

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
        windows = objective.at_equal_speed(block.counted)
        for arm, number in enumerate(block.arms):
            level = objective.log_level(objective.of_arm(windows, arm), main.metric)
            if level is not None:
                params = history.trial(number).params
                levels = tuple(all(params[n] == wide[n] for n in names) for names in factors)
                yield levels, block.sequence, main.sign * level


# ---- The race as its blocks tell it: rounds, standings, and the winner
#
# After every round of blocks the worse half drops out (sequential halving: half as many trials get
# twice as many blocks). The order is by belief: what the search says, with the blocks of the race
# so far added for the trials that are in it.

Place = Callable[[Sequence[Measurement], Sequence[TrialNumber]], tuple[Standing, ...]]
"""The standings of the trials that race after these blocks, the best first."""


@dataclass(frozen=True, slots=True)
class Race:
    """A race so far: finished rounds, the trials still in it, and blocks missing in this round."""

    blocks: tuple[Measurement, ...]
    rounds: tuple[Round, ...]
    racing: tuple[TrialNumber, ...]
    missing: int

    def winner(self, spec: JobSpec) -> tuple[TrialNumber, str]:
        """The winner and, with several objectives, the reason.

        Of the trials whose main metric is not clearly behind the leader's, it is the one with the
        best other metrics.
        """
        if not spec.objective.also or not self.rounds:
            return self.racing[0], ""
        first = self.rounds[0].standings
        level = [s for s in first if s.gain >= first[0].gain - math.log1p(spec.min_effect)]
        others = {s.number: self._gain_in_others(s.number, spec) for s in level}
        best = max(level, key=lambda s: (others[s.number], s.gain))
        names = " and ".join(aim.metric.value for aim in spec.objective.also)
        near = f"within {wording.limit(spec.min_effect)} of the best {spec.objective.metric.value}"
        return best.number, (
            f"{len(level)} of {len(first)} candidates are {near}; of these, trial {best.number} "
            f"has the best {names}"
        )

    def _gain_in_others(self, number: TrialNumber, spec: JobSpec) -> float:
        """Mean signed log ratio of the metrics of `also` over the race's blocks."""
        gains = [
            aim.sign * ratio
            for aim in spec.objective.also
            for ratio in objective.ratios_to_baseline(self.blocks, number, aim.metric)
        ]
        return fmean(gains) if gains else -math.inf


def replayed(blocks: tuple[Measurement, ...], budget: Budget, place: Place) -> Race:
    """The race from its blocks, in the order in which they were planned."""
    racing = blocks[0].arms[1:] if blocks else ()
    entered, missing = len(racing), budget.race_blocks
    rounds: list[Round] = []
    seen: list[Measurement] = []
    for block in blocks:
        broken = block.broken_trial
        if broken in racing:
            racing = tuple(number for number in racing if number != broken)
        elif block.state is MeasurementState.COMPLETE and set(racing) <= set(block.arms):
            seen.append(block)
            missing -= 1
        if missing == 0 and len(racing) > 1:
            placed = place(seen, racing)
            going_on = analysis.survivors(len(racing))
            racing = tuple(standing.number for standing in placed[:going_on])
            rounds.append(Round(standings=placed, survivors=len(racing)))
            missing = budget.blocks_of_round(len(racing), entered=entered)
    return Race(blocks, tuple(rounds), racing, missing)


def with_race(searched: Observation, standing: Standing | None, block_sd: float) -> Observation:
    """What search and race together say of a trial, each weighed by its precision."""
    if standing is None or searched.score is None or searched.sd is None:
        return searched
    in_race, in_search = standing.blocks / block_sd**2, 1 / searched.sd**2
    return replace(
        searched,
        score=(in_race * standing.gain + in_search * searched.score) / (in_race + in_search),
        sd=math.sqrt(1 / (in_race + in_search)),
    )
