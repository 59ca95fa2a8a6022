"""The worker's manager of tasks: what PostgreSQL refuses is no absence of PostgreSQL."""

import asyncio
import threading

import psycopg
import pytest
from procrastinate.exceptions import ConnectorException
from procrastinate.manager import JobManager
from procrastinate.testing import InMemoryConnector

from tuner.store.queue.tasks import PatientManager


class Alive:
    def register(self, worker_id: int) -> None: ...

    def beat(self) -> None: ...


async def refused(*_: object, **__: object) -> None:
    raise ConnectorException from psycopg.errors.RaiseException("no running task has this number")


def manager() -> PatientManager:
    return PatientManager(InMemoryConnector(), Alive(), threading.Event())


def test_a_task_that_has_ended_before_ends_no_worker(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(JobManager, "update_heartbeat", refused)
    with caplog.at_level("INFO"):
        asyncio.run(manager().update_heartbeat(1))
    assert "a task has ended before: no running task has this number" in caplog.text


def test_an_answer_that_postgresql_refuses_is_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobManager, "prune_stalled_workers", refused)
    with pytest.raises(ConnectorException):
        asyncio.run(manager().prune_stalled_workers(10.0))
