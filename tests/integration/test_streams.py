"""Streams of the real API process on real PostgreSQL: through restarts, and to its end."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.integration.test_client import request, succeed
from tests.patience import quickest
from tests.running_api import KEY, Running, running_api
from tuner.client import Client
from tuner.nouns.model import Event, EventKind, JobId, Scope
from tuner.service.api.monitoring import KEY_LOOKED_AT_S
from tuner.store.db import Store

WITHIN_S = 20.0


@pytest.fixture
def api(database_url: str, tmp_path: Path) -> Iterator[Running]:
    with running_api(database_url, tmp_path) as running:
        yield running


@pytest.fixture
def client(api: Running) -> Iterator[Client]:
    with api.client() as found:
        yield found


def read(client: Client, until: Callable[[Event], bool], **of: int) -> list[Event]:
    """The events of a stream up to one."""
    found: list[Event] = []
    for event in client.events(**of):
        found.append(event)
        if until(event):
            break
    return found


def is_verdict(event: Event) -> bool:
    return event.kind is EventKind.VERDICT


def kinds(events: list[Event]) -> list[str]:
    return [event.kind.value for event in events]


def test_a_stream_says_what_it_is_and_sends_the_change_within_a_second(
    api: Running, client: Client
) -> None:
    headers = {"X-API-Key": KEY}
    with httpx.stream("GET", f"{api.url}/v1/events", headers=headers, timeout=WITHIN_S) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["x-accel-buffering"] == "no"
        lines = answer.iter_lines()
        assert next(lines) == ": events"
        assert next(line for line in lines if line.startswith("event:")) == "event: reset"
        data = (line for line in lines if line.startswith("data:") and "reset" not in line)

        def took() -> float:
            job = client.submit(request("checkout"))
            sent = time.monotonic()
            events = (Event.model_validate_json(line.removeprefix("data:")) for line in data)
            assert next(event for event in events if event.job).job == job.id
            return time.monotonic() - sent

        assert quickest(1.0, took) < 1.0
        assert next(lines).startswith("id: ")


def test_a_job_has_its_own_events_and_those_of_its_pool(
    client: Client, postgres_store: Store
) -> None:
    job, other = client.submit(request("a")), client.submit(request("b"))
    reset = read(client, lambda event: True, job_id=job.id)[0]
    assert reset.kind is EventKind.RESET
    client.cancel(other.id)
    succeed(postgres_store, job.id)
    found = read(client, is_verdict, job_id=job.id, after=reset.id)
    assert {event.job for event in found} == {job.id, None}
    # On a busy machine the stream began while the jobs were submitted: then it has more of that.
    assert kinds(found)[-5:] == ["queue", "queue", "job", "job", "verdict"]
    whole = read(client, is_verdict, after=reset.id)
    assert [event for event in whole if event.job != other.id] == found
    assert kinds([event for event in whole if event.job == other.id])[-1] == "job"


def test_after_a_restart_a_stream_goes_on_where_it_was(
    api: Running, client: Client, postgres_store: Store
) -> None:
    job = client.submit(request("a"))
    stream = client.events(job.id)
    last = next(stream)
    api.kill()
    succeed(postgres_store, job.id)
    api.start()
    found = []
    for event in stream:
        found.append(event)
        if is_verdict(event):
            break
    # On a busy machine the stream began while the job was submitted: then it has more of that.
    assert kinds(found)[-4:] == ["queue", "job", "job", "verdict"]
    ids = [last.id, *(event.id for event in found)]
    assert ids == sorted({*ids})


def test_watching_follows_the_events_and_not_the_clock(
    client: Client, postgres_store: Store
) -> None:
    job = client.submit(request("a"))
    ending = threading.Timer(1.0, succeed, (postgres_store, job.id))
    ending.start()
    began = time.monotonic()
    states = [seen.state for seen in client.watch(job.id, poll_s=60.0)]
    ending.join()
    assert (states[0], states[-1]) == ("queued", "succeeded")
    assert time.monotonic() - began < 30.0


def test_watching_goes_on_through_a_restart(
    api: Running, client: Client, postgres_store: Store
) -> None:
    job = client.submit(request("a"))
    watching = client.watch(job.id, poll_s=0.2)
    assert next(watching).state == "queued"
    api.kill()
    succeed(postgres_store, job.id)
    api.start()
    assert [seen.state for seen in watching][-1] == "succeeded"


def test_unknown_jobs_and_strangers_get_no_stream(api: Running) -> None:
    headers = {"X-API-Key": KEY}
    assert httpx.get(f"{api.url}/v1/jobs/99/events", headers=headers).status_code == 404
    assert httpx.get(f"{api.url}/v1/jobs/0/events", headers=headers).status_code == 422
    assert httpx.get(f"{api.url}/v1/events").status_code == 401


@pytest.mark.parametrize("last", ["999999", "-1", "1e3", "\u00b2", "9" * 30, ""])
def test_a_place_that_is_not_ours_is_answered_by_a_reset(api: Running, last: str) -> None:
    headers = [(b"X-API-Key", KEY.encode()), (b"Last-Event-ID", last.encode("latin-1"))]
    with httpx.stream("GET", f"{api.url}/v1/events", headers=headers, timeout=WITHIN_S) as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if line.startswith("event:")) == "event: reset"


def test_open_streams_do_not_keep_the_process_from_ending(api: Running, client: Client) -> None:
    stream = client.events()
    next(stream)
    began = time.monotonic()
    api.process.send_signal(signal.SIGTERM)
    api.process.wait(10)
    assert time.monotonic() - began < 3.0
    assert "Cancel" not in (api.home / "api.log").read_text()


def test_while_postgresql_is_away_a_stream_stays_and_then_goes_on(
    database_url: str, client: Client, postgres_store: Store
) -> None:
    """Its connections are ended: the next attempt finds the server again."""
    job = client.submit(request("a"))
    stream = client.events(job.id)
    assert next(stream).kind is EventKind.RESET
    postgres_store._engine.dispose()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    postgres_store.cancel(JobId(job.id))
    assert next(stream).kind is EventKind.JOB


def test_the_stream_of_a_revoked_key_ends_before_the_next_event(
    api: Running, client: Client, postgres_store: Store
) -> None:
    key = postgres_store.create_key("ci", Scope.READ, "secret", None, by="operator")
    headers = {"X-API-Key": "secret"}
    with httpx.stream("GET", f"{api.url}/v1/events", headers=headers, timeout=WITHIN_S) as answer:
        lines = answer.iter_lines()
        assert next(line for line in lines if line.startswith("event:")) == "event: reset"
        postgres_store.revoke_key(key.id, by="operator")
        time.sleep(KEY_LOOKED_AT_S)
        client.submit(request("checkout"))
        assert not [line for line in lines if line.startswith("event:")]
