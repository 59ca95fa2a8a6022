"""The truth that a job is held to: what every configuration does, without noise.

A truth is recorded, or derived from a recorded one: a null truth in which no option matters, one
with planted options, one in which the user's file is another. Gains are log ratios of the
objective to the user's file, signed so that more is better.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tests.benchmarks.replay.records import Landscape
from tests.benchmarks.replay.smoothing import smoothed
from tests.benchmarks.replay.surface import COLUMNS, Point, Surface
from tuner.judge.recommendation.verdict import ERRORS_MARGIN, P95_MARGIN
from tuner.nouns.model import (
    BoolParameter,
    FailureCode,
    JobSpec,
    Metric,
    Params,
    RelativeBound,
    Scalar,
    TargetFacts,
)
from tuner.targets.search_space import USERS_OWN, Dimension, Domain, derive
from tuner.targets.search_space.domain import MEMORY_SHARE

NULL_OPTIONS = ("auto-procname", "single-interpreter")
"""Options of uWSGI that no user's file sets; in a planted truth they do nothing at all."""

PLANTED_OPTION = "so-keepalive"
"""An option of uWSGI that gets an effect in a planted truth; the name alone is borrowed."""

SPEED = np.array([1.0, -1.0, -1.0, -1.0, 0.0, 0.0])
"""How `COLUMNS` follow a change of speed in a closed loop: latencies fall as throughput rises."""

_MOST_WHOLE_NUMBERS = 256  # of one dimension, all of which are looked at to find the best
_COLUMN_OF = {
    Metric.THROUGHPUT_RPS: "rps",
    Metric.LATENCY_P50_MS: "p50",
    Metric.LATENCY_P95_MS: "p95",
    Metric.LATENCY_P99_MS: "p99",
    Metric.MEMORY_MB: "memory",
}

Answer = Point | FailureCode


@dataclass(frozen=True, eq=False)
class Truth:
    """What every configuration of one job does; `standard_error` is of a gain (log ratio).

    `answer` says what params do. Values are remembered: asking again costs nothing.
    """

    spec: JobSpec
    facts: TargetFacts
    answer: Callable[[Params], Answer]
    standard_error: float
    _known: dict[tuple[Scalar, ...], Answer] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, landscape: Landscape, *, is_smoothed: bool = False) -> "Truth":
        """The truth of a record: means of starts, or those means drawn towards a smooth model.

        Raises `ValueError` where it holds no start of the baseline.
        """
        surface = Surface.of(landscape)
        if is_smoothed:
            surface = smoothed(surface)
        return cls(landscape.spec, landscape.facts, surface.at, surface.standard_error)

    # ---- truths derived from this one

    def null(self) -> "Truth":
        """The same job where every configuration does as the user's own file."""
        users = self.baseline
        return replace(self, answer=lambda params: users, standard_error=0.0)

    def planted(self, effects: Mapping[str, float]) -> "Truth":
        """With further options, off in the user's file, each worth a log ratio when it is on."""

        def answer(params: Params) -> Answer:
            rest = {name: value for name, value in params.items() if name not in effects}
            found = self.at(rest)
            if isinstance(found, FailureCode):
                return found
            gain = sum(effect for name, effect in effects.items() if params.get(name))
            return Point(found.logs + gain * SPEED, found.errors)

        return replace(self, spec=self._with_options(effects), answer=answer)

    def with_null_options(self) -> "Truth":
        """With further options that do nothing at all."""
        return self.planted(dict.fromkeys(NULL_OPTIONS, 0.0))

    def rebased(self, params: Params) -> "Truth":
        """The same app where the user's file is the one with these params."""
        aliases = {
            name: value for name, value in params.items() if self.domain.baseline[name] == USERS_OWN
        }

        def answer(asked: Params) -> Answer:
            own = {
                n: aliases[n] if asked[n] == USERS_OWN and n in aliases else asked[n] for n in asked
            }
            return self.at(own)

        ini = self.domain.render(params)
        return replace(self, spec=self.spec.model_copy(update={"baseline_ini": ini}), answer=answer)

    def nearly_best(self, behind: float) -> Params:
        """The shippable configuration whose gain is nearest to `behind` below the best one's."""
        wanted = self.best_gain - behind
        gains = {tuple(p.items()): self.gain(p) for p in self.configurations if self.may_ship(p)}
        nearest = min(gains, key=lambda items: abs((gains[items] or 0.0) - wanted))
        return dict(nearest)

    # ---- what is true

    @cached_property
    def domain(self) -> Domain:
        """What a search may propose."""
        return derive(self.spec, self.facts.memory)

    @cached_property
    def baseline(self) -> Point:
        """What the user's own file does. Raises `ValueError` where that fails."""
        found = self.at(self.domain.baseline)
        if isinstance(found, FailureCode):
            raise ValueError(f"the user's own file fails in this record: {found.value}")
        return found

    def at(self, params: Params) -> Answer:
        """What these params do, or how they fail."""
        key = tuple(params[name] for name in sorted(params))
        if key not in self._known:
            self._known[key] = self.answer(params)
        return self._known[key]

    def log_ratio(self, params: Params, metric: Metric) -> float | None:
        """Log ratio of a metric to the user's file; None where params fail or nothing is known."""
        found = self.at(params)
        if isinstance(found, FailureCode):
            return None
        ratio = _log_of(found, metric) - _log_of(self.baseline, metric)
        return None if math.isnan(ratio) else ratio

    def gain(self, params: Params) -> float | None:
        """The gain in the objective; None where these params fail."""
        objective = self.spec.objective
        ratio = self.log_ratio(params, objective.metric)
        return None if ratio is None else objective.sign * ratio

    def may_ship(self, params: Params) -> bool:
        """Whether params run, keep every bound of the job, and harm neither latency nor errors.

        What fills more than `MEMORY_SHARE` of the memory limit may not ship: once a search has
        learnt that, it does not propose it.
        """
        found = self.at(params)
        if isinstance(found, FailureCode) or self.gain(params) is None:
            return False
        if self._fills_memory(found):
            return False
        if found.errors > self.baseline.errors + ERRORS_MARGIN:
            return False
        p95 = self.log_ratio(params, Metric.LATENCY_P95_MS)
        return (p95 is None or p95 <= math.log1p(P95_MARGIN)) and all(self._keeps_bounds(params))

    def _fills_memory(self, found: Point) -> bool:
        """Whether it uses more than the share allows, and more than the user's own file.

        A job with a bound of its own on memory is not guarded.
        """
        if Metric.MEMORY_MB in self.spec.slo.bounds():
            return False
        used, own = (_log_of(point, Metric.MEMORY_MB) for point in (found, self.baseline))
        return used > max(own, math.log(MEMORY_SHARE * self.spec.limits.memory_mb))

    def _keeps_bounds(self, params: Params) -> Iterator[bool]:
        found = self.at(params)
        for metric, bound in self.spec.slo.bounds().items():
            if metric is Metric.ERROR_RATE or isinstance(found, FailureCode):
                continue
            is_relative = isinstance(bound, RelativeBound)
            reference = _log_of(self.baseline, metric) if is_relative else 0.0
            factor = bound.relative_to_baseline if isinstance(bound, RelativeBound) else bound
            excess = _log_of(found, metric) - reference - math.log(factor)
            yield -metric.sign * excess <= 0

    @cached_property
    def configurations(self) -> tuple[Params, ...]:
        """Every configuration that a search may propose, whole numbers one by one."""
        columns = [_values(dimension) for dimension in self.domain.dimensions]
        names = [dimension.name for dimension in self.domain.dimensions]
        found: dict[tuple[Scalar, ...], Params] = {}
        for combination in itertools.product(*columns):
            params = self.domain.settle(dict(zip(names, combination, strict=True)))
            if combination == tuple(params.values()) and not self.domain.broken(params):
                found[combination] = params
        return tuple(found.values())

    @cached_property
    def best(self) -> Params:
        """The configuration with the largest gain of all that may ship."""
        allowed = (params for params in self.configurations if self.may_ship(params))
        return max(allowed, key=lambda p: self.gain(p) or 0.0, default=self.domain.baseline)

    @cached_property
    def best_gain(self) -> float:
        """The gain of `best`."""
        return self.gain(self.best) or 0.0

    def effect(self, parameters: Sequence[str], winner: Params) -> float:
        """What some of the winner's values contribute, over all combinations of the others.

        Each combination has every other parameter at the winner's value or at the user's; those
        that fail are left out.
        """
        users = self.domain.baseline
        others = [n for n in winner if n not in parameters and winner[n] != users[n]]
        differences = []
        for chosen in itertools.product((False, True), repeat=len(others)):
            mixed = {**users, **{n: winner[n] for n, on in zip(others, chosen, strict=True) if on}}
            on = self.gain(self.domain.settle({**mixed, **{n: winner[n] for n in parameters}}))
            off = self.gain(self.domain.settle(mixed))
            if on is not None and off is not None:
                differences.append(on - off)
        return math.fsum(differences) / len(differences) if differences else 0.0

    def _with_options(self, options: Mapping[str, float]) -> JobSpec:
        space = self.spec.search_space
        if space is None:
            raise ValueError("the record varies nothing")
        more = {name: BoolParameter(type="bool") for name in options}
        wider = space.model_copy(update={"parameters": {**space.parameters, **more}})
        return self.spec.model_copy(update={"search_space": wider})


def _log_of(point: Point, metric: Metric) -> float:
    if metric is Metric.RPS_PER_CPU:
        return float(point.logs[COLUMNS.index("rps")] - point.logs[COLUMNS.index("cpu")])
    return float(point.logs[COLUMNS.index(_COLUMN_OF[metric])])


def _values(dimension: Dimension) -> Sequence[Scalar]:
    """All values of a dimension; of a very wide one the powers of two and the ends."""
    if dimension.values:
        return dimension.values
    if dimension.high - dimension.low < _MOST_WHOLE_NUMBERS:
        return range(dimension.low, dimension.high + 1)
    powers = {2**n for n in range(31) if dimension.low < 2**n < dimension.high}
    return sorted({dimension.low, dimension.high, int(dimension.users), *powers})
