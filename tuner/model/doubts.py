"""Reasons not to take a figure at face value: the one table of what each means and does.

A doubt that voids says that the window does not show the configuration at all: its figures are
stored and shown, and no statistic uses them. One that marks travels with every figure it touches,
up to the verdict.
"""

from dataclasses import dataclass
from enum import StrEnum


class Doubt(StrEnum):
    """A reason not to take a figure at face value."""

    CLIENT_SATURATED = "client_saturated"
    PORTS_EXHAUSTED = "ports_exhausted"
    COUNTER_MISMATCH = "counter_mismatch"
    ERRORS = "errors"
    UNFINISHED_CONNECTIONS = "unfinished_connections"
    UNSTABLE_START = "unstable_start"
    NOT_STEADY = "not_steady"
    TOO_FEW_REQUESTS = "too_few_requests"
    THROTTLED = "throttled"
    SHARED_CPUS = "shared_cpus"
    SERVICES_SHARE_CPUS = "services_share_cpus"
    NOISY_HOST = "noisy_host"
    DISTURBED = "disturbed"
    RATE_NOT_REACHED = "rate_not_reached"
    SERVICES_SATURATED = "services_saturated"
    SERVICE_REFUSED = "service_refused"
    UNCOUNTED = "uncounted"
    WINDOW_TOO_SHORT = "window_too_short"

    @property
    def sentence(self) -> str:
        """What it means, for a person."""
        return _TABLE[self].sentence

    @property
    def voids(self) -> bool:
        """Whether a window with this doubt says nothing about the configuration."""
        return _TABLE[self].voids


@dataclass(frozen=True, slots=True)
class _Meaning:
    sentence: str
    voids: bool = False


_TABLE = {
    Doubt.CLIENT_SATURATED: _Meaning(
        "the load generator used more than 80 % of its CPU: the server may be faster than shown"
    ),
    Doubt.PORTS_EXHAUSTED: _Meaning(
        "the client ran out of local ports: it measured the kernel", voids=True
    ),
    Doubt.COUNTER_MISMATCH: _Meaning(
        "client and server disagree on how many requests were served", voids=True
    ),
    Doubt.ERRORS: _Meaning(
        "some requests failed or were answered with another status than expected"
    ),
    Doubt.UNFINISHED_CONNECTIONS: _Meaning(
        "some connections got no answer in the whole window: the figures are of the others",
        voids=True,
    ),
    Doubt.UNSTABLE_START: _Meaning(
        "starts of the same file differ widely: one deployment may be far from the next"
    ),
    Doubt.NOT_STEADY: _Meaning("throughput was still moving when the warm-up had to end"),
    Doubt.TOO_FEW_REQUESTS: _Meaning(
        "too few requests for the latency percentile that was asked for (p99 needs 5 000)"
    ),
    Doubt.THROTTLED: _Meaning(
        "the CPU quota ran out: the kernel stopped the target for parts of the window"
    ),
    Doubt.SHARED_CPUS: _Meaning("target and load generator had to share CPUs"),
    Doubt.SERVICES_SHARE_CPUS: _Meaning("the services had to share the CPUs of the target"),
    Doubt.NOISY_HOST: _Meaning("something else used the host's CPUs while the window ran"),
    Doubt.DISTURBED: _Meaning("a uWSGI process was replaced or killed while the window ran"),
    Doubt.RATE_NOT_REACHED: _Meaning(
        "fewer requests were sent than fell due: latencies at this rate are worse than shown"
    ),
    Doubt.SERVICES_SATURATED: _Meaning(
        "a service of the app was at its CPU limit: the app cannot be faster than this service"
    ),
    Doubt.SERVICE_REFUSED: _Meaning(
        "a service of the app refused connections while requests failed: it allows fewer than"
        " processes x threads, so set max_slots"
    ),
    Doubt.UNCOUNTED: _Meaning(
        "only the load generator counted the requests: the server has no count that is read, and"
        " its connections carry several requests"
    ),
    Doubt.WINDOW_TOO_SHORT: _Meaning(
        "requests take long against the window, and rate x latency is not the number of"
        " connections: the rate may be wrong by more than 10 %"
    ),
}
