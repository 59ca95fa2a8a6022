"""Nothing that a log line carries can end it, or reach the terminal as a command."""

import io
import logging

from tuner.cli.logs import FORMAT, OneLine


def logged(message: str, error: Exception | None = None) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(OneLine(FORMAT))
    record = logging.LogRecord("tuner", logging.WARNING, "x.py", 1, "said %s", (message,), None)
    if error is not None:
        record.exc_info = (type(error), error, None)
    handler.handle(record)
    return stream.getvalue()


def test_control_characters_are_escaped() -> None:
    line = logged("a\nb\r\x1b[31mred\x07\x9b2J\u2028\u202eend")
    assert line.endswith("said a\\nb\\r\\x1b[31mred\\x07\\x9b2J\\u2028\\u202eend\n")
    assert line.count("\n") == 1


def test_a_traceback_cannot_look_like_a_line_of_its_own() -> None:
    _, *below = logged(
        "this", ValueError("no\n2026-01-01 WARNING tuner forged\x1b[2J")
    ).splitlines()
    assert below == ["  ValueError: no", "  2026-01-01 WARNING tuner forged\\x1b[2J"]


def test_a_message_shows_no_secret() -> None:
    assert logged("Cookie: a=b").endswith("said Cookie: ***\n")
