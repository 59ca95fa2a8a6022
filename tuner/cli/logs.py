"""The log on stderr: no message can end its line, colour the terminal or show a secret."""

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

from tuner.nouns import log_context
from tuner.nouns.masking import masked

FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s %(message)s"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def log_to_stderr(level: str, *, as_json: bool = False) -> None:
    """Log what is at least of this level."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else OneLine(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # our own lines say what is away


class OneLine(logging.Formatter):
    """One line for each message; control characters as escapes. A traceback is indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return _visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """The traceback below it."""
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        """The stack below it."""
        return _indented(stack_info)


class JsonLines(logging.Formatter):
    """One JSON object in one line for each record, with the ids of what it is about."""

    def format(self, record: logging.LogRecord) -> str:
        """The line: ASCII, so nothing in it can end it."""
        time = datetime.fromtimestamp(record.created, UTC)
        found: dict[str, object] = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "process": record.process,
            "logger": record.name,
            "message": masked(record.getMessage()),
            **log_context.present(),
        }
        if record.exc_info:
            found["traceback"] = masked(self.formatException(record.exc_info))
        if record.stack_info:
            found["stack"] = masked(record.stack_info)
        return json.dumps(found)


def _visible(text: str) -> str:
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), masked(text))


def _indented(text: str) -> str:
    return "\n".join(f"  {_visible(line)}" for line in text.split("\n"))
