"""One line a step, and one kind of failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class StepFailed(Exception):
    """A step cannot go on, for a reason that was foreseen; shown to people without a stack trace.

    `what` names the step, `why` quotes the evidence (often the last lines of a program), `todo` is
    the next thing to do.
    """

    def __init__(self, what: str, why: str, todo: str) -> None:
        super().__init__(f"{what}: {why} -> {todo}")
        self.what = what
        self.why = why
        self.todo = todo


class Steps:
    """Prints the progress of a set-up to one stream; steps may run side by side."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def ok(self, text: str) -> None:
        self._line("ok", text)

    def working(self, text: str) -> None:
        """Announce something slow, so that a silent minute is not taken for a hang."""
        self._line("..", text)

    def failed(self, failure: StepFailed) -> None:
        why = failure.why.strip().replace("\n", "\n     ")
        todo = failure.todo.strip().replace("\n", "\n        ")
        self._line("!!", f"{failure.what}: {why}\n     -> {todo}")

    @contextmanager
    def slow(self, doing: str, done: str) -> Iterator[None]:
        """Announce `doing`, and report `done` with the seconds it took unless the body raises."""
        self.working(doing)
        started = time.monotonic()
        yield
        self.ok(f"{done} ({time.monotonic() - started:.0f} s)")

    def _line(self, mark: str, text: str) -> None:
        with self._lock:
            self._stream.write(f"[{mark}] {text}\n")
            self._stream.flush()
