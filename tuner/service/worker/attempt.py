"""One attempt at a measurement, and its end: what it found waits until PostgreSQL can store it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from tuner.nouns.errors import Unavailable
from tuner.nouns.model import Failure, Measurement, MeasurementId, MeasurementResult

STORED_WITHIN_S = 600.0
"""PostgreSQL may be away this long after the end of a block."""

AGAIN_AFTER_S = 1.0


class FencedWrites(Protocol):
    """The store's writes of an attempt. A write of an outdated attempt changes nothing."""

    def complete(
        self, measurement_id: MeasurementId, attempt: int, result: MeasurementResult
    ) -> bool:
        """Store the result."""

    def fail(self, measurement_id: MeasurementId, attempt: int, failure: Failure) -> bool:
        """Store the failure."""

    def release(self, measurement_id: MeasurementId, attempt: int, *, fault: str | None) -> int:
        """Give it back for another attempt; returns its count of host faults."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The writes of one attempt, each repeated while PostgreSQL is away.

    The fence makes that harmless: a write whose answer was lost has ended the attempt. Each raises
    `Unavailable` after `STORED_WITHIN_S`, or while this worker stops.
    """

    store: FencedWrites
    measurement: Measurement
    should_abort: Callable[[], bool]

    def complete(self, result: MeasurementResult) -> None:
        """Store the result."""
        self._insisting(self.store.complete, *self._fence, result)

    def fail(self, failure: Failure) -> None:
        """Store the failure."""
        self._insisting(self.store.fail, *self._fence, failure)

    def release(self, *, fault: str | None = None) -> int:
        """Give the measurement back for another attempt; returns its count of host faults."""
        return self._insisting(self.store.release, *self._fence, fault=fault)

    @property
    def _fence(self) -> tuple[MeasurementId, int]:
        return self.measurement.id, self.measurement.attempt

    @property
    def _insisting(self) -> Retrying:
        enough = stop_after_delay(STORED_WITHIN_S)
        return Retrying(
            retry=retry_if_exception_type(Unavailable),
            stop=lambda state: enough(state) or self.should_abort(),
            wait=wait_fixed(AGAIN_AFTER_S),
            reraise=True,
        )
