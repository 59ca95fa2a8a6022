"""Figures as words: percent, intervals, probabilities, metrics. The same in every form."""

from tuner.evidence.shares import bounded
from tuner.model import Effect, Metric, Origin, Params, Scalar, TrialState, Verdict, percent
from tuner.model.workloads import Burst, ClosedLoop, Journey, Ladder, OpenLoop, Workload

NAMES = {
    Metric.THROUGHPUT_RPS: "requests per second",
    Metric.LATENCY_P50_MS: "median latency",
    Metric.LATENCY_P95_MS: "p95 latency",
    Metric.LATENCY_P99_MS: "p99 latency",
    Metric.ERROR_RATE: "error rate",
    Metric.MEMORY_MB: "memory",
    Metric.RPS_PER_CPU: "requests per second and CPU",
}
VERDICTS = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.NO_DIFFERENCE: "no difference",
    Verdict.INCONCLUSIVE: "inconclusive",
}
STATES = {
    TrialState.WAITING: "waiting",
    TrialState.RUNNING: "running",
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "stopped early",
    TrialState.INFEASIBLE: "infeasible",
    TrialState.FAILED: "the host failed",
}
ORIGINS = {
    Origin.BASELINE: "your file",
    Origin.HEURISTIC: "heuristic",
    Origin.SAMPLER: "sampler",
    Origin.GIVEN: "given",
    Origin.EARLIER: "earlier job",
    Origin.ABLATION: "ablation",
    Origin.MINIMAL: "smallest diff",
}


def plain_percent(share: float) -> str:
    """0.068 as `6.8 %`, without a sign."""
    return f"{100 * share:.1f} %"


def interval(low: float | None, high: float | None) -> str:
    """`+4.9 % .. +8.7 %`; an end without bound is said to be so."""
    low, high = bounded(low), bounded(high)
    if low is None and high is None:
        return "without bounds"
    ends = ["without bound" if end is None else percent(end) for end in (low, high)]
    return " .. ".join(ends)


def effect_of(effect: Effect) -> str:
    """`+6.8 % requests per second (95 % CI +4.9 % .. +8.7 %)`."""
    return f"{percent(effect.estimate)} {NAMES[effect.metric]} ({confidence(effect)})"


def confidence(effect: Effect) -> str:
    """`95 % CI +4.9 % .. +8.7 %`."""
    return f"95 % CI {interval(effect.ci_low, effect.ci_high)}"


def probability(share: float) -> str:
    """Never 0 or 100 %: no number of blocks makes certain."""
    if share > 0.999:
        return "over 99.9 %"
    return "under 0.1 %" if share < 0.001 else plain_percent(share)


def standing_of(effect: Effect) -> str:
    """What an effect with its interval amounts to, whichever way the metric is good."""
    ends = [bounded(effect.ci_low), bounded(effect.ci_high)]
    signed = [None if end is None else effect.metric.sign * end for end in ends]
    low, high = signed if effect.metric.sign > 0 else reversed(signed)
    if low is not None and low > 0:
        return "better"
    return "worse" if high is not None and high < 0 else "inside noise"


def gain_label(metric: Metric) -> str:
    """What a gain is, for an axis."""
    return f"{'more' if metric.sign > 0 else 'less'} {NAMES[metric]}, %"


def value(setting: Scalar) -> str:
    """A value as a file has it."""
    return str(setting).lower() if isinstance(setting, bool) else str(setting)


def params(settings: Params) -> str:
    """`processes = 4, threads = 2`."""
    return ", ".join(f"{name} = {value(setting)}" for name, setting in settings.items())


def count(number: int, noun: str) -> str:
    """`1 block`, `2 blocks`, `182 000 requests`."""
    return f"{number:,}".replace(",", " ") + f" {noun}{'s' * (number != 1)}"


def duration(seconds: float) -> str:
    """3725 as `1 h 02 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def load(workload: Workload) -> str:
    """The workload in one line, without its requests."""
    match workload:
        case ClosedLoop():
            return f"closed loop of {count(workload.concurrency, 'connection')}"
        case OpenLoop():
            return f"{workload.rate_rps:g} requests per second at a fixed rate"
        case Ladder():
            steps = ", ".join(str(step) for step in workload.concurrencies)
            return f"closed loops of {steps} connections, one after the other"
        case Burst():
            return f"bursts of {count(workload.users, 'user')}, each within {workload.limit_s:g} s"
        case Journey():
            return f"{count(workload.users, 'user')} on a journey of " + count(
                len(workload.requests), "request"
            )


def sentence(text: str) -> str:
    """With a capital and a full stop; `str.capitalize` would make "cpu" of "CPU"."""
    trimmed = text.strip()
    stop = "" if trimmed.endswith((".", "!", "?")) or not trimmed else "."
    return f"{trimmed[:1].upper()}{trimmed[1:]}{stop}"
