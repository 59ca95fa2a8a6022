"""How long a measurement waits for an engine that is away."""

import time
from dataclasses import dataclass

from tuner.nouns.errors import Unavailable
from tuner.nouns.model import Failure, FailureCode, MeasurementId


@dataclass(slots=True)
class Patience:
    """The wait of one measurement at a time, in one piece; then its job fails."""

    limit_s: float = 900.0
    _waits: MeasurementId | None = None
    _since: float = 0.0  # by the monotonic clock

    def renew(self) -> None:
        """The engine answers."""
        self._waits = None

    def is_over(self, measurement_id: MeasurementId) -> bool:
        """Whether this measurement, which finds the engine away, has waited long enough."""
        if self._waits != measurement_id:
            self._waits, self._since = measurement_id, time.monotonic()
        return time.monotonic() - self._since >= self.limit_s

    def failure(self, away: Unavailable) -> Failure:
        """The end of the wait."""
        message = (
            f"{away}; it was away for {self.limit_s:g} s (TUNER_DOCKER_WAIT_S) in one piece: start"
            " Docker on the benchmark host, then submit the job again"
        )
        return Failure(code=FailureCode.INFRASTRUCTURE, message=message)
