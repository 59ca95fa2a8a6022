"""What is sent to the target: loops, ladders, paths, bursts and journeys.

| kind          | who sends                                    | latency counts from           |
|---------------|----------------------------------------------|-------------------------------|
| `closed_loop` | n connections, each its next when answered   | sending (a service time)      |
| `ladder`      | a closed loop at one concurrency after the other | sending                   |
| `paths`       | a closed loop of one request after the other | sending                       |
| `open_loop`   | requests fall due at a fixed rate            | when the request was due      |
| `capacity`    | open loops with Poisson arrivals, rate by rate | when the request was due    |
| `burst`       | n users start at one instant, one journey each | connecting                  |
| `journey`     | n users repeat a journey, request by request | connecting                    |
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tuner.nouns.model.base import Document, raise_for
from tuner.nouns.model.http_requests import HttpRequest, UserData, refusals
from tuner.nouns.model.objectives import Metric

MOST_CONNECTIONS = 10_000
CONNECT_TIMEOUT_S = 10
"""After which a client gives up on a connection that the kernel does not accept."""


class _Workload(Document):
    requests: tuple[HttpRequest, ...] = Field(
        (HttpRequest(),), min_length=1, max_length=1000, description="a mix, or the steps in order"
    )

    @property
    def is_plain(self) -> bool:
        """Whether the requests differ in path and weight only, and any 2xx is a success."""
        first, *others = (r.model_copy(update={"path": "/", "weight": 1}) for r in self.requests)
        return first.expect is None and all(other == first for other in others)

    @model_validator(mode="after")
    def _has_a_value_for_each_name(self) -> Self:
        data = self.user_data if isinstance(self, _Ordered) else None
        names = data.names if data else ()
        raise_for(refusals(self.requests, names, is_ordered=isinstance(self, _Ordered)))
        return self


class _Unweighted(_Workload):
    """All requests are sent alike: a weight means nothing there."""

    @model_validator(mode="after")
    def _has_no_weights(self) -> Self:
        if any(request.weight != 1 for request in self.requests):
            raise ValueError("its requests come in order, in turn: weights belong to a mix")
        return self


class _Ordered(_Unweighted):
    """Every user sends all requests in order."""

    user_data: UserData | None = Field(None, description="a row of values for each user")


class ClosedLoop(_Workload):
    """A fixed number of connections, each sending its next request when the last was answered."""

    kind: Literal["closed_loop"] = Field(
        "closed_loop", description="connections that wait for each answer"
    )
    concurrency: int = Field(64, ge=1, le=MOST_CONNECTIONS, description="connections")
    keep_alive: bool = Field(
        False, description="reuse connections that the server keeps; else one a request"
    )


class OpenLoop(_Workload):
    """Requests fall due at a fixed rate whether or not the server keeps up.

    Latency counts from when a request was due. `concurrency` bounds those in flight.
    """

    kind: Literal["open_loop"] = Field(description="requests at a fixed rate")
    rate_rps: float = Field(gt=0, le=1_000_000, description="requests due per second")
    arrivals: Literal["even", "poisson"] = Field(
        "even", description="equal gaps, or as of many users who do not know each other"
    )
    seed: int = Field(0, ge=0, lt=2**31, description="of Poisson arrivals")
    concurrency: int = Field(256, ge=1, le=MOST_CONNECTIONS, description="most requests in flight")
    keep_alive: bool = Field(
        False, description="reuse connections that the server keeps; else one a request"
    )

    @model_validator(mode="after")
    def _mix_is_plain(self) -> Self:
        if not self.is_plain:
            raise ValueError(
                "at a fixed rate the requests of a mix share method, headers, body and expectation;"
                " only paths and weights vary"
            )
        return self


class CapacityLimit(Document):
    """What a rate must keep to be carried."""

    latency_p50_ms: float | None = Field(None, gt=0, le=60_000, description="most median latency")
    latency_p95_ms: float | None = Field(None, gt=0, le=60_000, description="most p95 latency")
    latency_p99_ms: float | None = Field(None, gt=0, le=60_000, description="most p99 latency")
    error_rate: float = Field(0.001, ge=0, lt=1, description="largest share of failed requests")

    @model_validator(mode="after")
    def _has_one_latency(self) -> Self:
        if len(self._given) != 1:
            raise ValueError("give one of latency_p50_ms, latency_p95_ms and latency_p99_ms")
        return self

    @property
    def _given(self) -> dict[Metric, float]:
        metrics = (Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.LATENCY_P99_MS)
        values = {metric: getattr(self, metric.value) for metric in metrics}
        return {metric: value for metric, value in values.items() if value is not None}

    @property
    def metric(self) -> Metric:
        """The percentile that is bounded."""
        return next(iter(self._given))

    @property
    def latency_ms(self) -> float:
        """Its bound."""
        return self._given[self.metric]


class Capacity(_Workload):
    """Open loops with Poisson arrivals at the rates that show the highest one within a limit."""

    kind: Literal["capacity"] = Field(description="the highest rate within a limit")
    limit: CapacityLimit = Field(description="what a rate must keep")
    concurrency: int = Field(
        64, ge=1, le=MOST_CONNECTIONS, description="connections of the warm-up, a closed loop"
    )
    keep_alive: bool = Field(
        False, description="reuse connections that the server keeps; else one a request"
    )

    def at(self, rate_rps: float, seed: int) -> OpenLoop:
        """The open loop of one probe, with connections for a latency of twice the limit."""
        most = math.ceil(2 * rate_rps * self.limit.latency_ms / 1000)
        return OpenLoop.model_construct(  # unlike those of an even rate, the requests may differ
            kind="open_loop",
            requests=self.requests,
            rate_rps=rate_rps,
            arrivals="poisson",
            seed=seed,
            concurrency=min(MOST_CONNECTIONS, max(32, most)),
            keep_alive=self.keep_alive,
        )


class Ladder(_Workload):
    """A closed loop at one concurrency after the other; a value is the mean over the rungs."""

    kind: Literal["ladder"] = Field(description="one closed loop per concurrency")
    concurrencies: tuple[Annotated[int, Field(ge=1, le=MOST_CONNECTIONS)], ...] = Field(
        min_length=2, max_length=12, description="connections of each rung, rising"
    )
    keep_alive: bool = Field(
        False, description="reuse connections that the server keeps; else one a request"
    )

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if list(self.concurrencies) != sorted(set(self.concurrencies)):
            raise ValueError("the concurrencies of a ladder rise, as in [100, 1000, 10000]")
        return self


class Paths(_Unweighted):
    """A closed loop of each request in turn, as of files of several sizes: a path is a rung."""

    kind: Literal["paths"] = Field(description="one closed loop per request")
    requests: tuple[HttpRequest, ...] = Field(
        min_length=2, max_length=12, description="one for each rung, in order"
    )
    concurrency: int = Field(64, ge=1, le=MOST_CONNECTIONS, description="connections")
    keep_alive: bool = Field(
        False, description="reuse connections that the server keeps; else one a request"
    )

    @property
    def is_plain(self) -> bool:
        """Whether any 2xx is a success of each request."""
        return all(load.is_plain for load in rungs(self).values())

    @model_validator(mode="after")
    def _names_its_rungs(self) -> Self:
        if len({request.path for request in self.requests}) < len(self.requests):
            raise ValueError("every request needs a path of its own: the path names its rung")
        return self


class Burst(_Ordered):
    """`users` start at the same instant; each sends the requests in order, once.

    One window is one burst. A load that lasts measures throughput; this measures whether all the
    users of one moment are served within `limit_s`.
    """

    kind: Literal["burst"] = Field(description="all users start at one instant")
    users: int = Field(ge=1, le=MOST_CONNECTIONS, description="users that start at once")
    limit_s: float = Field(5.0, gt=0, le=60, description="a request must be answered within this")


class Journey(_Ordered):
    """`users` go through the requests in order, again and again, each on connections of its own."""

    kind: Literal["journey"] = Field(description="users repeat the requests in order")
    users: int = Field(32, ge=1, le=MOST_CONNECTIONS, description="users that repeat the journey")
    limit_s: float = Field(5.0, gt=0, le=60, description="a request must be answered within this")


Workload = Annotated[
    ClosedLoop | OpenLoop | Capacity | Ladder | Paths | Burst | Journey,
    Field(discriminator="kind"),
]

Load = ClosedLoop | OpenLoop | Burst | Journey
"""What one window sends: a workload, or one of its rungs."""

Rung = int | str
"""A rung of a ladder by its connections, or of `paths` by its path."""


def rungs(workload: Workload) -> Mapping[Rung | None, Load]:
    """The loads of which each cycle has one window an arm; None names the only one."""
    match workload:
        case Ladder():
            return {
                concurrency: _loop(workload, workload.requests, concurrency)
                for concurrency in workload.concurrencies
            }
        case Paths():
            return {
                request.path: _loop(workload, (request,), workload.concurrency)
                for request in workload.requests
            }
        case Capacity():  # of the warm-up: the probes have the rates that are asked for
            return {None: _loop(workload, workload.requests, workload.concurrency)}
        case _:
            return {None: workload}


def _loop(
    workload: Capacity | Ladder | Paths, requests: tuple[HttpRequest, ...], concurrency: int
) -> ClosedLoop:
    return ClosedLoop(requests=requests, concurrency=concurrency, keep_alive=workload.keep_alive)


def wants_kept(workload: Workload) -> bool:
    """Whether its client wants to send several requests on one connection."""
    return not isinstance(workload, Burst | Journey) and workload.keep_alive


def with_keep_alive(workload: Workload, keep_alive: bool | None) -> Workload:
    """The workload of a client that keeps its connections, or does not; None changes nothing.

    The users of a burst or a journey have connections of their own.
    """
    if keep_alive is None or isinstance(workload, Burst | Journey):
        return workload
    return workload.model_copy(update={"keep_alive": keep_alive})


def at_rung(workload: Workload, rung: Rung | None) -> Workload:
    """One rung; the whole workload for None."""
    return workload if rung is None else rungs(workload)[rung]


def scaled(workload: Workload, factor: float) -> Workload:
    """`factor` times the load: connections, users, or the rate; within the bounds of each."""

    def times(number: int) -> int:
        return min(MOST_CONNECTIONS, max(1, round(factor * number)))

    match workload:
        case OpenLoop():
            size: dict[str, Any] = {"rate_rps": factor * workload.rate_rps}
        case ClosedLoop() | Capacity() | Paths():
            size = {"concurrency": times(workload.concurrency)}
        case Ladder():
            size = {"concurrencies": tuple(sorted({*map(times, workload.concurrencies)}))}
        case _:
            size = {"users": times(workload.users)}
    return workload.model_copy(update=size)


def connections(load: Workload) -> int:
    """The most connections that it has open at once."""
    match load:
        case ClosedLoop() | OpenLoop() | Capacity() | Paths():
            return load.concurrency
        case Ladder():
            return load.concurrencies[-1]
        case Burst() | Journey():
            return load.users
