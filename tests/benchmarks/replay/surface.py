"""A recorded grid as a function of any params: what lies between and beyond what was recorded.

Whole numbers above 0 are interpolated in their logarithm and kept within what was recorded;
everything else is a category, and one that was not recorded does as the user's own. A combination
that a rule kept out of the record has no weight.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.replay.records import Landscape, Reading, Start
from tuner.nouns.model import FailureCode, Params, Scalar
from tuner.targets.search_space import derive

FloatArray = NDArray[np.float64]
Node = tuple[int, ...]
"""A place of the grid: the index of the value on each axis."""

COLUMNS = ("rps", "p50", "p95", "p99", "memory", "cpu")
"""What a reading tells of a window, besides its errors; arrays of levels have these columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """What one configuration does: natural logs of `COLUMNS`, and the share of errors, 0..1."""

    logs: FloatArray
    errors: float


@dataclass(frozen=True, slots=True)
class Axis:
    """The recorded values of one parameter, in ascending order where they are numbers."""

    name: str
    values: tuple[Scalar, ...]
    users: int  # index of the user's own value
    is_numeric: bool

    @classmethod
    def of(cls, name: str, values: Sequence[Scalar], users: Scalar) -> "Axis":
        """The axis of all `values` that were recorded; the user's own is one of them."""
        distinct = list(dict.fromkeys([users, *values]))
        numbers = [value for value in distinct if type(value) is int and value > 0]
        is_numeric = len(numbers) == len(distinct)
        ordered: tuple[Scalar, ...] = tuple(sorted(numbers)) if is_numeric else tuple(distinct)
        return cls(name, ordered, ordered.index(users), is_numeric)

    def around(self, value: Scalar) -> tuple[tuple[int, float], ...]:
        """The recorded values next to `value` by index, with weights that sum to 1."""
        if value in self.values:
            return ((self.values.index(value), 1.0),)
        if not self.is_numeric or isinstance(value, str):
            return ((self.users, 1.0),)
        low = self.at_most(value)
        below, above = int(self.values[low]), int(self.values[min(low + 1, len(self.values) - 1)])
        if not below < value < above:
            return ((low, 1.0),)
        share = math.log2(value / below) / math.log2(above / below)
        return ((low, 1 - share), (low + 1, share))

    def at_most(self, value: Scalar) -> int:
        """Index of the largest recorded number that is not above `value`, the first where none is.

        Of a category: its own index, or the user's.
        """
        if not self.is_numeric or isinstance(value, str):
            return self.values.index(value) if value in self.values else self.users
        return max(0, sum(int(known) <= value for known in self.values) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """All configurations of a record: levels where they run, and where they do not.

    `standard_errors` are those of one configuration's levels relative to the baseline, with the
    columns of `COLUMNS`; NaN where nothing was started twice.
    """

    axes: tuple[Axis, ...]
    points: Mapping[Node, Point]
    failures: Mapping[Node, FailureCode]
    standard_errors: FloatArray

    @property
    def standard_error(self) -> float:
        """That of the log throughput."""
        return float(self.standard_errors[0])

    @classmethod
    def of(cls, landscape: Landscape) -> "Surface":
        """Means over the starts of each configuration, relative to the baseline of its block.

        Raises `ValueError` where the record holds no start of the baseline.
        """
        baseline = dict(derive(landscape.spec, landscape.facts.memory).baseline)
        axes = tuple(
            Axis.of(name, [start.params[name] for start in landscape.starts], users)
            for name, users in baseline.items()
        )
        references = _references(landscape.starts, baseline)
        if not references:
            raise ValueError("the record holds no start of the baseline")
        base = _mean(list(references.values()))
        ratios: dict[Node, list[FloatArray]] = defaultdict(list)
        errors: dict[Node, list[float]] = defaultdict(list)
        failures: dict[Node, FailureCode] = {}
        for start in landscape.starts:
            node = tuple(axis.values.index(start.params[axis.name]) for axis in axes)
            if start.failure is not None:
                failures[node] = start.failure
            elif start.readings and start.block in references:
                is_baseline = start.params == baseline
                levels = levels_of(start.readings)
                reference = levels if is_baseline else references[start.block]
                ratios[node].append(levels - reference)
                errors[node] += [reading.errors for reading in start.readings]
        points = {
            node: Point(base + _mean(found), float(np.mean(errors[node])))
            for node, found in ratios.items()
            if node not in failures
        }
        return cls(axes, points, failures, _standard_errors(ratios.values()))

    def at(self, params: Params) -> Point | FailureCode:
        """What these params do, or how they fail."""
        failure = self._failure(params)
        if failure is not None:
            return failure
        arms = [axis.around(params.get(axis.name, axis.values[axis.users])) for axis in self.axes]
        corners: list[tuple[float, Point]] = []
        for corner in itertools.product(*arms):
            point = self.points.get(tuple(index for index, _ in corner))
            if point is not None:
                corners.append((math.prod(weight for _, weight in corner), point))
        if not corners:
            return self._nearest(params)
        total = sum(weight for weight, _ in corners)
        logs = sum((weight / total * point.logs for weight, point in corners), np.zeros(1))
        errors = sum(weight / total * point.errors for weight, point in corners)
        return Point(logs, errors)

    def _failure(self, params: Params) -> FailureCode | None:
        """The failure at these params, or at lower numbers on one axis and otherwise equal values.

        A number between two recorded ones counts as the lower of both.
        """
        node = tuple(
            axis.at_most(params.get(axis.name, axis.values[axis.users])) for axis in self.axes
        )
        for place, axis in enumerate(self.axes):
            lowest = 0 if axis.is_numeric else node[place]
            for index in range(lowest, node[place] + 1):
                failure = self.failures.get((*node[:place], index, *node[place + 1 :]))
                if failure is not None:
                    return failure
        return None

    def _nearest(self, params: Params) -> Point:
        """Of a region without a record: the recorded place with the least steps to it."""
        wanted = [axis.around(params.get(axis.name, axis.values[axis.users])) for axis in self.axes]

        def steps(node: Node) -> float:
            return sum(
                (abs(index - near[0][0]) if axis.is_numeric else 100 * (index != near[0][0]))
                for axis, index, near in zip(self.axes, node, wanted, strict=True)
            )

        return self.points[min(self.points, key=lambda node: (steps(node), node))]


def levels_of(readings: Sequence[Reading]) -> FloatArray:
    """Means over windows of the logs of `COLUMNS`; NaN where no window has a value."""
    return _mean([logs_of(reading) for reading in readings])


def logs_of(reading: Reading) -> FloatArray:
    """Logs of `COLUMNS` in one window; NaN where it has no value above 0."""
    values = (getattr(reading, column) for column in COLUMNS)
    return np.array([math.log(value) if value else math.nan for value in values])


def _references(starts: Sequence[Start], baseline: Params) -> dict[int, FloatArray]:
    """Levels of the baseline's first start in every block."""
    found: dict[int, FloatArray] = {}
    for start in starts:
        if start.params == baseline and start.readings:
            found.setdefault(start.block, levels_of(start.readings))
    return found


def _mean(rows: Sequence[FloatArray]) -> FloatArray:
    """Column by column over the rows that have a value; NaN where none has."""
    table = np.vstack(rows)
    known = ~np.isnan(table)
    counts = known.sum(axis=0)
    totals = np.where(known, table, 0.0).sum(axis=0)
    return np.where(counts > 0, totals / np.maximum(counts, 1), math.nan)


def _standard_errors(groups: Iterable[Sequence[FloatArray]]) -> FloatArray:
    """The spread of starts about their configuration's mean, pooled, over the root of their number.

    Only configurations with several starts that differ count: the baseline's are all 0 by
    definition.
    """
    tables = [np.vstack(group) for group in groups if len(group) > 1]
    spread = [table for table in tables if np.nan_to_num(table).any()]
    if not spread:
        return np.full(len(COLUMNS), math.nan)
    squares = sum(
        (np.nansum((table - _mean(list(table))) ** 2, axis=0) for table in spread), np.zeros(1)
    )
    degrees = sum(len(table) - 1 for table in spread)
    starts = fmean(len(table) for table in spread)
    return np.asarray(np.sqrt(squares / degrees / starts), dtype=np.float64)
