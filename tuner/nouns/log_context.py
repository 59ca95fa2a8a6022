"""What the present work is about, for the log: `job`, `block` (a measurement) and `request`.

A thread has ids of its own. `asyncio.to_thread` and FastAPI copy those of the caller;
`threading.Thread` does not.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

Ids = Mapping[str, int | str]

_NOTHING: Ids = MappingProxyType({})
_present: ContextVar[Ids] = ContextVar("log_context", default=_NOTHING)


def present() -> Ids:
    """The ids that are known here."""
    return _present.get()


def begin(**ids: int | str) -> None:
    """Know these ids, and forget all others: a connection's next request inherits its context."""
    _present.set(ids)


def add(**ids: int | str) -> None:
    """Know these ids too, until the work that encloses this one ends."""
    _present.set({**_present.get(), **ids})


@contextmanager
def about(**ids: int | str) -> Iterator[None]:
    """Know these ids too, inside the block."""
    before = _present.set({**_present.get(), **ids})
    try:
        yield
    finally:
        _present.reset(before)
