"""Files, compressed or not, and standard input → lines in batches, in constant memory.

    batches     a stream → lists of lines; a line of more than 64 kB is one bad line
    opened      gz, xz and zst are seen by their first bytes, not by their names
    Prefixes    what docker, compose, CRI, kubectl, journald and syslog put in front of a line

Lines are latin-1 text: each byte is a character, so no encoding can stop it.
"""

import gzip
import io
import json
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import zstandard

LONGEST_LINE = 64 * 1024
TOO_LONG = "\0 a line of more than 64 kB"
"""Stands for such a line."""

_CHUNK = 1 << 20
_MOST_WITHOUT_A_LINE = 64 << 20
_BOMB_BYTES = 1 << 30
_BOMB_RATIO = 400
_BROKEN = (lzma.LZMAError, zlib.error, zstandard.ZstdError)
_MOST_WINDOW_BYTES = 128 << 20
"""The memory that a decompressor may take; `xz -9` and `zstd --long` need 64 MB and 128 MB."""


def batches(raw: BinaryIO) -> Iterator[list[str]]:
    """The lines of a stream, compressed or not, about 1 MB at a time.

    Raises `ValueError` for what is no log: no line end in 64 MB, or an archive that grows 400-fold.
    """
    rest, is_cut = b"", False
    for chunk in _chunks(raw):
        whole, newline, tail = chunk.rpartition(b"\n")
        if newline:
            found = _split((b"" if is_cut else rest) + whole)
            if is_cut:
                found[0] = TOO_LONG
            yield [line if len(line) <= LONGEST_LINE else TOO_LONG for line in found]
            rest, is_cut = tail, False
        elif not is_cut:
            rest += chunk
        if len(rest) > LONGEST_LINE:
            rest, is_cut = b"", True
    if rest or is_cut:
        yield [TOO_LONG] if is_cut else _split(rest)


def _chunks(raw: BinaryIO) -> Iterator[bytes]:
    counted = _Counted(raw)
    seen = since = 0
    try:
        stream = opened(counted)
        while chunk := stream.read(_CHUNK):
            seen += len(chunk)
            since = 0 if b"\n" in chunk else since + len(chunk)
            if since > _MOST_WITHOUT_A_LINE:
                raise ValueError("is no log: 64 MB without a line end")
            if seen > _BOMB_BYTES and seen > _BOMB_RATIO * counted.bytes:
                raise ValueError(f"is no log: each byte grows to more than {_BOMB_RATIO}")
            yield chunk
    except (EOFError, OSError, *_BROKEN) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        raise ValueError(f"cannot be unpacked: {error}") from error


def _split(content: bytes) -> list[str]:
    return content.decode("latin-1").split("\n")


class _Counted(io.RawIOBase):
    """A stream that counts what was read, and gives its first bytes once more."""

    def __init__(self, raw: BinaryIO) -> None:
        self.bytes = 0
        self._raw = raw
        self.first = self._head = raw.read(6)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        found = self._head or self._raw.read(min(len(buffer), 1 << 17))
        used, self._head = found[: len(buffer)], found[len(buffer) :] if self._head else b""
        buffer[: len(used)] = used
        self.bytes += len(used)
        return len(used)


def opened(counted: _Counted) -> Any:
    """The stream without its compression."""
    first = counted.first
    source = io.BufferedReader(counted, 1 << 17)
    if first.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=source)
    if first.startswith(b"\xfd7zXZ\0"):
        return io.BufferedReader(_Xz(source), _CHUNK)
    if first.startswith(b"\x28\xb5\x2f\xfd"):
        reader = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW_BYTES)
        return reader.stream_reader(source, read_across_frames=True)
    return source


class _Xz(io.RawIOBase):
    """lzma.open has no limit of memory; this has."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._unpack = lzma.LZMADecompressor(memlimit=_MOST_WINDOW_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            packed = b""
            if self._unpack.eof:
                packed = self._unpack.unused_data or self._source.read(1 << 16)
                if not packed.strip(b"\0"):
                    return 0
                self._unpack = lzma.LZMADecompressor(memlimit=_MOST_WINDOW_BYTES)
            elif self._unpack.needs_input:
                packed = self._source.read(1 << 16)
                if not packed:
                    raise EOFError("the file ends too early")
            found = self._unpack.decompress(packed, len(buffer))
            if found:
                buffer[: len(found)] = found
                return len(found)


# ---- what stands before a line


@dataclass(frozen=True, slots=True)
class Prefix:
    """Where the line begins, which container wrote it, and when it was written (an end)."""

    line: str
    at: int = 0
    source: str = ""
    time: str = ""


_ISO = r"\d{4}-\d\d-\d\dT[\d:.,]++(?:Z|[+-]\d\d:?\d\d)"
_PREFIX = re.compile(
    r"(?:\x1b\[[\d;]*+m)*+"
    r"(?:(?P<service>[\w.-]*[-_]\d++) ++\| ?(?:\x1b\[[\d;]*+m)*+ ?)?"
    r"(?:\[pod/(?P<pod>[\w.-]++/[\w.-]++)\] )?"
    rf"(?:(?:<\d++>)?1 (?P<sent>{_ISO}) \S++ \S++ \S++ \S++ (?:-|\[[^\]]*+\]) "
    r"|(?:<\d++>)?[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S++ [\w./-]++(?:\[\d++\])?: "
    rf"|(?P<time>{_ISO}) (?:std(?:out|err) (?P<part>[FP]) |\S++ [\w./-]++\[\d++\]: )?)?"
)


class Prefixes:
    """Takes prefixes off, and joins the parts of a line that docker or CRI has split."""

    def __init__(self) -> None:
        self._parts: dict[str, str] = {}

    def off(self, line: str) -> Prefix | None:
        """The line behind its prefix; None for a part whose end is still to come."""
        if line.startswith('{"log":'):
            return self._of_docker(line)
        found = _PREFIX.match(line)
        if found is None or not found.end():
            return Prefix(line)
        source = found["service"] or found["pod"] or ""
        time = found["time"] or found["sent"] or ""
        if found["part"] or self._parts:
            stream = line[found.start("time") : found.end()].split(" ")[1:2]
            return self._joined(
                "".join(stream), line[found.end() :], found["part"] != "P", source, time
            )
        return Prefix(line, found.end(), source, time)

    def _of_docker(self, line: str) -> Prefix | None:
        try:
            found = json.loads(line)
            text, time = str(found["log"]), str(found.get("time", ""))
        except (ValueError, KeyError, TypeError, RecursionError):
            return Prefix(line)
        text = text.encode("utf-8", "replace").decode("latin-1")
        return self._joined(str(found.get("stream", "")), text, text.endswith("\n"), "", time)

    def _joined(
        self, stream: str, text: str, is_end: bool, source: str, time: str
    ) -> Prefix | None:
        whole = (self._parts.pop(stream, "") + text)[:LONGEST_LINE]
        if is_end:
            return Prefix(whole.rstrip("\n"), 0, source, time)
        self._parts[stream[:20]] = whole
        return None
