"""Files of any form and size are read in constant memory."""

import gzip
import io
import lzma
import tracemalloc

import pytest
import zstandard

from tuner.traffic import lines
from tuner.traffic.lines import LONGEST_LINE, TOO_LONG, Prefixes, batches

TEXT = b"one\ntwo\nthree"


def read(content: bytes) -> list[str]:
    return [line for batch in batches(io.BytesIO(content)) for line in batch]


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        gzip.compress(TEXT),
        gzip.compress(b"one\ntw") + gzip.compress(b"o\nthree"),
        lzma.compress(TEXT),
        lzma.compress(b"one\ntw") + lzma.compress(b"o\nthree"),
        zstandard.compress(TEXT),
        zstandard.compress(b"one\ntw") + zstandard.compress(b"o\nthree"),
    ],
    ids=["plain", "gz", "two gz", "xz", "two xz", "zst", "two zst"],
)
def test_compression_is_seen_by_the_first_bytes(content: bytes) -> None:
    assert read(content) == ["one", "two", "three"]


def test_lines_over_several_chunks_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_CHUNK", 7)
    wanted = [f"line {n}" for n in range(50)]
    assert read("\n".join(wanted).encode()) == wanted


def test_a_line_that_is_too_long_is_one_bad_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for chunk in (1 << 20, 1 << 14):
        monkeypatch.setattr(lines, "_CHUNK", chunk)
        found = read(b"a\n" + b"x" * (3 * LONGEST_LINE) + b"\nb\n")
        assert found == ["a", TOO_LONG, "b"]


@pytest.mark.parametrize("cut", [gzip.compress, lzma.compress, zstandard.compress])
def test_a_broken_archive_is_said(cut: object) -> None:
    assert callable(cut)
    content = cut(bytes(range(256)) * 100)
    broken = content[:20] + bytes(40) + content[60:]
    with pytest.raises(ValueError, match=r"cannot be unpacked|is no log"):
        read(broken + b"x")


class Zeros(io.RawIOBase):
    """As /dev/zero."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        buffer[:] = bytes(len(buffer))
        return len(buffer)


def test_an_endless_file_without_lines_is_refused_in_little_memory() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="without a line end"):
            list(batches(io.BufferedReader(Zeros())))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 16 << 20


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BOMB_BYTES", 1 << 22)
    content = gzip.compress(b"a\n" * (1 << 23))
    with pytest.raises(ValueError, match="grows to more"):
        read(content)


@pytest.mark.parametrize(
    ("line", "source", "rest"),
    [
        ("web-1    | rest", "web-1", "rest"),
        ("\x1b[36mweb-1    | \x1b[0mrest", "web-1", "rest"),
        ("web_1 | 2026-11-28T18:28:49.123456789Z rest", "web_1", "rest"),
        ("[pod/shop-6c9f-x2x/uwsgi] rest", "shop-6c9f-x2x/uwsgi", "rest"),
        ("<134>Nov  8 18:28:48 web1 nginx: rest", "", "rest"),
        ("2026-11-28T18:28:50+0000 web1 uwsgi[1201]: rest", "", "rest"),
        ('<190>1 2026-11-28T18:28:53.001Z web1 nginx - - [meta sequenceId="7"] rest', "", "rest"),
        ("rest", "", "rest"),
    ],
)
def test_prefixes(line: str, source: str, rest: str) -> None:
    found = Prefixes().off(line)
    assert found is not None
    assert (found.source, found.line[found.at :]) == (source, rest)
