"""What several contracts are held against: both stores, a real uWSGI, and the judge of a file."""

from collections.abc import Iterator

import pytest

from tests.contract.uwsgi_lab import Lab, lab
from tests.stores import STORES, AnyStore, store_of
from tests.uwsgi_judge import Judge, judging


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[AnyStore]:
    """An empty store: the one in memory, then the one in PostgreSQL."""
    with store_of(request.param) as found:
        yield found


@pytest.fixture(scope="module")
def uwsgi() -> Iterator[Lab]:
    """Scenes on a real uWSGI."""
    with lab() as found:
        yield found


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """The real uWSGI, asked what files mean."""
    with judging() as found:
        yield found
