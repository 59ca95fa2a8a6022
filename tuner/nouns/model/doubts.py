"""Reasons not to take a figure at face value: the one table of what each means and does.

A doubt that voids says that the window does not show the configuration at all: its figures are
stored and shown, and no statistic uses them. One that marks travels with every figure it touches,
up to the verdict. There the table says what an answer may still advise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Advice(StrEnum):
    """What an answer may say of a file with a proven gain; the last of several counts."""

    DEPLOY = "Deploy it"
    ONE_FIRST = "Deploy it to one instance first"
    NOT_YET = "Do not deploy it yet"

    @classmethod
    def worst(cls, advices: Iterable["Advice"]) -> "Advice":
        """The one that counts."""
        return max(advices, key=list(cls).index, default=cls.DEPLOY)


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
    SERVICES_SHARE_CPUS = "services_share_cpus"  # of older answers: no new window has it
    BENCH_BUSY = "bench_busy"
    BENCH_FULL = "bench_full"
    NOISY_HOST = "noisy_host"
    DISTURBED = "disturbed"
    RATE_NOT_REACHED = "rate_not_reached"
    SERVICES_SATURATED = "services_saturated"
    SERVICES_AT_BENCH_LIMIT = "services_at_bench_limit"
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

    @property
    def advice(self) -> Advice:
        """What an answer with this doubt may say; of one that voids, if many windows have it."""
        return _TABLE[self].advice

    @property
    def advice_on_candidate(self) -> Advice:
        """The same where the user's own file does not have it.

        What slows only the faster file hides a part of its gain, and makes none.
        """
        return _TABLE[self].on_candidate or self.advice

    @property
    def remedy(self) -> str:
        """What a person can do about it."""
        return _TABLE[self].remedy


def measure_again(doubts: Iterable[Doubt]) -> str | None:
    """Why an answer with these doubts is not true for production; None: nothing says so.

    No new answer is like that: the bench has changed since.
    """
    if Doubt.SERVICES_SHARE_CPUS in doubts:
        return "measured with services on the app's CPU: measure again"
    return None


@dataclass(frozen=True, slots=True)
class _Meaning:
    sentence: str
    remedy: str
    advice: Advice = Advice.DEPLOY
    voids: bool = False
    on_candidate: Advice | None = None  # None: the same


_TABLE = {
    Doubt.CLIENT_SATURATED: _Meaning(
        "the load generator used more than 80 % of its CPU: the server may be faster than shown",
        "give the load generator more CPUs: limits.client_cpus, on a host that has them",
        Advice.ONE_FIRST,
    ),
    Doubt.PORTS_EXHAUSTED: _Meaning(
        "the client ran out of local ports: it measured the kernel",
        "set keep_alive, or lower the number of connections",
        Advice.NOT_YET,
        voids=True,
    ),
    Doubt.COUNTER_MISMATCH: _Meaning(
        "client and server disagree on how many requests were served",
        "look for another client of the app, such as a health check of its own",
        Advice.NOT_YET,
        voids=True,
    ),
    Doubt.ERRORS: _Meaning(
        "some requests failed or were answered with another status than expected",
        "look at the errors by class; the verdict has compared their share",
    ),
    Doubt.UNFINISHED_CONNECTIONS: _Meaning(
        "some connections got no answer in the whole window: the figures are of the others",
        "use more slots than connections, or http-socket, or nginx in front",
        Advice.NOT_YET,
        voids=True,
    ),
    Doubt.UNSTABLE_START: _Meaning(
        "starts of the same file differ widely: one deployment may be far from the next",
        "restart the instance some times and compare",
        Advice.ONE_FIRST,
    ),
    Doubt.NOT_STEADY: _Meaning(
        "throughput was still moving when the warm-up had to end",
        "raise budget.warmup_s",
        Advice.ONE_FIRST,
    ),
    Doubt.TOO_FEW_REQUESTS: _Meaning(
        "too few requests for the latency percentile that was asked for (p99 needs 5 000)",
        "raise budget.window_s",
    ),
    Doubt.THROTTLED: _Meaning(
        "the CPU quota ran out: the kernel stopped the target for parts of the window",
        "nothing, if production has the same quota",
    ),
    Doubt.SHARED_CPUS: _Meaning(
        "target and load generator had to share CPUs",
        "measure on a host with more CPUs, or lower limits.cpus",
        Advice.NOT_YET,
    ),
    Doubt.SERVICES_SHARE_CPUS: _Meaning(
        "the services had to share the CPUs of the target",
        "measure again: services have other CPUs than the app now",
        Advice.NOT_YET,
    ),
    Doubt.BENCH_BUSY: _Meaning(
        "load generator and services together used more than 80 % of the CPUs that they share",
        "measure on a host with more CPUs, so that services have their own",
        Advice.NOT_YET,
        on_candidate=Advice.ONE_FIRST,
    ),
    Doubt.BENCH_FULL: _Meaning(
        "load generator and services used up the CPUs that they share: the app had to wait",
        "measure on a host with more CPUs, or lower limits.cpus",
        Advice.NOT_YET,
        voids=True,
    ),
    Doubt.NOISY_HOST: _Meaning(
        "something else used the host's CPUs while the window ran",
        "nothing: the interval has this noise in it; a quiet host gives a narrower one",
    ),
    Doubt.DISTURBED: _Meaning(
        "a uWSGI process was replaced or killed while the window ran",
        "look in the log for what replaced it, such as max-requests or harakiri",
    ),
    Doubt.RATE_NOT_REACHED: _Meaning(
        "fewer requests were sent than fell due: latencies at this rate are worse than shown",
        "lower rate_rps, or give the load generator more CPUs",
        Advice.NOT_YET,
    ),
    Doubt.SERVICES_SATURATED: _Meaning(
        "a service of the app was at its CPU limit: the app cannot be faster than this service",
        "look at the service: its slow queries, or its limit",
    ),
    Doubt.SERVICES_AT_BENCH_LIMIT: _Meaning(
        "a service of the app used up the CPUs of this bench: production may give it more",
        "give the service the `cpus` that it has in production, on a host that has them",
        Advice.NOT_YET,
    ),
    Doubt.SERVICE_REFUSED: _Meaning(
        "a service of the app refused connections while requests failed: it allows fewer than"
        " processes x threads, so set max_slots",
        "set max_slots to what the service allows",
        Advice.NOT_YET,
    ),
    Doubt.UNCOUNTED: _Meaning(
        "only the load generator counted the requests: the server has no count that is read, and"
        " its connections carry several requests",
        "compare without keep_alive too",
        Advice.ONE_FIRST,
    ),
    Doubt.WINDOW_TOO_SHORT: _Meaning(
        "requests take long against the window, and rate x latency is not the number of"
        " connections: the rate may be wrong by more than 10 %",
        "raise budget.window_s to five times the latency or more",
        Advice.ONE_FIRST,
    ),
}
