"""Test modules run side by side; what is judged by its measurements runs when nothing else does.

Only `make test` asks for several processes (`-n`, pytest-xdist). Whoever runs pytest by hand has
one, and then none of this makes a difference.
"""

import fcntl
import os
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

ALONE = "tests/acceptance/"
"""Its tests wait until all others have ended: a busy neighbour is what they would find."""

APART = "tests/recovery/"
"""Each test for itself: they take minutes, and share nothing."""

FIRST = (APART, "tests/integration/", "tests/contract/")
"""They take longest, and mostly wait."""


def _turn(node: str) -> int:
    """Where in the run a test comes."""
    if node.startswith(ALONE):
        return len(FIRST) + 1
    return next((at for at, level in enumerate(FIRST) if node.startswith(level)), len(FIRST))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In several processes, the longest come first and what is alone last.

    pytest-xdist tells tests apart by their node ids alone: of two with the same it runs but one.
    """
    twice = [nodeid for nodeid, times in Counter(i.nodeid for i in items).items() if times > 1]
    if twice:
        raise pytest.UsageError(f"more than one test has the id {', '.join(sorted(twice))}")
    if _run_of(config) is not None:
        items.sort(key=lambda item: _turn(item.nodeid))


class ByModule(LoadScopeScheduling):  # type: ignore[misc]  # untyped
    """A module stays in one process, and so does all that nothing may run beside."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(ALONE):
            return ALONE
        return nodeid if nodeid.startswith(APART) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByModule:
    """What pytest-xdist asks for."""
    return ByModule(config, log)


class Turns:
    """A file that each process locks: shared for what may run beside others, else for itself."""

    def __init__(self, run: str) -> None:
        self._path = Path(tempfile.gettempdir()) / f"uwsgi-tuner-tests-{os.getuid()}-{run}.lock"
        self._handle = self._path.open("w")
        self._held = fcntl.LOCK_UN

    def take(self, lock: int) -> None:
        """Wait for it; nothing to do where it is held."""
        if lock != self._held:
            fcntl.flock(self._handle, fcntl.LOCK_UN)
            fcntl.flock(self._handle, lock)
            self._held = lock

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, bool | None, bool | None]:
        """Wait for the turn before the clock of the test's timeout runs; give it up at the end."""
        self.take(fcntl.LOCK_EX if item.nodeid.startswith(ALONE) else fcntl.LOCK_SH)
        try:
            return (yield)
        finally:
            if nextitem is None:
                self.take(fcntl.LOCK_UN)

    def pytest_sessionfinish(self) -> None:
        """The others have opened it long ago."""
        self._path.unlink(missing_ok=True)


def pytest_configure(config: pytest.Config) -> None:
    """In each of several processes."""
    run = _run_of(config)
    if run is not None:
        config.pluginmanager.register(Turns(run))


def _run_of(config: pytest.Config) -> str | None:
    """The name of the whole run in one of several processes; else None."""
    return os.environ.get("PYTEST_XDIST_TESTRUNUID") if hasattr(config, "workerinput") else None
