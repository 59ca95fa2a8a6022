"""The client of one service."""

from types import TracebackType
from typing import Self

import httpx

from tuner.client.catalogue import CatalogueCalls
from tuner.client.jobs import Jobs
from tuner.client.recommendations import Recommendations
from tuner.client.watching import REAL_TIME, Time
from tuner.client.wire import Wire


class Client(Jobs, Recommendations, CatalogueCalls):
    """A client of one service, for one thread. Use it with `with`, or `close` it.

    Every call may raise `Unavailable`, and the error that the service reports: `InvalidInput` with
    all mistakes, `NotFound`, `Conflict`, `Stale`. The client repeats safe calls up to `retries`
    times if it cannot reach the service, or if the service says that something is away.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        *,
        transport: httpx.BaseTransport | None = None,
        time: Time = REAL_TIME,
    ) -> None:
        """`transport` and `time` are for tests. Raises `InvalidInput` if `url` is no address."""
        self._wire = Wire(
            url, api_key, timeout_s=timeout_s, retries=retries, transport=transport, time=time
        )

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._wire.url

    def __repr__(self) -> str:
        return f"Client({self.url!r})"  # never the key

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the open connections."""
        self._wire.close()
