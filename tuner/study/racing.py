"""The race: the few that are likely best, in the same fresh blocks, until one is left.

Who races is decided by what is believed of the trials, not by the luckiest of them. After every
round of blocks the worse half drops out (sequential halving: half as many get twice as many
blocks), again by belief: that of the whole
search, with the blocks of the race so far added to what is known of those who are in it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from tuner import analysis, objective
from tuner.model import (
    BASELINE,
    Aim,
    BlockOptions,
    Enter,
    History,
    Measurement,
    MeasurementState,
    Origin,
    Phase,
    Round,
    Standing,
    Step,
    Trial,
    TrialNumber,
)
from tuner.study import noise, planning, searching
from tuner.study.advice import Belief, Observation, Optimiser
from tuner.study.ends import Keep

HOST_SHARE = 0.7
"""Of the host's memory, what the limits of all arms of one block may add up to."""

DOUBTFUL = 1.0
"""A trial whose belief reaches above the baseline within so many deviations is worth racing."""


@dataclass(frozen=True, slots=True)
class Standings:
    """A race so far: its finished rounds, who is still in it, and blocks missing in this round."""

    rounds: tuple[Round, ...]
    racing: tuple[TrialNumber, ...]
    missing: int


def race(history: History, optimiser: Optimiser) -> Step | Keep | None:
    """Let the next round be measured, or name the winner."""
    blocks = history.blocks(Phase.RACE)
    if not blocks:
        return _begin(history, optimiser)
    if any(block.is_open for block in blocks):
        return None
    failed = searching.baseline_keeps_failing(blocks)
    if failed is not None:
        return failed
    so_far = standings_of(history, optimiser)
    if len(so_far.racing) > 1:
        return _round(history, so_far.racing, so_far.missing)
    return _end(history, so_far)


def standings_of(history: History, optimiser: Optimiser) -> Standings:
    """Replay the race from its blocks, in the order in which they were planned."""
    budget = history.job.spec.budget
    blocks = history.blocks(Phase.RACE)
    racing = blocks[0].arms[1:] if blocks else ()
    entered = len(racing)
    rounds: list[Round] = []
    seen: list[Measurement] = []
    missing = budget.race_blocks
    for block in blocks:
        broken = planning.broken_arm(block)
        if broken in racing:
            racing = tuple(number for number in racing if number != broken)
        elif block.state is MeasurementState.COMPLETE and set(racing) <= set(block.arms):
            seen.append(block)
            missing -= 1
        if missing == 0 and len(racing) > 1:
            placed = _placed(history, seen, racing, optimiser)
            going_on = analysis.survivors(len(racing))
            racing = tuple(standing.number for standing in placed[:going_on])
            rounds.append(Round(standings=placed, survivors=len(racing)))
            missing = budget.blocks_of_round(len(racing), entered=entered)
    return Standings(tuple(rounds), racing, missing)


def _placed(
    history: History,
    blocks: Sequence[Measurement],
    racing: Sequence[TrialNumber],
    optimiser: Optimiser,
) -> tuple[Standing, ...]:
    """Everyone who is in the race and has usable windows, the best by belief first.

    An unstable one is held to its belief less its penalty.
    """
    main = history.job.spec.objective
    found = {s.number: s for s in analysis.standings(blocks, main.metric, main.sign)}
    told = [
        _with_race(history, one, found.get(one.number)) for one in searching.observations(history)
    ]
    beliefs = optimiser.believe(searching.domain_of(history), told)
    placed = [
        replace(found[number], belief=beliefs[number].mean - found[number].penalty)
        for number in racing
        if number in found
    ]
    return tuple(sorted(placed, key=lambda standing: (-(standing.belief or 0.0), standing.number)))


def _with_race(history: History, told: Observation, standing: Standing | None) -> Observation:
    """What is known of a trial by search and race together, each weighed by its precision."""
    if standing is None or told.score is None or told.sd is None:
        return told
    of_block = noise.block_sd(history.job.calibration, history.job.spec.budget.race_cycles)
    raced, searched = standing.blocks / of_block**2, 1 / told.sd**2
    return replace(
        told,
        score=(raced * standing.gain + searched * told.score) / (raced + searched),
        sd=math.sqrt(1 / (raced + searched)),
    )


def _begin(history: History, optimiser: Optimiser) -> Step | Keep:
    entrants = _entrants(history, optimiser)
    if not entrants:
        tried = len(searching.candidates(history))
        return Keep(f"none of {tried} candidates came out ahead of it in the search")
    if len(entrants) == 1:
        return Enter(phase=Phase.ABLATE, finalist=entrants[0])
    return _round(history, entrants, history.job.spec.budget.race_blocks)


def _entrants(history: History, optimiser: Optimiser) -> tuple[TrialNumber, ...]:
    """The likely best by belief, the best seed among them; one alone where there is no race."""
    beliefs = optimiser.believe(searching.domain_of(history), searching.observations(history))
    wanted = min(history.job.spec.budget.race, _arms_that_fit(history))
    hopeful = [
        trial
        for trial in searching.candidates(history)
        if searching.score_of(trial) is not None and _is_hopeful(beliefs[trial.number], wanted)
    ]
    ranked = sorted(hopeful, key=lambda trial: (-beliefs[trial.number].mean, trial.number))
    front = _front_first(history, ranked)
    chosen = front[: max(1, wanted)]
    seeds = [trial for trial in ranked if trial.origin in (Origin.HEURISTIC, Origin.EARLIER)]
    if wanted > 1 and seeds and seeds[0] not in chosen:
        chosen[-1] = seeds[0]
    return tuple(trial.number for trial in chosen)


def _is_hopeful(belief: Belief, racing: int) -> bool:
    """A race can afford doubtful ones; what goes straight to confirmation should be likely."""
    return belief.mean + (DOUBTFUL * belief.sd if racing > 1 else 0.0) > 0


def _front_first(history: History, ranked: Sequence[Trial]) -> list[Trial]:
    """With several objectives: those that no other beats in everything come first."""
    front = {pareto_point for pareto_point, _ in front_of(history)}
    return sorted(ranked, key=lambda trial: trial.number not in front)


def front_of(history: History) -> list[tuple[TrialNumber, Mapping[str, float]]]:
    """Feasible trials, the baseline among them, than which none is better in one metric of the
    objective and at least as good in all others. Empty where there is but one metric."""
    aims = history.job.spec.objective.aims
    if len(aims) == 1:
        return []
    gains: dict[TrialNumber, Mapping[str, float]] = {
        BASELINE: {aim.metric.value: 0.0 for aim in aims}
    }
    for trial in searching.candidates(history):
        if trial.outcome is not None and searching.score_of(trial) is not None:
            gains[trial.number] = trial.outcome.gains
    complete = {n: g for n, g in gains.items() if all(aim.metric.value in g for aim in aims)}
    return [
        (number, own)
        for number, own in complete.items()
        if not any(_dominates(other, own, aims) for other in complete.values())
    ]


def _dominates(other: Mapping[str, float], own: Mapping[str, float], aims: Sequence[Aim]) -> bool:
    pairs = [(other[aim.metric.value], own[aim.metric.value]) for aim in aims]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def _arms_that_fit(history: History) -> int:
    """Candidates that may be alive beside the baseline without the host running out of memory."""
    facts = history.job.facts
    if facts is None:
        return history.job.spec.budget.race
    room_mb = HOST_SHARE * facts.fingerprint.memory_mb
    return int(room_mb / history.job.spec.limits.memory_mb) - 1


def _round(history: History, racing: tuple[TrialNumber, ...], count: int) -> Step:
    block_options = BlockOptions(cycles=history.job.spec.budget.race_cycles)
    return planning.blocks(history, Phase.RACE, (BASELINE, *racing), count, block_options)


def _end(history: History, so_far: Standings) -> Step | Keep:
    """Go on with the winner, unless even that one is clearly not worth it."""
    if not so_far.racing:
        return Keep("every candidate of the race broke under load")
    winner, _ = chosen(history, so_far)
    last = so_far.rounds[-1] if so_far.rounds else None
    placed = {standing.number: standing for standing in last.standings} if last else {}
    enough = math.log1p(history.job.spec.min_effect)
    if winner in placed and placed[winner].high < enough:
        asked = f"{100 * history.job.spec.min_effect:g} %"
        return Keep(f"the best candidate of the race gains less than {asked}")
    return Enter(phase=Phase.ABLATE, finalist=winner)


def chosen(history: History, so_far: Standings) -> tuple[TrialNumber, str]:
    """The winner and, with several objectives, why: of those whose main metric is not clearly
    behind the leader's, the one with the best of the others."""
    winner = so_far.racing[0]
    spec = history.job.spec
    if not spec.objective.also or not so_far.rounds:
        return winner, ""
    first = so_far.rounds[0].standings
    leader = first[0]
    level = [s for s in first if s.gain >= leader.gain - math.log1p(spec.min_effect)]
    others = {s.number: _gain_in_others(history, s.number) for s in level}
    best = max(level, key=lambda s: (others[s.number], s.gain))
    names = " and ".join(aim.metric.value for aim in spec.objective.also)
    return best.number, (
        f"{len(level)} of {len(first)} candidates are within {100 * spec.min_effect:g} % of the "
        f"best {spec.objective.metric.value}; trial {best.number} has the best {names} of them"
    )


def _gain_in_others(history: History, number: TrialNumber) -> float:
    """Mean signed log ratio of the metrics of `also` over the race's blocks."""
    gains = []
    for block in history.blocks(Phase.RACE):
        if number in block.arms and block.windows:
            pair = objective.versus(block, block.arms.index(number))
            for aim in history.job.spec.objective.also:
                ratio = objective.log_ratio(pair, aim.metric)
                gains += [] if ratio is None else [aim.sign * ratio]
    return fmean(gains) if gains else -math.inf
