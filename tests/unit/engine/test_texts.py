"""What a container wrote, made safe."""

import struct
import time

import pytest

from tests.patience import quickest
from tuner.bench.engine.connection import pieces, plain


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPquery\x1b\\text", "text"),
        ("\x9b2Jtext\x9dtitle\x9c".encode(), "text"),
        (b"\x1bcreset", "reset"),
        (b"a\tb\r\nc\x00\x08\x7f\n", "a\tb\nc\n"),
        ("\u202eltr\u2066".encode(), "ltr"),
        (b"\x1b]0;never closed\nnext line", "\nnext line"),
        ("\xe4 \u65e5\u672c".encode(), "\xe4 \u65e5\u672c"),
        (b"\xff", "\ufffd"),
    ],
)
def test_what_a_terminal_would_obey_is_left_out(raw: bytes, safe: str) -> None:
    assert plain(raw) == safe


@pytest.mark.parametrize("raw", [b"\x1b]", b"\x1b[", b"\x1b[0", b"\x1bP", b"\x1b", b"\x1b[;;;;"])
def test_the_time_is_linear(raw: bytes) -> None:
    def seconds() -> float:
        began = time.process_time()
        plain(raw * (1_000_000 // len(raw)))
        plain(raw + b"0" * 1_000_000)
        return time.process_time() - began

    assert quickest(2.0, seconds) < 2.0


def test_the_last_piece_may_be_cut_short() -> None:
    raw = struct.pack(">BxxxL", 1, 2) + b"ok" + struct.pack(">BxxxL", 2, 9) + b"cut"
    assert list(pieces(raw)) == [(1, b"ok"), (2, b"cut")]
    assert list(pieces(raw[:9])) == [(1, b"o")]
