"""An answer held to the truth: regret, claims, coverage, and which lines were kept.

All gains and regrets are log ratios of the objective. The file that a job ships is the
recommended one where its verdict is `better`, else the user's own.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.benchmarks.replay.driver import Played
from tests.benchmarks.replay.landscape import Truth
from tuner.nouns.model import Effect, Params, Phase, Recommendation, TrialNumber, Verdict

REAL_EFFECT = math.log(1.04)
"""An option that is worth as much should be kept."""

NOTHING = 1e-9
"""An effect below this is none: sums of floating point numbers are not exact."""

TOGETHER = (("processes", "threads"),)
"""Parameters that count as one factor, as the ablation has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one job, as one line of JSON. Times in seconds.

    `shipped`, `best` and `visited` are true gains: of what was shipped, of the best in the space,
    and of the best that was measured. `reported` is the gain that the answer states, with its
    interval, and `compared` the true gain of what that is about; None where nothing was reported.
    """

    verdict: str
    shipped: float
    best: float
    visited: float
    keeps_bounds: bool = True  # what was shipped
    reported: float | None = None
    low: float | None = None
    high: float | None = None
    compared: float | None = None
    nulls_seen: int = 0  # factors of the ablation that do nothing
    nulls_kept: int = 0
    reals_seen: int = 0  # ... and those of 4 % or more
    reals_kept: int = 0
    crashes: int = 0  # blocks that a candidate ended
    trials: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)  # of the host, by phase
    blocks: Mapping[str, int] = field(default_factory=dict)
    cpu_s: float = 0.0  # of this replay
    failure: str = ""

    @property
    def regret(self) -> float:
        """What was lost against the best in the space; 0 where what was shipped breaks a bound
        and gains more than anything that may be shipped."""
        return max(0.0, self.best - self.shipped)

    @property
    def exploration_error(self) -> float:
        """What was lost because nothing better was ever measured."""
        return max(0.0, self.best - self.visited)

    @property
    def selection_error(self) -> float:
        """What was lost because something else was shipped than the best that was measured."""
        return max(0.0, self.visited - self.shipped)

    @property
    def is_claim(self) -> bool:
        """Whether it said that another file is better."""
        return self.verdict == Verdict.BETTER

    @property
    def is_worse(self) -> bool:
        """Whether what was shipped is truly worse than the user's own file."""
        return self.shipped < -NOTHING

    @property
    def is_covered(self) -> bool | None:
        """Whether the reported interval holds the truth; None where there is no interval."""
        if self.low is None or self.high is None or self.compared is None:
            return None
        return self.low - NOTHING <= self.compared <= self.high + NOTHING

    @property
    def bias(self) -> float | None:
        """Reported less true gain; None where nothing was reported."""
        if self.reported is None or self.compared is None:
            return None
        return self.reported - self.compared

    @property
    def measured_s(self) -> float:
        """What the whole job took on the host."""
        return math.fsum(self.seconds.values())


def score(played: Played, truth: Truth) -> Result:
    """What came of a job of ours."""
    answer = played.job.recommendation
    visited = [trial.params for trial in played.trials]
    found = Result(
        verdict="failed",
        shipped=0.0,
        best=truth.best_gain,
        visited=best_of(visited, truth),
        crashes=sum(m.failure is not None for m in played.measurements),
        trials=len(played.trials) - 1,
        seconds={phase: round(s, 1) for phase, s in played.seconds.items()},
        blocks=dict(played.blocks),
    )
    if answer is None:
        failure = played.job.failure.message if played.job.failure else "no recommendation"
        return replace(found, failure=failure)
    shipped = answer.params if answer.verdict is Verdict.BETTER else truth.domain.baseline
    kept = list(_kept(played, answer, truth))
    nulls = [is_kept for effect, is_kept in kept if abs(effect) < NOTHING]
    reals = [is_kept for effect, is_kept in kept if effect >= REAL_EFFECT]
    found = replace(
        found,
        verdict=answer.verdict.value,
        shipped=_certain(truth.gain(shipped)),
        keeps_bounds=truth.may_ship(shipped),
        nulls_seen=len(nulls),
        nulls_kept=sum(nulls),
        reals_seen=len(reals),
        reals_kept=sum(reals),
    )
    return _with_report(found, answer, truth, played)


def best_of(visited: Sequence[Params], truth: Truth) -> float:
    """The largest true gain among configurations that may ship; the user's own is one of them."""
    gains = (truth.gain(params) for params in visited if truth.may_ship(params))
    return max((gain for gain in gains if gain is not None), default=0.0)


def _with_report(found: Result, answer: Recommendation, truth: Truth, played: Played) -> Result:
    """The same with the gain that the answer states, where it states one."""
    effect, number = answer.comparison.effect, answer.candidate
    if effect is None or number is None:
        return found
    low, high = _signed(effect, truth)
    return replace(
        found,
        reported=truth.spec.objective.sign * math.log1p(effect.estimate),
        low=low,
        high=high,
        compared=truth.gain(_params(played, number)),
    )


def _signed(effect: Effect, truth: Truth) -> tuple[float, float]:
    """The interval of a relative change as log gains, the lower end first."""
    sign = truth.spec.objective.sign
    ends = [sign * math.log1p(max(end, -1 + 1e-12)) for end in (effect.ci_low, effect.ci_high)]
    return min(ends), max(ends)


def _kept(played: Played, answer: Recommendation, truth: Truth) -> Iterator[tuple[float, bool]]:
    """True effect of every factor of the ablation, and whether the recommended file has it.

    Only of jobs that recommend something.
    """
    if answer.verdict is not Verdict.BETTER or Phase.ABLATE not in played.finalists:
        return
    told, users = _ablated(played, truth.domain.baseline), truth.domain.baseline
    changed = [name for name in told if told[name] != users[name]]
    for names in _factors(changed):
        is_kept = any(answer.params[name] == told[name] for name in names)
        yield truth.effect(names, told), is_kept


def _ablated(played: Played, users: Params) -> Params:
    """The values that the ablation's runs had where they had not the user's; those of the winner
    that it began with where nothing was run."""
    runs = [
        _params(played, number)
        for measurement in played.measurements
        if measurement.phase is Phase.ABLATE
        for number in measurement.arms
    ]
    tried = runs or [_params(played, played.finalists[Phase.ABLATE])]
    return {
        name: next((params[name] for params in tried if params[name] != own), own)
        for name, own in users.items()
    }


def _factors(changed: Sequence[str]) -> Iterator[tuple[str, ...]]:
    grouped = [tuple(name for name in group if name in changed) for group in TOGETHER]
    yield from (group for group in grouped if group)
    yield from ((name,) for name in changed if not any(name in group for group in grouped))


def _params(played: Played, number: TrialNumber) -> Params:
    return next(trial.params for trial in played.trials if trial.number == number)


def _certain(gain: float | None) -> float:
    """A file that does not even run is a total loss: e^-5 of the user's throughput."""
    return -5.0 if gain is None else gain
