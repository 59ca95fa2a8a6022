"""A list of measured numbers: centre, outliers, and the smallest difference they can resolve.

All sums are on logs: benchmark noise is a factor. No value is dropped. An outlier is named, tested
against a log-normal distribution, and stays in.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from scipy import special

from tuner.judge.analysis.estimating import Z_MDE, estimate, hodges_lehmann, student_quantile
from tuner.judge.analysis.order import Trend, trend_of

FEWEST_RUNS = 2
MOST_RUNS = 2_000
"""More values would be single requests, not runs. The work grows with the number of pairs."""

TARGETS = (0.02, 0.05, 0.10)
"""Effects for which the needed runs are stated."""

FAR = 3.5
"""Modified z score above which a value is far (Iglewicz and Hoaglin 1993)."""

_MAD_TO_SD = 1.4826
_MEAN_AD_TO_SD = 1.2533
_LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class FarValue:
    """A value far from the others: its place from 1, and its distance in robust deviations."""

    run: int
    value: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers:
    """Which values lie far, and whether even a log-normal distribution would not have them.

    `centre_without` is what leaving them out would give, in the unit of the values; None where
    nothing lies far.
    """

    far: tuple[FarValue, ...]
    beyond_skew: int  # how many are more than a log-normal distribution explains
    centre_without: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """Runs of each of two configurations that resolve a relative difference of `effect`.

    One-sided 5 %, power 80 %. `low` and `high` are the runs for both ends of the 95 % interval of
    the spread: a few runs estimate a spread badly.
    """

    effect: float
    runs: int
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Figures of repeated runs of one configuration. Spreads are relative: 0.05 is 5 %."""

    count: int
    centre: float
    ci_low: float
    ci_high: float
    mean: float
    cv: float  # standard deviation over mean
    robust_cv: float  # from the median absolute deviation
    resolves: float  # smallest difference to as many runs of something else that would be seen
    outliers: Outliers
    trend: Trend
    needed: tuple[Needed, ...]


def analyse(values: Sequence[float]) -> Runs:
    """The figures of repeated runs of one configuration.

    Raises `ValueError` for fewer than `FEWEST_RUNS` values, for more than `MOST_RUNS`, and for
    one that is not above 0.
    """
    logs = logs_of(values)
    found, spread = estimate(logs), stdev(logs)
    return Runs(
        count=len(values),
        centre=math.exp(found.value),
        ci_low=math.exp(found.low),
        ci_high=math.exp(min(found.high, 700.0)),
        mean=fmean(values),
        cv=stdev(values) / fmean(values),
        robust_cv=math.expm1(_scale(logs)),
        resolves=math.expm1(Z_MDE * spread * math.sqrt(2 / len(values))),
        outliers=_outliers(values, logs),
        trend=trend_of(logs),
        needed=tuple(_needed(spread, len(values), effect) for effect in TARGETS),
    )


def runs_for(log_sd: float, effect: float) -> int:
    """Runs of each of two configurations that resolve a relative difference, unpaired.

    2 (2.49 s / ln(1 + effect))², and 0.7 for the spread being estimated; never below 2.
    """
    return max(2, math.ceil(2 * (Z_MDE * log_sd / math.log1p(effect)) ** 2 + 0.7))


def logs_of(values: Sequence[float]) -> list[float]:
    """Logs of the runs of one configuration. Raises `ValueError` where they cannot be used."""
    if len(values) < FEWEST_RUNS:
        raise ValueError(f"{len(values)} runs; at least {FEWEST_RUNS} are needed")
    if len(values) > MOST_RUNS:
        raise ValueError(f"{len(values)} runs; at most {MOST_RUNS} can be looked at")
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("a run is a number above 0")
    return [math.log(value) for value in values]


def _mad(values: Sequence[float]) -> float:
    middle = median(values)
    return median(abs(value - middle) for value in values)


def _scale(values: Sequence[float]) -> float:
    """The standard deviation from absolute deviations; 0 only if all values are equal."""
    middle = median(values)
    return _MAD_TO_SD * _mad(values) or _MEAN_AD_TO_SD * fmean(abs(v - middle) for v in values)


def _outliers(values: Sequence[float], logs: Sequence[float]) -> Outliers:
    middle, scale = median(values), _scale(values)
    scores = [(value - middle) / scale if scale else 0.0 for value in values]
    far = tuple(
        FarValue(run=run, value=value, score=score)
        for run, (value, score) in enumerate(zip(values, scores, strict=True), 1)
        if abs(score) > FAR
    )
    runs = {value.run for value in far}
    rest = [log for run, log in enumerate(logs, 1) if run not in runs]
    return Outliers(
        far=far,
        beyond_skew=_beyond_normal(logs, len(far)),
        centre_without=math.exp(hodges_lehmann(rest)) if far and rest else None,
    )


def _beyond_normal(logs: Sequence[float], most: int) -> int:
    """How many of the `most` extreme values a normal distribution does not explain.

    The generalised extreme studentised deviate test at 5 % (Rosner 1983): looking at several at
    once, so that two far values do not hide each other in the spread that they make.
    """
    rest, beyond = list(logs), 0
    for removed in range(1, most + 1):
        n = len(rest)
        if n < 3 or stdev(rest) == 0:
            break
        middle = fmean(rest)
        worst = max(rest, key=lambda value: abs(value - middle))
        t = student_quantile(n - 2, 1 - _LEVEL / n)
        critical = (n - 1) * t / math.sqrt((n - 2 + t * t) * n)
        if abs(worst - middle) / stdev(rest) > critical:
            beyond = removed
        rest.remove(worst)
    return beyond


def _needed(spread: float, count: int, effect: float) -> Needed:
    degrees = count - 1
    low = spread * math.sqrt(degrees / float(special.chdtri(degrees, _LEVEL / 2)))
    high = spread * math.sqrt(degrees / float(special.chdtri(degrees, 1 - _LEVEL / 2)))
    return Needed(
        effect=effect,
        runs=runs_for(spread, effect),
        low=runs_for(low, effect),
        high=runs_for(high, effect),
    )
