"""Which tests a tier runs, in which order, and which may run side by side.

`pytest --tier NAME` runs a tier; docs/developing.md says what each is for. Without `--tier`
pytest runs whatever it is given. Only `make` asks for several processes (`-n`, pytest-xdist).
"""

import fcntl
import os
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has no types

from tests.budgets import FAST, FULL

TIERS = {
    "fast": "unit and contract tests that need no Docker and no long time",
    "real": "the other contracts, integration, acceptance and recovery: containers, PostgreSQL",
    "full": "the tests marked `full`, those of benchmarks, and property tests with a full budget",
}
"""Every test belongs to one tier; property tests run in `full` once more."""

WITHOUT_CONTAINERS = ("tests/unit/", "tests/contract/")
OF_BENCHMARKS = "tests/benchmarks/"

ALONE = "tests/acceptance/"
"""These tests wait until all others have ended: a busy neighbour changes what they measure."""

APART = "tests/recovery/"
"""Each test is a group of its own: it takes minutes, and shares nothing."""

FIRST = (APART, "tests/integration/", "tests/contract/")
"""They take longest, and mostly wait."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--tier`, with one line for each tier."""
    listed = "; ".join(f"{name}: {holds}" for name, holds in TIERS.items())
    told = f"run this tier only; give it twice for two tiers. {listed}"
    parser.addoption("--tier", action="append", default=[], choices=TIERS, help=told)


def tier_of(item: pytest.Item) -> str:
    """The tier of a test, from its markers and its folder."""
    if item.get_closest_marker("full") or item.nodeid.startswith(OF_BENCHMARKS):
        return "full"
    is_real = any(item.get_closest_marker(name) for name in ("docker", "real"))
    return "fast" if item.nodeid.startswith(WITHOUT_CONTAINERS) and not is_real else "real"


def is_wanted(item: pytest.Item, tiers: Sequence[str]) -> bool:
    """Whether a run of those tiers has the test; without a tier it has all."""
    again = "full" in tiers and is_hypothesis_test(getattr(item, "obj", None))
    return not tiers or tier_of(item) in tiers or again


def _turn(node: str) -> int:
    """Where in the run a test comes."""
    if node.startswith(ALONE):
        return len(FIRST) + 1
    return next((at for at, level in enumerate(FIRST) if node.startswith(level)), len(FIRST))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tier; in several processes, put the longest first.

    Two tests must not share a node id: pytest-xdist runs only one of them.
    """
    twice = [nodeid for nodeid, times in Counter(i.nodeid for i in items).items() if times > 1]
    if twice:
        raise pytest.UsageError(f"more than one test has the id {', '.join(sorted(twice))}")
    tiers = config.getoption("--tier")
    config.hook.pytest_deselected(items=[item for item in items if not is_wanted(item, tiers)])
    items[:] = [item for item in items if is_wanted(item, tiers)]
    if _run_of(config) is not None:
        items.sort(key=lambda item: _turn(item.nodeid))


class ByModule(LoadScopeScheduling):  # type: ignore[misc]  # untyped
    """One process runs a whole module, and one runs all tests that must be alone."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(ALONE):
            return ALONE
        return nodeid if nodeid.startswith(APART) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByModule:
    """The scheduler that pytest-xdist uses."""
    return ByModule(config, log)


class Turns:
    """A file that each process locks: shared for tests that may run beside others, else alone."""

    def __init__(self, run: str) -> None:
        self._path = Path(tempfile.gettempdir()) / f"uwsgi-tuner-tests-{os.getuid()}-{run}.lock"
        self._handle = self._path.open("w")
        self._held = fcntl.LOCK_UN

    def take(self, lock: int) -> None:
        """Wait for the lock, unless this process holds it."""
        if lock != self._held:
            fcntl.flock(self._handle, fcntl.LOCK_UN)
            fcntl.flock(self._handle, lock)
            self._held = lock

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, bool | None, bool | None]:
        """Wait before the clock of the test's timeout starts; release the lock at the end."""
        self.take(fcntl.LOCK_EX if item.nodeid.startswith(ALONE) else fcntl.LOCK_SH)
        try:
            return (yield)
        finally:
            if nextitem is None:
                self.take(fcntl.LOCK_UN)

    def pytest_sessionfinish(self) -> None:
        """Remove the file: the other processes opened it at their start."""
        self._path.unlink(missing_ok=True)


def pytest_configure(config: pytest.Config) -> None:
    """Load the budget of the tiers, and take turns with the other processes."""
    tiers = config.getoption("--tier")
    settings.load_profile(FULL if "full" in tiers or not tiers else FAST)
    run = _run_of(config)
    if run is not None:
        config.pluginmanager.register(Turns(run))


def _run_of(config: pytest.Config) -> str | None:
    """The name of the whole run where this is one of several processes, else None."""
    return os.environ.get("PYTEST_XDIST_TESTRUNUID") if hasattr(config, "workerinput") else None
