"""What is sent to the target: loops, ladders, bursts and journeys.

| kind          | who sends                                    | latency counts from           |
|---------------|----------------------------------------------|-------------------------------|
| `closed_loop` | n connections, each its next when answered   | sending (a service time)      |
| `ladder`      | a closed loop at one concurrency after the other | sending                   |
| `open_loop`   | requests fall due at a fixed rate            | when the request was due      |
| `burst`       | n users start at one instant, one journey each | connecting                  |
| `journey`     | n users repeat a journey, request by request | connecting                    |
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tuner.model.document import Document


def _is_absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(f"a path starts with '/', as in '/{path}'")
    if not path.isprintable() or any(character.isspace() for character in path):
        raise ValueError("a path holds no white space and no control characters; write %20")
    return path


UrlPath = Annotated[str, Field(max_length=8000), AfterValidator(_is_absolute)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")]
HeaderValue = Annotated[str, Field(pattern=r"^[\x20-\x7e]{0,4000}$")]
MOST_CONNECTIONS = 10_000


class HttpRequest(Document):
    """One request that the load generator sends."""

    path: UrlPath = Field("/", description="path and query")
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = Field(
        "GET", description="HTTP method"
    )
    headers: dict[HeaderName, HeaderValue] = Field({}, description="by name")
    body: str | None = Field(None, max_length=1_000_000, description="text of the request body")
    expect: int | None = Field(
        None, ge=100, le=599, description="the only status that counts as success; else any 2xx"
    )
    weight: int = Field(1, ge=1, le=1000, description="how often it is sent, against the others")


class _Workload(Document):
    requests: tuple[HttpRequest, ...] = Field(
        (HttpRequest(),), min_length=1, max_length=1000, description="a mix, or the steps in order"
    )

    @property
    def is_plain(self) -> bool:
        """Whether the requests differ in path and weight only, and any 2xx is a success."""
        shapes = {(r.method, r.body, tuple(sorted(r.headers.items()))) for r in self.requests}
        return len(shapes) == 1 and all(request.expect is None for request in self.requests)


class _Ordered(_Workload):
    """Every user sends all requests, one after the other: a weight means nothing there."""

    @model_validator(mode="after")
    def _has_no_weights(self) -> Self:
        if any(request.weight != 1 for request in self.requests):
            raise ValueError("the requests of a journey come in order: weights belong to a mix")
        return self


class ClosedLoop(_Workload):
    """A fixed number of connections, each sending its next request when the last was answered."""

    kind: Literal["closed_loop"] = Field(
        "closed_loop", description="connections that wait for each answer"
    )
    concurrency: int = Field(64, ge=1, le=MOST_CONNECTIONS, description="connections")
    keep_alive: bool = Field(False, description="reuse connections; else one for every request")


class OpenLoop(_Workload):
    """Requests fall due at a fixed rate whether or not the server keeps up.

    Latency counts from when a request was due. `concurrency` bounds those in flight.
    """

    kind: Literal["open_loop"] = Field(description="requests at a fixed rate")
    rate_rps: float = Field(gt=0, le=1_000_000, description="requests due per second")
    concurrency: int = Field(256, ge=1, le=MOST_CONNECTIONS, description="most requests in flight")
    keep_alive: bool = Field(False, description="reuse connections; else one for every request")

    @model_validator(mode="after")
    def _mix_is_plain(self) -> Self:
        if not self.is_plain:
            raise ValueError(
                "at a fixed rate the requests of a mix share method, headers, body and expectation;"
                " only paths and weights vary"
            )
        return self


class Ladder(_Workload):
    """A closed loop at one concurrency after the other; a value is the mean over the rungs."""

    kind: Literal["ladder"] = Field(description="one closed loop per concurrency")
    concurrencies: tuple[Annotated[int, Field(ge=1, le=MOST_CONNECTIONS)], ...] = Field(
        min_length=2, max_length=12, description="connections of each rung, rising"
    )
    keep_alive: bool = Field(False, description="reuse connections; else one for every request")

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if list(self.concurrencies) != sorted(set(self.concurrencies)):
            raise ValueError("the concurrencies of a ladder rise, as in [100, 1000, 10000]")
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


Workload = Annotated[ClosedLoop | OpenLoop | Ladder | Burst | Journey, Field(discriminator="kind")]

Load = ClosedLoop | OpenLoop | Burst | Journey
"""What one window sends: a workload, or one rung of a ladder."""


def rungs(workload: Workload) -> tuple[Load, ...]:
    """The loads of which each cycle has one window an arm: several for a ladder, else one."""
    if not isinstance(workload, Ladder):
        return (workload,)
    return tuple(
        ClosedLoop(
            requests=workload.requests, concurrency=concurrency, keep_alive=workload.keep_alive
        )
        for concurrency in workload.concurrencies
    )


def connections(load: Workload) -> int:
    """The most connections that it has open at once."""
    match load:
        case ClosedLoop() | OpenLoop():
            return load.concurrency
        case Ladder():
            return load.concurrencies[-1]
        case Burst() | Journey():
            return load.users
