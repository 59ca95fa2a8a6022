"""The report of a comparison: figures and effects, arm by arm and rung by rung."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from tuner.nouns.model.answers import Bottleneck, Diagnosis, Effect, Verdict
from tuner.nouns.model.base import about
from tuner.nouns.model.doubts import Doubt
from tuner.nouns.model.figures import Histogram, OverTime, ProxyTimes, ServiceFigures, Spread
from tuner.nouns.model.measuring import Failure
from tuner.nouns.model.objectives import Metric
from tuner.nouns.model.windows import RequestFigures
from tuner.nouns.model.workloads import Rung

# ---- The curve of a grid: what one number does while everything else stays


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The files of a grid that differ in one number alone, in its order."""

    over: Annotated[str, about("the option or limit that grows along the curve")]
    at: Annotated[Mapping[str, str], about("what else the grid varies, with its value here")]
    levels: Annotated[tuple[float, ...], about("values of `over`, the smallest first")]
    arms: Annotated[tuple[str, ...], about("the file of each level")]
    enough: Annotated[
        float | None,
        about(
            "the smallest level from which no later one is better by min_effect; null: the last"
            " one is better than the one before, or noise may hide a gain"
        ),
    ]
    sentence: Annotated[str, about("where the curve stops rising, and what limits it there")]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One metric of one file over all blocks."""

    metric: Annotated[Metric, about("what was measured; the unit is part of the name")]
    value: Annotated[float, about("robust centre of the blocks")]
    ci_low: Annotated[
        float | None, about("lower end of its 95 % interval; null: unbounded, or one block only")
    ]
    ci_high: Annotated[
        float | None, about("upper end of its 95 % interval; null: unbounded, or one block only")
    ]
    rung: Annotated[
        Rung | None, about("connections of a ladder's rung, or a path; null: there is only one")
    ] = None
    trimmed_mean: Annotated[
        float | None,
        about("mean without the highest and the lowest block; null: fewer than 4 blocks"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RungReport:
    """One arm at one rung, besides its figures."""

    rung: Annotated[Rung, about("connections of a ladder's rung, or a path")]
    requests: Annotated[int, about("answered as expected")]
    errors_by_class: Annotated[Mapping[str, int], about("failed requests")]
    bottleneck: Annotated[Bottleneck, about("what limits it there")]
    doubts: Annotated[tuple[Doubt, ...], about("reasons to doubt its figures there")]
    effect: Annotated[
        Effect | None,
        about("against the first arm in the same blocks, by the objective; null for that arm"),
    ] = None
    best: Annotated[
        str | None, about("name of the arm that does best there by the objective; null: none does")
    ] = None
    against_best: Annotated[
        Effect | None, about("against that arm in the same blocks; null for that arm")
    ] = None
    failure: Annotated[
        Failure | None,
        about("why it was measured no further, on a ladder neither here nor above"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class StepEffect:
    """A file against the one before it: the step before, or the level below on its curve."""

    after: Annotated[str, about("name of the file before")]
    changes: Annotated[tuple[str, ...], about("the lines in which they differ, with - or +")]
    effects: Annotated[tuple[Effect, ...], about("against that file, in the same blocks")]
    verdict: Annotated[Verdict, about("by the objective")]
    is_real: Annotated[
        bool, about("whether the interval of the objective's metric excludes 0; false: noise")
    ]


@dataclass(frozen=True, kw_only=True)
class TypicalWindow:
    """How an arm goes at the last rung that was measured: its window of median throughput."""

    rung: Annotated[Rung | None, about("connections or a path; null: there is only one")]
    block: Annotated[int, about("the block's sequence within the job")]
    index: Annotated[int, about("the window's place in that block")]
    over_time: Annotated[OverTime, about("CPU, memory and listen queue, per 0.25 s")]


@dataclass(frozen=True, kw_only=True)
class CapacityPoint:
    """One probe: Poisson arrivals at one rate."""

    rate_rps: Annotated[float, about("requests that were sent, per second")]
    seconds: Annotated[float, about("of load, the head that does not count included")]
    latency_p50_ms: Annotated[float | None, about("median latency")]
    latency_p95_ms: Annotated[float | None, about("95th percentile of latency")]
    latency_p99_ms: Annotated[float | None, about("99th percentile of latency")]
    error_rate: Annotated[float, about("share of failed requests, 0..1")]
    is_late: Annotated[bool, about("whether it missed the limit")]


@dataclass(frozen=True, kw_only=True)
class CapacityReport:
    """The highest rate of Poisson arrivals that keeps a limit."""

    rps: Annotated[float | None, about("requests per second; null: not found")]
    ci_low: Annotated[float | None, about("lower end of its 95 % interval")] = None
    ci_high: Annotated[float | None, about("upper end of its 95 % interval")] = None
    ratio: Annotated[
        float | None, about("of the first file's; null: that file, or one was not found")
    ] = None
    ratio_low: Annotated[float | None, about("lower end of its 95 % interval")] = None
    ratio_high: Annotated[float | None, about("upper end of its 95 % interval")] = None
    points: Annotated[tuple[CapacityPoint, ...], about("the probes, the lowest rate first")]
    sentence: Annotated[str, about("the capacity, or why there is none")]
    notes: Annotated[tuple[str, ...], about("what to know before one believes it")]


@dataclass(frozen=True, kw_only=True)
class ArmReport:
    """The figures of one file of a comparison."""

    name: Annotated[str, about("the file's name in the request")]
    figures: Annotated[tuple[Figure, ...], about("metric by metric")]
    effects: Annotated[
        tuple[Effect, ...], about("against the first file, in the same blocks; empty for that file")
    ]
    verdict: Annotated[Verdict | None, about("by the objective; null for the first file")]
    step: Annotated[
        StepEffect | None, about("against the file before it; null unless steps or a grid")
    ] = None
    blocks: Annotated[int, about("blocks with usable windows of the file")]
    windows: Annotated[int, about("windows, void ones included")]
    requests: Annotated[int, about("answered as expected")]
    errors_by_class: Annotated[
        Mapping[str, int], about("failed requests, as in http_502, refused, read_timeout")
    ]
    diagnosis: Annotated[Diagnosis, about("what limits it")]
    doubts: Annotated[tuple[Doubt, ...], about("reasons to doubt its figures")]
    services: Annotated[
        Mapping[str, ServiceFigures],
        about(
            "what ran beside the app, by name: medians over the windows, sums of kills, the most"
            " that was written in a block"
        ),
    ] = field(default_factory=dict)
    latency: Annotated[Histogram, about("latencies of all windows")]
    connect: Annotated[Spread | None, about("the client's connects, medians over the windows")] = (
        None
    )
    proxy: Annotated[
        ProxyTimes | None,
        about("what nginx in front logged: sums of counts, medians of times over the windows"),
    ] = None
    over_limit: Annotated[
        float | None, about("share of all requests not answered within limit_s, 0..1")
    ] = None
    by_request: Annotated[
        tuple[RequestFigures, ...], about("request by request, over all usable windows")
    ] = ()
    rungs: Annotated[
        tuple[RungReport, ...], about("rung by rung; empty: the load has no rungs")
    ] = ()
    capacity: Annotated[CapacityReport | None, about("null: the workload does not look for it")] = (
        None
    )
    typical: Annotated[
        TypicalWindow | None,
        about("one window step by step; null: none at that load, or none with a series"),
    ] = None
    failure: Annotated[Failure | None, about("why the measurement did not finish")] = None


@dataclass(frozen=True, kw_only=True)
class Report:
    """The answer of a comparison, file by file. The first file is the baseline."""

    arms: tuple[ArmReport, ...]
    blocks: int
    curves: tuple[Curve, ...] = ()
