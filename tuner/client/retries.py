"""When to call again: only what is safe to repeat, not at once, and not for ever."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

RETRIED = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)
"""Something between us and the answer is away. 500 is a fault, and would be one again."""

FIRST_S = 0.2
LONGEST_S = 10.0
PATIENCE_S = 30.0
"""A service that asks for a longer wait than this is not waited for."""


@dataclass(frozen=True, slots=True)
class Retries:
    """So many attempts after the first one, each after twice the pause of the one before."""

    times: int = 3
    chance: Callable[[], float] = random.random

    def pause_s(self, attempt: int, asked_s: float | None = None) -> float | None:
        """Seconds to wait after the failed `attempt` (from 0); None: no more of them.

        `asked_s` is what the service asked for: never less than that. Chance keeps many clients
        from coming back at one instant.
        """
        if attempt >= self.times or (asked_s or 0.0) > PATIENCE_S:
            return None
        longest = min(LONGEST_S, FIRST_S * 2.0 ** min(attempt, 32))
        return (asked_s or 0.0) + longest * (0.5 + self.chance() / 2)


def asked_s(retry_after: str | None, now: Callable[[], datetime] | None = None) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date; None: not legible."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    present = now() if now else datetime.now(UTC)
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - present).total_seconds())
