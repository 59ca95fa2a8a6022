"""When the disk below an embedded server is said to be full."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuner.nouns.errors import Unavailable
from tuner.store.db import embedded, require_room


@pytest.fixture
def almost_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=embedded.ROOM - 1))


@pytest.mark.usefixtures("almost_full")
def test_a_disk_without_room_for_the_log_is_called_full(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    with pytest.raises(Unavailable, match=f"63 MB are left on the disk of {tmp_path}"):
        require_room(tmp_path)


@pytest.mark.usefixtures("almost_full")
def test_where_no_server_of_ours_has_files_no_room_is_needed(tmp_path: Path) -> None:
    require_room(tmp_path)


def test_a_disk_with_room_is_fine(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    require_room(tmp_path)
