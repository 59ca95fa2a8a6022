"""A folder's content names its image."""

import io
import tarfile
from pathlib import Path

import pytest

from tuner.bench.engine import folders
from tuner.nouns.errors import TargetFailed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "app.py").write_text("pass\n")
    return tmp_path


def test_the_hash_follows_the_content(folder: Path) -> None:
    first = folders.read(folder).sha256
    assert folders.read(folder).sha256 == first
    (folder / "app.py").write_text("pass  # changed\n")
    assert folders.read(folder).sha256 != first


def test_what_python_leaves_and_what_is_ignored_does_not_count(folder: Path) -> None:
    (folder / ".dockerignore").write_text("# ours\n*.md\n")
    first = folders.read(folder).sha256
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "app.cpython-311.pyc").write_bytes(b"x")
    (folder / "notes.md").write_text("x")
    assert folders.read(folder).sha256 == first


def test_what_is_hashed_is_what_is_sent(folder: Path) -> None:
    (folder / "static").mkdir()
    (folder / "static" / "a.css").write_text("")
    with tarfile.open(fileobj=io.BytesIO(folders.read(folder).archive())) as tar:
        assert tar.getnames() == ["Dockerfile", "app.py", "static/a.css"]


def test_a_folder_without_a_dockerfile_cannot_be_built(tmp_path: Path) -> None:
    with pytest.raises(TargetFailed, match="no Dockerfile"):
        folders.read(tmp_path)
