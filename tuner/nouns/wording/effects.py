"""Metrics, effects and verdicts as text."""

from collections.abc import Mapping

from tuner.nouns.model import Curve, Effect, Figure, Metric, Sign, StepEffect, Verdict
from tuner.nouns.wording.numbers import bounded, figure, interval, percent

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
