"""A site that asks for a key, with filled rows, over the store in memory or in PostgreSQL."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fake_store import FakeStore
from tests.filled_rows import Filled, fill
from tests.postgres import fresh_database
from tests.sites import Site, Visitor
from tuner.db import Store, make_engine
from tuner.queue import Queue

KEY = "correct horse battery staple"
STORES = ["memory", pytest.param("postgresql", marks=pytest.mark.real)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """A site that asks for a key, and its rows."""

    site: Site
    store: Any
    jobs: Filled

    def visitor(self, **fields: str) -> Visitor:
        """Somebody who has signed in."""
        found = Visitor(self.site)
        assert found.sign_in(KEY, **fields).status_code == 303
        return found

    def link(self, job_id: int) -> str:
        """The path of a new link, made by the form."""
        ada = self.visitor()
        made = ada.post(f"/jobs/{job_id}/links", {"token": ada.token, "days": "7"})
        assert made.status_code == 201
        found = re.search(r'value="http://localhost(/shared/[^"]+)"', made.text)
        assert found is not None
        return found[1]


@contextmanager
def keyed_site(kind: str) -> Iterator[Keyed]:
    """One of `STORES`."""

    def of_store(store: Any) -> Keyed:
        return Keyed(site=Site(store, api_key=KEY), store=store, jobs=fill(store))

    if kind == "memory":
        yield of_store(FakeStore())
        return
    with fresh_database() as url:
        engine = make_engine(url)
        yield of_store(Store(engine, Queue()))
        engine.dispose()
