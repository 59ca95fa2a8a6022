"""Every failure that crosses a module border, in one tree.

    TunerError
    ├── InvalidInput      the request is wrong: every mistake, each with its path   422 · exit 2
    ├── NotFound          nothing under that name                                  404 · exit 3
    ├── Conflict          not in this state, or not with that key                  409 · exit 4
    │   ├── Stale             the answer is older than the request allows          410 · exit 4
    │   └── LimitReached      the operator allows no more for now                  429 · exit 4
    ├── Unavailable       PostgreSQL, Docker or the API is away; try again         503 · exit 5
    ├── TargetFailed      a configuration's own fault: this is a result, not an accident
    ├── Infrastructure    the benchmark host's fault: the measurement is repeated
    └── Aborted           the measurement was stopped (cancel, shutdown, another attempt)

The edges (`api`, `cli`) map the first four to a status and an exit code in one table each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


class TunerError(Exception):
    """Base of all errors of this product; its text is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing wrong with a request: where (`limits.memory_mb`, `baseline.ini:7`) and what."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidInput(TunerError):
    """The request is wrong; `mistakes` holds every mistake in it."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(str(mistake) for mistake in self.mistakes))

    @classmethod
    def at(cls, path: str, message: str) -> Self:
        """One mistake alone."""
        return cls([Mistake(path, message)])


class NotFound(TunerError):
    """Nothing is stored under that id or name."""


class Forbidden(TunerError):
    """The caller's key does not open this."""


class Conflict(TunerError):
    """The request is well formed but does not fit the present state."""


class Stale(Conflict):
    """The stored answer is older than the request allows. A new job must measure it again."""


class LimitReached(Conflict):
    """The operator allows no more for now: try again when something has ended."""


class Unavailable(TunerError):
    """An outside system does not answer; `system` names it. Nothing has changed: try again."""

    def __init__(self, system: str, detail: str) -> None:
        self.system = system
        self.detail = detail
        super().__init__(f"{system} is away: {detail}")


class TargetFailed(TunerError):
    """A target could not be started, did not get ready, or broke under load.

    `arm` is the index of the arm within its block; `code` is a `FailureCode` value.
    """

    def __init__(self, code: str, message: str, *, arm: int = 0, log_tail: str = "") -> None:
        self.code = code
        self.message = message
        self.arm = arm
        self.log_tail = log_tail
        super().__init__(message)


class Infrastructure(TunerError):
    """The benchmark host or its tools failed: the measurement is repeated, not scored."""


class Aborted(TunerError):
    """The measurement was stopped while it ran; nothing of it is stored."""
