"""What every unit test is kept from."""

from pathlib import Path

import pytest

from tuner.worker import alone


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch, lock_folder: Path) -> None:
    """No unit test waits for what else is being measured on this machine."""
    monkeypatch.setattr(alone, "HOST_LOCK", lock_folder / "bench.lock")


@pytest.fixture(scope="session")
def lock_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests: to make and remove thousands takes seconds."""
    return tmp_path_factory.mktemp("lock")
