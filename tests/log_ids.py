"""What is known where a line of the log is made."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from tuner.nouns import log_context


class _Ids(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[log_context.Ids] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(log_context.present())


@contextmanager
def ids_in(name: str) -> Iterator[list[log_context.Ids]]:
    """The ids of each line of a logger, while the context lasts."""
    handler, logger = _Ids(), logging.getLogger(name)
    logger.addHandler(handler)
    yield handler.seen
    logger.removeHandler(handler)
