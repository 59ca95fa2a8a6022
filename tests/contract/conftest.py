"""What several contracts are held against: stores, the real engine and uWSGI, a judge of files."""

from collections.abc import Iterator

import pytest

from tests import real_bench
from tests.contract.uwsgi_lab import Lab, lab
from tests.stores import STORES, AnyStore, store_of
from tests.uwsgi_judge import Judge, judging
from tuner.bench.engine import DockerLauncher


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[AnyStore]:
    """An empty store: the one in memory, then the one in PostgreSQL."""
    with store_of(request.param) as found:
        yield found


@pytest.fixture
def engine() -> Iterator[DockerLauncher]:
    """The real engine, on which nothing may be left, whatever the next measurement could use."""
    with real_bench.engine() as found:
        yield found
        found.end_jobs(())
        assert real_bench.everything_of(found.instance) == []


@pytest.fixture
def launcher(engine: DockerLauncher) -> DockerLauncher:
    """The same for one measurement."""
    return engine.for_measurement("1", "7")


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
