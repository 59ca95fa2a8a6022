"""What a container wrote, as text that is safe on a terminal, in a log line and in a table."""

import re
import struct
from collections.abc import Iterator

HEADER = struct.Struct(">BxxxL")
"""In front of each piece of the engine's two streams in one: the stream's number, the length."""

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str | bytes | bytearray) -> str:
    """The text without escape sequences and control characters; lines and tabs stay."""
    if not isinstance(text, str):
        text = text.decode(errors="replace")
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def pieces(raw: bytes | bytearray) -> Iterator[tuple[int, bytes | bytearray]]:
    """The pieces of both streams, each with its stream's number; the last one may be cut short."""
    at = 0
    while at + HEADER.size <= len(raw):
        number, length = HEADER.unpack_from(raw, at)
        at += HEADER.size
        yield number, raw[at : at + length]
        at += length
