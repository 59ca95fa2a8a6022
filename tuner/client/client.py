"""One service: everything that can be asked of it."""

from types import TracebackType
from typing import Self

import httpx

from tuner.client.catalogue import Catalogue
from tuner.client.jobs import Jobs
from tuner.client.recommendations import Recommendations
from tuner.client.watching import REAL_TIME, Time
from tuner.client.wire import Wire


class Client(Jobs, Recommendations, Catalogue):
    """One service, for one thread. Use it with `with`, or `close` it.

    Every call may raise `Unavailable`, and what the service's problem stands for: `InvalidInput`
    with all mistakes, `NotFound`, `Conflict`, `Stale`. Calls that may be repeated without harm
    are, `retries` times, where the service cannot be reached or says that something is away.
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
        """`transport` and `time` are for tests. Raises `InvalidInput` for what is no address."""
        self._wire = Wire(
            url,
            api_key,
            timeout_s=timeout_s,
            retries=retries,
            transport=transport,
            time=time,
        )

    @property
    def url(self) -> str:
        """Where the service is."""
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
        """Close what connections are kept open."""
        self._wire.close()
