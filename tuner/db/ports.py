"""What the store asks of the queue; `tuner.queue.Queue` fits by shape."""

from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import psycopg

from tuner.model import JobId, MeasurementId

RawConnection = psycopg.Connection[Any]


class JobQueue(Protocol):
    """Puts work into the queue within the caller's transaction: a rollback removes it again."""

    def defer_advance(self, connection: RawConnection, job_id: JobId, pool: str) -> None:
        """Have `advance(job_id)` run on a worker of the pool."""

    def defer_measure(
        self, connection: RawConnection, measurement_id: MeasurementId, pool: str
    ) -> None:
        """Have `measure(measurement_id)` run on a worker of the pool."""

    def waiting_jobs(self, connection: RawConnection) -> AbstractSet[JobId]:
        """Jobs for which an `advance` waits or runs."""

    def waiting_measurements(self, connection: RawConnection) -> AbstractSet[MeasurementId]:
        """Measurements for which a `measure` waits or runs."""
