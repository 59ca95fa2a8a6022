"""Pools, their hosts, and what each can tell apart."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from tuner.model import Doubt
from tuner.schemas.base import Answer


class CalibrationAnswer(Answer):
    """The baseline against itself: what this job can and cannot tell apart."""

    blocks: int = Field(description="A/A blocks measured")
    bias: float = Field(description="mean log ratio of the two equal arms; near 0 on a fair host")
    bias_ci_low: float | None = Field(
        description="lower end of its 99.9 % interval; null: unbounded"
    )
    bias_ci_high: float | None = Field(
        description="upper end of its 99.9 % interval; null: unbounded"
    )
    smallest_bias: float | None = Field(
        description="relative bias that these blocks would have found; null: too few to tell of one"
    )
    block_sd: float = Field(description="standard deviation of a block's log ratio")
    mde: float = Field(description="smallest relative effect that the confirmation will see")
    throughput_rps: float = Field(description="the baseline's own throughput, median of windows")
    resolves_min_effect: bool = Field(description="whether mde is within the asked min_effect")
    doubts: Sequence[Doubt] = Field(description="doubts of its windows")
    start_sd: float | None = Field(description="sd of log throughput from start to start")
    window_sd: float | None = Field(description="sd of log throughput from window to window")
    period_s: float | None = Field(description="shortest alternation near the quietest, by scan")
    client_cpu: float | None = Field(description="load generator's CPUs in use, at most, 0..1")
    block_s: float | None = Field(description="wall time of one block")
    hosts: Sequence[str] = Field(description="who measured it")


class FingerprintAnswer(Answer):
    """What figures of two hosts have to share before their raw values may be compared."""

    cpu_model: str = Field(description="as the kernel names it")
    cpus: int = Field(description="online CPUs")
    memory_mb: int = Field(description="RAM")
    kernel: str = Field(description="release")
    cgroup_version: int = Field(description="1 or 2")
    docker_version: str = Field(description="of the engine")


class HostAnswer(Answer):
    """A benchmark host."""

    name: str = Field(description="its worker's name")
    live: bool = Field(description="whether its worker reported lately")
    last_seen: datetime = Field(description="when its worker last reported")
    problem: str | None = Field(description="what keeps it from measuring")
    fingerprint: FingerprintAnswer | None = Field(description="what it is, once it has looked")


class SeesAnswer(Answer):
    """What a comparison of so many minutes can tell apart on a host."""

    minutes: float = Field(description="of measuring, starts included")
    effect: float | None = Field(
        description="smallest relative effect that it would show; null: too short for a verdict"
    )


class CalibrationReport(Answer):
    """The figures of a calibration."""

    calibration: CalibrationAnswer = Field(description="noise and bias of the hosts")
    sees: Sequence[SeesAnswer] = Field(description="smallest detectable effect by minutes")


class CalibratedHostAnswer(HostAnswer):
    """A benchmark host with its last calibration."""

    calibration: CalibrationAnswer | None = Field(description="null: it has not been calibrated")
    calibrated_at: datetime | None = Field(description="when it was")
    calibrated_with: str | None = Field(description="the target app or image of that calibration")
    sees: Sequence[SeesAnswer] = Field(description="what it can tell apart, by minutes")


class PoolHosts(Answer):
    """The hosts of one pool."""

    pool: str = Field(description="what a job names it by")
    hosts: Sequence[CalibratedHostAnswer] = Field(description="its hosts, by name")


class PoolAnswer(Answer):
    """A set of like hosts."""

    name: str = Field(description="what a job names it by")
    hosts: Sequence[HostAnswer] = Field(description="its hosts, by name")


class PoolList(Answer):
    """All pools that a worker ever reported for."""

    pools: Sequence[PoolAnswer] = Field(description="by name")
