"""Numbers, settings, metrics, effects and verdicts as text."""

import math
from collections.abc import Mapping

from tuner.nouns.model import (
    Curve,
    Effect,
    Figure,
    Metric,
    Params,
    Scalar,
    Sign,
    StepEffect,
    Verdict,
)
from tuner.nouns.plain import thousands

# ---- Numbers and settings as text

_LARGEST_LOG = 13.0
"""A larger log ratio, a factor of 400 000, is shown as unbounded."""


def percent(change: float) -> str:
    """+0.068 as `+6.8 %`; never `-0.0 %`."""
    return f"{round(100 * change, 1) + 0.0:+.1f} %"


def share(part: float, digits: int = 1) -> str:
    """0.068 as `6.8 %`; never `-0.0 %`."""
    return f"{round(100 * part, digits) + 0.0:.{digits}f} %"


def limit(part: float) -> str:
    """A limit as a person wrote it: 0.02 as `2 %`, 0.015 as `1.5 %`."""
    return f"{100 * part:g} %"


def of_log(ratio: float) -> str:
    """A log ratio as the change it is: +0.068 as `+7.0 %`."""
    return percent(math.expm1(ratio)) if abs(ratio) <= _LARGEST_LOG else "unbounded"


def improvement(gain: float | None, metric: Metric) -> float | None:
    """The share by which a metric is better, from a log ratio that is positive where it is better.

    0.05 is 5 % more throughput, or 5 % less latency. None where the gain is unknown or unbounded.
    """
    if gain is None or not abs(gain) <= _LARGEST_LOG:
        return None
    return metric.sign * math.expm1(metric.sign * gain)


def share_of(log: float, metric: Metric) -> float:
    """The same share; infinite where it is unbounded."""
    share = improvement(log, metric)
    return math.copysign(math.inf, log) if share is None else share


def bounded(change: float | None) -> float | None:
    """A relative change; None where it is unknown or unbounded."""
    return change if change is not None and abs(change) <= math.exp(_LARGEST_LOG) else None


def interval(low: float | None, high: float | None) -> str:
    """`+4.9 % .. +8.7 %`; an end that is None or too large is `unbounded`."""
    ends = [bounded(low), bounded(high)]
    if ends == [None, None]:
        return "unbounded"
    return " .. ".join("unbounded" if end is None else percent(end) for end in ends)


def probability(part: float) -> str:
    """A probability in percent; never 0 or 100 %, which no number of blocks can show."""
    if part > 0.999:
        return "over 99.9 %"
    return "under 0.1 %" if part < 0.001 else share(part)


def value(setting: Scalar) -> str:
    """A value as a uwsgi.ini has it."""
    return str(setting).lower() if isinstance(setting, bool) else str(setting)


def params(settings: Params) -> str:
    """`processes = 4, threads = 2`."""
    return ", ".join(f"{name} = {value(setting)}" for name, setting in settings.items())


def figure(number: float) -> str:
    """A measured figure with the digits that matter: `12 500`, `1 465.5`, `3.25`, `0.0123`."""
    if isinstance(number, int):
        return thousands(number)
    if abs(number) < 1:
        return f"{number:.3g}"
    digits = 0 if abs(number) >= 10_000 else 1 if abs(number) >= 10 else 2
    return f"{number:,.{digits}f}".replace(",", " ")


def duration(seconds: float) -> str:
    """3725 as `1 h 02 min`, 95 as `1 min 35 s`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def estimate(seconds: float) -> str:
    """An estimated time without the digits that nobody can know: 1675 as `28 min`."""
    if seconds < 100:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{seconds / 3600:.1f} h"


def memory(mb: float) -> str:
    """512 as `512 MB`, 4096 as `4.1 GB`."""
    return f"{mb / 1000:.1f} GB" if mb >= 1000 else f"{mb:.0f} MB"


def sentence(text: str) -> str:
    """With a capital and a full stop; `str.capitalize` would make "cpu" of "CPU"."""
    trimmed = text.strip()
    stop = "" if trimmed.endswith((".", "!", "?")) or not trimmed else "."
    return f"{trimmed[:1].upper()}{trimmed[1:]}{stop}"


# ---- Metrics, effects and verdicts as text

METRICS: Mapping[Metric, str] = {
    Metric.THROUGHPUT_RPS: "requests per second",
    Metric.LATENCY_P50_MS: "median latency",
    Metric.LATENCY_P95_MS: "p95 latency",
    Metric.LATENCY_P99_MS: "p99 latency",
    Metric.ERROR_RATE: "error rate",
    Metric.MEMORY_MB: "memory",
    Metric.RPS_PER_CPU: "requests per second and CPU",
    Metric.TARGET_CPU: "CPU",
    Metric.MEMORY_PEAK_MB: "peak memory",
    Metric.MB_PER_S: "MB per second",
    Metric.CONNECTIONS_PER_REQUEST: "connections per request",
}

COLUMNS: Mapping[Metric, str] = {
    Metric.THROUGHPUT_RPS: "requests/s",
    Metric.LATENCY_P50_MS: "p50, ms",
    Metric.LATENCY_P95_MS: "p95, ms",
    Metric.LATENCY_P99_MS: "p99, ms",
    Metric.ERROR_RATE: "errors, %",
    Metric.MEMORY_MB: "memory, MB",
    Metric.RPS_PER_CPU: "requests/s and CPU",
    Metric.TARGET_CPU: "CPU, % of its limit",
    Metric.MEMORY_PEAK_MB: "peak memory, MB",
    Metric.MB_PER_S: "MB/s",
    Metric.CONNECTIONS_PER_REQUEST: "connections/request",
}
"""Metrics with their units, as headings and axes have them."""

VERDICTS: Mapping[Verdict, str] = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.BREAKS_BOUND: "breaks a bound",
    Verdict.NO_DIFFERENCE: "no difference",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.DEPENDS: "depends",
    Verdict.MORE_FRAGILE: "faster but more fragile",
}

SIGNS: Mapping[Sign, str] = {
    Sign.HOLDS: "no loss seen",
    Sign.MAY_TURN: "may be a loss",
    Sign.TURNS: "a loss",
    Sign.UNKNOWN: "not known",
}

REALITIES: Mapping[tuple[Verdict, bool], str] = {
    (Verdict.BETTER, True): "real: better",
    (Verdict.WORSE, True): "real: worse",
    (Verdict.NO_DIFFERENCE, True): "real, but too little",
    (Verdict.NO_DIFFERENCE, False): "noise",
    (Verdict.INCONCLUSIVE, False): "too noisy to tell",
}
"""What a verdict means for a step, and whether its interval excludes 0."""


def confidence(effect: Effect) -> str:
    """`95 % CI +4.9 % .. +8.7 %`."""
    return f"95 % CI {interval(effect.ci_low, effect.ci_high)}"


def effect_with_interval(effect: Effect) -> str:
    """`+6.8 % requests per second (95 % CI +4.9 % .. +8.7 %)`."""
    return f"{percent(effect.estimate)} {METRICS[effect.metric]} ({confidence(effect)})"


def standing(effect: Effect) -> str:
    """What the interval shows: `better`, `worse` or `inside noise`."""
    ends = [bounded(effect.ci_low), bounded(effect.ci_high)]
    signed = [None if end is None else effect.metric.sign * end for end in ends]
    low, high = signed if effect.metric.sign > 0 else reversed(signed)
    if low is not None and low > 0:
        return "better"
    return "worse" if high is not None and high < 0 else "inside noise"


def is_real(effect: Effect) -> bool:
    """Whether the interval excludes 0; else the effect may be noise."""
    return standing(effect) != "inside noise"


def reality(step: StepEffect | None) -> str:
    """Whether a step is real or noise; empty for a file without one before it."""
    if step is None:
        return ""
    return REALITIES[step.verdict, step.is_real] if step.effects else "too few blocks"


def place(curve: Curve) -> str:
    """`cpus = 1, threads = 4`: what stays along a curve; empty where nothing else varies."""
    return ", ".join(f"{name} = {value}" for name, value in curve.at.items())


def why_not_kept(effect: Effect) -> str:
    """`inside noise: +0.3 % (-0.9 % .. +1.5 %)`, or `harmful`, or `too small to keep`."""
    reasons = {"better": "too small to keep", "worse": "harmful", "inside noise": "inside noise"}
    ends = interval(effect.ci_low, effect.ci_high)
    return f"{reasons[standing(effect)]}: {percent(effect.estimate)} ({ends})"


def gain_label(metric: Metric) -> str:
    """A gain as the label of an axis: `less memory, %`."""
    return f"{'more' if metric.sign > 0 else 'less'} {METRICS[metric]}, %"


def measured(number: float | None, metric: Metric) -> str:
    """A figure in the unit of its column; `?` where it is not known."""
    return "?" if number is None else figure(in_unit(number, metric))


def in_unit(number: float, metric: Metric) -> float:
    """A figure in the unit of its column: shares in percent."""
    return 100 * number if metric.is_share else number


def ends(found: Figure) -> str:
    """`158.0 .. 164.9`, the interval of a figure in the unit of its column."""
    if found.ci_low is None and found.ci_high is None:
        return "too few blocks"
    return " .. ".join(measured(end, found.metric) for end in (found.ci_low, found.ci_high))
