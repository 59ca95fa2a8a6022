"""The store in memory and the one in PostgreSQL, for tests that hold for both."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.fake_store import FakeStore
from tests.postgres import fresh_database
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

AnyStore = Store | FakeStore

STORES = ["memory", pytest.param("postgresql", marks=pytest.mark.real)]


@contextmanager
def store_of(kind: str) -> Iterator[Any]:
    """One of `STORES`, empty."""
    if kind == "memory":
        yield FakeStore()
        return
    with fresh_database() as url:
        engine = make_engine(url)
        yield Store(engine, Queue())
        engine.dispose()
