"""What the store asks of the queue; `tuner.store.queue.Queue` has this shape."""

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import psycopg

from tuner.nouns.model import JobId, MeasurementId

RawConnection = psycopg.Connection[Any]


class JobQueue(Protocol):
    """Puts work into the queue within the caller's transaction: a rollback removes it again."""

    def defer_advance(self, connection: RawConnection, job_id: JobId, pool: str) -> None:
        """Have `advance(job_id)` run on a worker of the pool."""

    def defer_measure(
        self,
        connection: RawConnection,
        measurement_id: MeasurementId,
        pool: str,
        host: str | None,
    ) -> None:
        """Have `measure(measurement_id)` run on a host of the pool; None: on any."""

    def waiting_jobs(self, connection: RawConnection) -> AbstractSet[JobId]:
        """Jobs with an `advance` that waits or runs."""

    def waiting_measurements(
        self, connection: RawConnection
    ) -> AbstractSet[tuple[MeasurementId, str | None]]:
        """Measurements with a `measure` that waits or runs, each with the host of that task."""

    def busy_workers(self, connection: RawConnection) -> AbstractSet[int]:
        """The workers that run a task; 0 stands for a worker without a row."""

    def put_back(self, connection: RawConnection, workers: Collection[int]) -> int:
        """Have the running tasks of these workers run again; how many tasks."""
