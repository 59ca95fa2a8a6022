"""Looks at a job until it has ended, through restarts of the service."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypedDict

from tuner.nouns.errors import Conflict, Unavailable
from tuner.nouns.schemas import JobAnswer

POLL_S = 1.0
PATIENCE_S = 60.0
"""Time for a restart of the service. Its jobs continue."""


class Watching(TypedDict, total=False):
    """How a job is watched.

    `poll_s`: seconds between two polls, where the service sends no events [1]. `patience_s`:
    longest absence of the service in seconds [60]; each failed poll calls `on_away`. `timeout_s`:
    seconds until `Conflict` is raised for a job that still runs [never].
    """

    poll_s: float
    patience_s: float
    timeout_s: float | None
    on_away: Callable[[Unavailable], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """A clock and a sleep, in seconds."""

    clock: Callable[[], float]
    sleep: Callable[[float], None]


Pause = Callable[[float, float], None]
REAL_TIME = Time(clock=time.monotonic, sleep=time.sleep)


def states(
    look: Callable[[], JobAnswer],
    name: str,
    how: Watching,
    clock: Callable[[], float],
    pause: Pause,
) -> Iterator[JobAnswer]:
    """The first result of `look` and each changed one, up to a final state.

    `pause` gets `poll_s` and the seconds that are left. Raises `Unavailable` if `look` does so for
    longer than `patience_s`, and `Conflict` after `timeout_s`.
    """
    until = _deadline(how.get("timeout_s"), clock())
    known: JobAnswer | None = None
    away_since: float | None = None
    while True:
        try:
            found = look()
        except Unavailable as error:
            away_since = clock() if away_since is None else away_since
            if clock() - away_since > how.get("patience_s", PATIENCE_S):
                raise
            how.get("on_away", _ignore)(error)
        else:
            away_since = None
            if known is None or found != known:
                yield found
            known = found
            if found.state.is_final:
                return
        left_s = until - clock()
        if left_s <= 0:
            raise Conflict(f"{name} goes on: {known.state if known else 'not seen yet'}")
        pause(how.get("poll_s", POLL_S), left_s)


def _deadline(timeout_s: float | None, now: float) -> float:
    return float("inf") if timeout_s is None else now + timeout_s


def _ignore(error: Unavailable) -> None:
    """The default of `on_away`."""
