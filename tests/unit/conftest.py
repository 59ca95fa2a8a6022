"""What every unit test is kept from."""

from pathlib import Path

import pytest

from tuner.worker import alone


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No unit test waits for what else is being measured on this machine."""
    monkeypatch.setattr(alone, "HOST_LOCK", tmp_path / "bench.lock")
