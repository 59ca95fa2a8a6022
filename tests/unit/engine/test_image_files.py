"""A file in an image: its text, or what is there instead."""

import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.engine.test_connection import CONFIG
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.containers import MOST_BYTES, text_at
from tuner.bench.engine.images import file_in

INI = "[uwsgi]\nprocesses = 2\n# é\n"


class Image(Connection):
    """A container with files by path; a text that begins with -> is a link."""

    def __init__(self, files: Mapping[str, bytes | str]) -> None:
        super().__init__()
        self.files = files

    def entry(self, container: str, path: str) -> tuple[tarfile.TarInfo | None, bytes]:
        if path not in self.files:
            return None, b""
        found, entry = self.files[path], tarfile.TarInfo(path)
        if isinstance(found, bytes):
            entry.size = len(found)
            return entry, found
        entry.type = tarfile.SYMTYPE if found.startswith("->") else tarfile.DIRTYPE
        entry.linkname = found.removeprefix("->")
        return entry, b""


FILES: Mapping[str, bytes | str] = {
    "/etc/app/uwsgi.ini": INI.encode(),
    "/etc/app/relative.ini": "->uwsgi.ini",
    "/etc/absolute.ini": "->/etc/app/relative.ini",
    "/etc/app": "folder",
    "/etc/dangling.ini": "->/none",
    "/etc/loop.ini": "->loop.ini",
    "/etc/folder.ini": "->app",
    "/etc/full.ini": b"#" * MOST_BYTES,
    "/etc/large.ini": b"#" * (MOST_BYTES + 1),
    "/etc/bytes.ini": b"[uwsgi]\n\xff\n",
}


@pytest.mark.parametrize(
    "path", ["/etc/app/uwsgi.ini", "/etc/app/relative.ini", "/etc/absolute.ini"]
)
def test_a_file_is_read_through_its_links(path: str) -> None:
    assert text_at(Image(FILES), "c", path) == INI


def test_the_largest_file_is_read_whole() -> None:
    assert len(text_at(Image(FILES), "c", "/etc/full.ini")) == MOST_BYTES


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/none", "there is no such file"),
        ("/etc/dangling.ini", "there is no such file: it is a link to /none"),
        ("/etc/loop.ini", "it is a chain of too many links"),
        ("/etc/app", "it is a folder"),
        ("/etc/folder.ini", "it is a folder"),
        ("/etc/large.ini", "it has 200001 bytes; a uwsgi.ini may have 200000"),
        ("/etc/bytes.ini", "it is not UTF-8 text"),
    ],
)
def test_anything_else_says_what_it_is(path: str, told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}$"):
        text_at(Image(FILES), "c", path)


def test_without_an_engine_there_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    assert file_in(CONFIG, "shop:1", "/etc/app/uwsgi.ini") is None
