"""The ablation: which of the winner's options earn their place; the rest go back to the user's."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tuner.judge import analysis, objective
from tuner.nouns.model import (
    BASELINE,
    RUNS_OF_A_BLOCK,
    BlockOptions,
    Enter,
    Measure,
    Measurement,
    Origin,
    Params,
    Phase,
    Scalar,
    Settle,
    Slice,
    SlicePoint,
    Step,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.study.advice import Observation
from tuner.study.answering import kept
from tuner.study.replaying import TOGETHER, factors_of, with_levels
from tuner.study.state import StudyState, derived_seed
from tuner.targets.search_space import Dimension

# ---- The screening of alternative levels: values that the winner lacks, tried in the ablation's
# runs
#
# A trial may win a race in spite of some of its values: where it has the user's value, another one
# may still be worth a line. A factorial design has more columns than a winner has changes, and a
# column costs no run. So every parameter that the winner leaves alone is tried at the other value
# that the search expects most of. The value stays only if the runs show a gain.

Level = tuple[float, str, Scalar]
"""The gain that is expected at the winner's other values, a parameter, and its value."""


def screened(state: StudyState) -> Params:
    """The winner with other values where it has the user's, as far as the design has columns.

    A value is left out if it breaks a rule of the space beside the others, if it costs `min_effect`
    almost for certain, if it is a choice that failed at least as often as it worked, or if it is a
    number beyond all that worked.
    """
    domain, winner = state.domain, state.finalist.params
    _, slices = state.optimiser.explain(domain, state.observations, winner)
    wide, changes = dict(winner), len(factors_of(domain, winner))
    if changes > analysis.MOST_FACTORS:
        return winner  # too many changes even without more
    for _, name, value in sorted(_levels(state, winner, slices), reverse=True):
        wider = {**wide, name: value}
        fits = len(factors_of(domain, wider)) <= analysis.columns(changes)
        if fits and dict(domain.settle(wider)) == wider and not domain.broken(wider):
            wide = wider
    return wide


def _levels(state: StudyState, winner: Params, slices: Sequence[Slice]) -> Iterator[Level]:
    """The most promising other value of each parameter that the winner leaves alone."""
    of = {dimension.name: dimension for dimension in state.domain.free}
    for one in slices:
        dimension = of[one.parameter]
        if one.parameter in TOGETHER or winner[one.parameter] != dimension.users:
            continue
        own = next((point for point in one.points if point.value == dimension.users), None)
        others = [
            point
            for point in one.points
            if point is not own and _works(dimension, point.value, state.observations)
        ]
        if own is not None and others:
            best = max(others, key=lambda point: point.gain)
            if _may_gain(best, own, state.spec.min_effect):
                yield best.gain - own.gain, one.parameter, best.value


def _may_gain(point: SlicePoint, own: SlicePoint, min_effect: float) -> bool:
    """Whether the value does not cost `min_effect` almost for certain.

    The winner's other values won beside the user's value, so the belief about this one is a little
    too low.
    """
    return point.high > own.gain - math.log1p(min_effect)


def _works(dimension: Dimension, value: Scalar, observations: Sequence[Observation]) -> bool:
    """Whether most trials with this choice worked, or some with numbers on both sides of it."""
    ended = [trial for trial in observations if trial.score is not None or not trial.feasible]
    if not dimension.values:
        worked = [int(t.params[dimension.name]) for t in ended if t.feasible]
        return bool(worked) and min(worked) <= int(value) <= max(worked)
    count = Counter(t.feasible for t in ended if t.params[dimension.name] == value)
    return count[True] > count[False]


# ---- The ablation: which of the winner's options earn their place; the rest go back to the user's
#
# All effects are measured at once. Each run has about half of the options, in a factorial design,
# and every run tells about every option. Columns that the winner's own changes leave free carry
# values that the winner lacks: the ablation takes this wide file apart.

_WORTH_A_LINE = math.log1p(analysis.KEEP_EFFECT)


def ablate(state: StudyState) -> Step | None:
    """Let the design be measured, then name the file with the smallest diff."""
    blocks = state.history.blocks(Phase.ABLATE)
    if not blocks and not state.is_finishing:
        return _begin(state)
    if any(block.is_open for block in blocks):
        return None
    if state.is_finishing:
        return Enter(phase=Phase.CONFIRM, finalist=state.finalist.number)
    return (
        state.baseline_failed(Phase.ABLATE)
        or _once_more(state, blocks)
        or _settle_next(state, blocks)
        or _end(state)
    )


def _begin(state: StudyState) -> Measure | Enter:
    """All runs of the design in blocks of a few, each with the baseline.

    One factor alone needs no ablation: the confirmation measures it anyway.
    """
    wide = screened(state) if state.spec.budget.ablate_runs else {}
    if not wide or not 1 < len(factors_of(state.domain, wide)) <= analysis.MOST_FACTORS:
        return Enter(phase=Phase.CONFIRM, finalist=state.finalist.number)
    new: list[Trial] = []
    numbers = []
    for params in _design(state, wide, len(state.history.measurements)):
        trial = _trial(state, new, params)
        if trial.state not in (TrialState.INFEASIBLE, TrialState.FAILED):
            numbers.append(trial.number)
    return _blocks(state, numbers, new)


def _design(state: StudyState, wide: Params, first: int) -> list[Params]:
    """The params of each run of the design; `first` is the sequence of its first block.

    A combination that breaks a rule of the space is left out: the effects are fitted to the rest.
    """
    domain, factors = state.domain, factors_of(state.domain, wide)
    seed = derived_seed(state.spec.seed, first)
    rows = analysis.design(len(factors), _planned(state).runs, seed)
    runs = (with_levels(domain, wide, factors, levels) for levels in rows)
    lasting = replace(domain, memory=None)  # the memory line still changes while the runs do
    return [params for params in runs if not lasting.broken(params)]


def _planned(state: StudyState) -> analysis.Ablating:
    raced = state.history.blocks(Phase.RACE)
    return analysis.ablating(state.history.job.calibration, raced, state.spec)


def _trial(state: StudyState, new: list[Trial], params: Params) -> Trial:
    """The trial of these params: a known one, or a new one, which is added to `new`."""
    twin = next((trial for trial in new if dict(trial.params) == dict(params)), None)
    found = state.history.twin(params) or twin
    if found is None:
        found = state.new_trial(params, Origin.ABLATION, ahead=len(new))
        new.append(found)
    return found


def _blocks(
    state: StudyState, numbers: Sequence[TrialNumber], new: Sequence[Trial] = ()
) -> Measure:
    size = RUNS_OF_A_BLOCK
    groups = [tuple(numbers[first : first + size]) for first in range(0, len(numbers), size)]
    options = BlockOptions(cycles=_planned(state).cycles)
    return state.measure([(BASELINE, *group) for group in groups], trials=new, options=options)


def _once_more(state: StudyState, blocks: Sequence[Measurement]) -> Measure | None:
    """Runs that were lost because another arm of their block broke, each once.

    Runs that broke themselves are not repeated.
    """
    assert state.wide is not None  # noqa: S101  there are blocks
    broken = {block.broken_trial for block in blocks}
    wanted = [
        trial.number
        for params in _design(state, state.wide, blocks[0].sequence)
        if (trial := state.history.twin(params)) is not None
    ]
    planned = Counter(number for block in blocks for number in block.arms)
    lost = Counter(number for b in blocks if b.failure is not None for number in b.arms)
    again = [
        number
        for number, times in sorted(lost.items())
        if number not in broken and number != BASELINE and planned[number] == wanted.count(number)
        for _ in range(times)
    ]
    return _blocks(state, again) if again else None


def _settle_next(state: StudyState, blocks: Sequence[Measurement]) -> Settle | None:
    """The outcome of the next trial that was made for the design."""
    for trial in state.history.trials:
        if trial.outcome is None and trial.number != BASELINE:
            own = [
                objective.versus(block, block.arms.index(trial.number))
                for block in blocks
                if trial.number in block.arms and block.broken_trial in (None, trial.number)
            ]
            if own:
                return state.settle(trial, own)
    return None


def _end(state: StudyState) -> Step:
    minimal = _minimal(state)
    if minimal is None or dict(minimal) == dict(state.domain.baseline):
        return kept(state, "no changed option has a gain that can be told from noise")
    known = state.history.twin(minimal)
    if known is not None:
        return Enter(phase=Phase.CONFIRM, finalist=known.number)
    return Measure(plans=(), trials=(state.new_trial(minimal, Origin.MINIMAL),))


def _minimal(state: StudyState) -> Params | None:
    """The kept factors' values; the winner of the race where the runs cannot take it apart.

    None where nothing was kept, and the race did not show a clear gain either.
    """
    domain, winner, wide, found = state.domain, state.finalist.params, state.wide, state.ablation
    assert wide is not None  # noqa: S101  there are blocks
    if found is None:
        return winner
    chosen = {factor.parameters for factor in found.factors if factor.is_kept}
    if not chosen and _is_for_the_confirmation(state):
        chosen = {factor.parameters for factor in found.factors if factor.effect > _WORTH_A_LINE}
        chosen &= set(factors_of(domain, winner))
        if not chosen and _gains_as_a_whole(state):
            return winner  # only all options together make the gain
    if not chosen:
        return None
    factors = factors_of(domain, wide)
    params = with_levels(domain, wide, factors, [names in chosen for names in factors])
    return winner if domain.broken(params) else params


def _is_for_the_confirmation(state: StudyState) -> bool:
    """Whether the winner may gain although no line of it was shown to gain.

    That is so if the race showed a gain, or if the winner has one change only: then no other
    change can hide its effect.
    """
    only_one = len(factors_of(state.domain, state.finalist.params)) == 1
    return only_one or _gains_as_a_whole(state)


def _gains_as_a_whole(state: StudyState) -> bool:
    """Whether the race showed a clear gain of the winner that was then taken apart."""
    main, winner = state.spec.objective, state.finalist.number
    raced = analysis.standings(state.history.blocks(Phase.RACE), main.metric, main.sign)
    return any(s.low > _WORTH_A_LINE for s in raced if s.number == winner)
