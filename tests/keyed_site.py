"""A site that asks for a key, with filled rows, over the store in memory or in PostgreSQL."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.filled_rows import Filled, fill
from tests.sites import Site, Visitor
from tests.stores import store_of

KEY = "correct horse battery staple"


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
    """Over one of `STORES`."""
    with store_of(kind) as store:
        yield Keyed(site=Site(store, api_key=KEY), store=store, jobs=fill(store))
