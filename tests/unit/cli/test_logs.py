"""Nothing that a log line carries can end it, or reach the terminal as a command."""

import io
import json
import logging
from typing import Any

import pytest

from tuner.cli.service import FORMAT, JsonLines, OneLine, log_to_stderr
from tuner.nouns import log_context


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


def as_json(message: str, error: Exception | None = None) -> dict[str, Any]:
    """The one line of a record, read back."""
    record = logging.LogRecord("tuner", logging.WARNING, "x.py", 1, "said %s", (message,), None)
    record.exc_info = (type(error), error, error.__traceback__) if error else None
    record.created = 1_764_061_200.25
    line = JsonLines().format(record)
    assert line.isascii()
    assert line.isprintable()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_record_is_one_json_object_in_one_line() -> None:
    found = as_json("a\nb\x1b[31m\u2028")
    assert found.pop("process") > 0
    assert found == {
        "time": "2025-11-25T09:00:00.250+00:00",
        "level": "WARNING",
        "logger": "tuner",
        "message": "said a\nb\x1b[31m\u2028",
    }


def test_a_traceback_is_a_field_and_shows_no_secret() -> None:
    try:
        raise ValueError("Authorization: Bearer 0123456789abcdef0123")
    except ValueError as error:
        found = as_json("Cookie: a=b", error)
    assert found["message"] == "said Cookie: ***"
    first, *_, last = found["traceback"].splitlines()
    assert first == "Traceback (most recent call last):"
    assert last == "ValueError: Authorization: ***"


def test_a_record_has_the_ids_that_are_known_where_it_is_made() -> None:
    with log_context.about(job=7), log_context.about(block=31):
        inside = as_json("x")
    outside = as_json("x")
    assert (inside["job"], inside["block"]) == (7, 31)
    assert not {"job", "block", "request"} & set(outside)


@pytest.mark.parametrize(("wanted", "kind"), [(True, JsonLines), (False, OneLine)])
def test_the_setting_decides_how_the_log_is_written(
    wanted: bool, kind: type[logging.Formatter], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.Logger("root")
    monkeypatch.setattr(logging, "root", root)
    log_to_stderr("INFO", as_json=wanted)
    assert [type(handler.formatter) for handler in root.handlers] == [kind]
