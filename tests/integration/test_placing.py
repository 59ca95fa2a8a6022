"""Jobs side by side on the hosts of a pool: one host for each job, also when hosts come and go."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from tests.builders import FINGERPRINT
from tests.integration.test_events import stored
from tests.integration.test_store import (
    create,
    fall_silent,
    forget_queue,
    in_threads,
    once,
    plan,
    queued,
    start_if_free,
    trial,
)
from tests.sites import Site
from tests.unit.cli.conftest import run
from tuner.nouns.errors import NotFound
from tuner.nouns.model import (
    Claim,
    EventKind,
    Fail,
    Failure,
    FailureCode,
    JobId,
    JobState,
    Measure,
    MeasurementId,
    MeasurementResult,
    MeasurementState,
    Phase,
    Plan,
)
from tuner.store.db import Store, host_alive

BLOCKS = (plan(1, 0), plan(2, 0))
RUNNING = MeasurementState.RUNNING


@pytest.fixture
def url(database_url: str) -> str:
    return database_url


@contextmanager
def hosts(url: str, store: Store, *names: str) -> Iterator[None]:
    """Workers of these hosts live; none takes a task."""
    with ExitStack() as alive:
        for number, name in enumerate(names, start=sum(map(ord, names[0]))):
            alive.enter_context(host_alive(url, name, "default")).register(number)
            store.see_host(name, "default", FINGERPRINT)
        yield


def started(store: Store) -> JobId:
    """A job that has begun to measure, if it could start."""
    job_id = create(store)
    store.advance(job_id, start_if_free)
    if store.job(job_id).state is JobState.RUNNING:
        store.advance(job_id, once(Measure(plans=BLOCKS, trials=(trial(0),))))
    return job_id


def blocks(store: Store, job_id: JobId) -> list[MeasurementId]:
    return [measurement.id for measurement in store.measurements(job_id)]


def claimed(store: Store, block: MeasurementId, host: str) -> Claim:
    claim = store.claim(block, host)
    assert claim is not None
    return claim


def end(store: Store, job_id: JobId) -> None:
    failure = Failure(code=FailureCode.APP_FAILED, message="it ends here")
    store.advance(job_id, once(Fail(failure=failure)))


def moves_to(store: Store, job_id: JobId, host: str) -> None:
    """Sweep until it has moved: PostgreSQL takes a moment to see that a connection has ended."""
    for _ in range(200):
        store.recover("default")
        if store.job(job_id).host == host:
            return
        time.sleep(0.05)
    pytest.fail(f"job {job_id} is on {store.job(job_id).host}, not on {host}")


def tasks(url: str) -> list[tuple[str, int]]:
    """The queue and the number of each measurement that waits."""
    return [(q, args["measurement_id"]) for task, q, args in queued(url) if task == "measure"]


def test_each_job_has_a_host_of_its_own(postgres_store: Store, url: str) -> None:
    store = postgres_store
    with hosts(url, store, "a", "b"):
        first, second, third = (started(store) for _ in range(3))
        assert [store.job(job).host for job in (first, second, third)] == ["a", "b", None]
        assert store.job(third).state is JobState.QUEUED
        assert store.status(third).queue_position == 2
        of_first, of_second = blocks(store, first), blocks(store, second)
        assert tasks(url) == [
            *(("pool-default/a", block) for block in of_first),
            *(("pool-default/b", block) for block in of_second),
        ]
        assert store.claim(of_first[0], "b") is None, "it is for another host"
        claimed(store, of_first[0], "a")
        assert {host.name: host.job for host in store.hosts()} == {"a": first, "b": second}
        forget_queue(url)
        end(store, second)
        assert [task for task, _, _ in queued(url)] == ["advance"], "the third one may start"
        store.advance(third, start_if_free)
        assert store.job(third).host == "b"


def test_no_two_jobs_get_one_host_however_many_start_at_once(
    postgres_store: Store, url: str
) -> None:
    store = postgres_store
    with hosts(url, store, "a", "b", "c"):
        jobs = [create(store) for _ in range(8)]
        starts = [lambda job=job: store.advance(job, start_if_free) for job in jobs]
        assert in_threads(*starts) == []
        store.recover("default")
        for _ in range(3):  # a job whose turn came while it looked is woken by the one before
            for job in jobs:
                store.advance(job, start_if_free)
        running = store.jobs(state=JobState.RUNNING)
        assert sorted(store.job(JobId(job.id)).host or "" for job in running) == ["a", "b", "c"]
        assert sorted(job.id for job in running) == jobs[:3]


def test_a_job_that_starts_wakes_the_next_one(postgres_store: Store, url: str) -> None:
    store = postgres_store
    jobs = [create(store) for _ in range(3)]
    with hosts(url, store, "a", "b"):
        forget_queue(url)
        for job in jobs[:2]:
            store.advance(job, start_if_free)
        woken = [args["job_id"] for _, _, args in queued(url)]
        assert woken == [jobs[1]], "and not the third, which has no host"


@pytest.mark.parametrize("how", ["dies", "hangs", "cannot measure"])
def test_a_job_goes_on_elsewhere_when_its_host_cannot(
    postgres_store: Store, url: str, how: str
) -> None:
    store = postgres_store
    with hosts(url, store, "b"), ExitStack() as of_a:
        of_a.enter_context(hosts(url, store, "a"))
        store.drain("b", by=None)
        job_id = started(store)
        store.resume("b", by=None)
        held, waiting = blocks(store, job_id)
        claimed(store, held, "a")
        forget_queue(url)
        assert store.recover("default") == 1, "the block that waits for a task"
        assert store.job(job_id).host == "a"
        if how == "dies":
            of_a.close()
        elif how == "hangs":
            fall_silent(url, "a")
        else:
            store.see_host("a", "default", None, "docker is away")
        moves_to(store, job_id, "b")
        assert store.claim(waiting, "a") is None
        assert claimed(store, waiting, "b").measurement.attempt == 1
        if how == "cannot measure":
            assert store.claim(held, "b") is None, "its worker lives and may end it"
            assert store.complete(held, 1, MeasurementResult())
        else:
            assert not store.complete(held, 1, MeasurementResult()), "it is another host's now"
            assert claimed(store, held, "b").measurement.attempt == 2


def test_a_job_waits_for_its_host_where_no_other_one_is_free(
    postgres_store: Store, url: str
) -> None:
    store = postgres_store
    with hosts(url, store, "b"), ExitStack() as of_a:
        of_a.enter_context(hosts(url, store, "a"))
        first, second = started(store), started(store)
        assert (store.job(first).host, store.job(second).host) == ("a", "b")
        of_a.close()
        fall_silent(url, "a")
        store.recover("default")
        assert store.job(first).host == "a"
        assert store.status(first).waits_for == "b: it measures another job"
        end(store, second)
        store.recover("default")
        assert store.job(first).host == "b"
        assert store.status(first).waits_for is None
        assert tasks(url)[-2:] == [("pool-default/b", block) for block in blocks(store, first)]


def test_a_job_that_began_without_a_host_gets_one(postgres_store: Store, url: str) -> None:
    store = postgres_store
    job_id = started(store)
    assert store.job(job_id).host is None
    with hosts(url, store, "a"):
        store.recover("default")
        assert store.job(job_id).host == "a"
        assert all(claimed(store, block, "a") for block in blocks(store, job_id))


def test_a_drained_host_ends_its_block_and_takes_no_other(postgres_store: Store, url: str) -> None:
    store = postgres_store
    with hosts(url, store, "a", "b"):
        job_id = started(store)
        held, waiting = blocks(store, job_id)
        claimed(store, held, "a")
        forget_queue(url)
        store.drain("a", by="ops")
        since = next(host.drained_at for host in store.hosts() if host.name == "a")
        store.drain("a", by="ops")
        assert next(host.drained_at for host in store.hosts() if host.name == "a") == since
        assert store.job(job_id).host == "b"
        assert tasks(url) == [("pool-default/b", waiting)], "at once, without a sweep"
        assert store.claim(waiting, "a") is None
        assert store.complete(held, 1, MeasurementResult())
        assert store.job(started(store)).state is JobState.QUEUED, "the only host is busy"
        store.resume("a", by="ops")
        of_hosts = [entry for entry in store.audit(None, 9) if entry.said == "host a"]
        assert [entry.action for entry in of_hosts] == ["resume", "drain", "drain"]


def test_where_all_hosts_are_drained_nothing_starts(postgres_store: Store, url: str) -> None:
    store = postgres_store
    with hosts(url, store, "a"):
        running = started(store)
        store.drain("a", by=None)
        assert [store.claim(block, "a") for block in blocks(store, running)] == [None, None]
        forget_queue(url)
        assert store.recover("default") == 0, "no task that its host would refuse"
        assert "drained" in (store.status(running).waits_for or "")
        waiting = started(store)
        assert store.job(waiting).state is JobState.QUEUED
        store.resume("a", by=None)
        assert tasks(url) == [("pool-default/a", block) for block in blocks(store, running)]
        with pytest.raises(NotFound, match="no worker has reported"):
            store.drain("z", by=None)


def test_a_fault_gives_the_block_back_to_the_jobs_host(postgres_store: Store, url: str) -> None:
    store = postgres_store
    with hosts(url, store, "a", "b"):
        job_id = started(store)
        block, _ = blocks(store, job_id)
        claimed(store, block, "a")
        store.drain("a", by=None)
        assert store.release(block, 1, fault="docker hung") == 1
        measurement = store.measurements(job_id)[0]
        assert (measurement.state, measurement.host) == (MeasurementState.QUEUED, "b")
        assert store.job(job_id).host == "b"


def test_the_commands_list_drain_and_resume_hosts(
    postgres_store: Store,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = postgres_store
    monkeypatch.setenv("TUNER_DATABASE_URL", url)
    monkeypatch.setenv("TUNER_WORKER_NAME", "a")

    def says(*argv: str) -> str:
        assert run("hosts", *argv) == 0
        return capsys.readouterr().out

    assert "no worker has reported yet" in says("list")
    with hosts(url, store, "a", "b"):
        job_id = started(store)
        block, _ = blocks(store, job_id)
        claimed(store, block, "a")
        assert says("list") == (
            f"a (pool default): measures job {job_id}\nb (pool default): ready\n"
        )
        assert "a (pool default): measures job" in says("drain"), "its own name is the default"
        ending = threading.Timer(0.5, store.complete, (block, 1, MeasurementResult()))
        ending.start()
        assert says("drain", "--wait").startswith("a (pool default): drained since ")
        assert not ending.is_alive()
        assert says("resume", "a") == "a (pool default): ready\n"
        assert run("hosts", "drain", "z") == 3
        store.see_host("b", "default", None, "docker is away")
        assert json.loads(says("list", "--json"))[1]["problem"] == "docker is away"
        fall_silent(url, "b")
        assert "b (pool default): gone, last seen" in says("list")


def test_pools_and_their_page_show_what_each_host_does(postgres_store: Store, url: str) -> None:
    store = postgres_store
    site = Site(store)
    with hosts(url, store, "a", "b"):
        job_id = started(store)
        claimed(store, blocks(store, job_id)[0], "a")
        store.drain("b", by=None)
        (pool,) = site.send("GET", "/v1/pools").json()["pools"]
        assert [host["job"] for host in pool["hosts"]] == [job_id, None]
        assert [host["drained_at"] is None for host in pool["hosts"]] == [True, False]
        page = site.get("/hosts").text
        assert f'<a href="/jobs/{job_id}">job {job_id}</a>' in page
        assert "tuner hosts resume b" in page
        store.drain("a", by=None)
        assert "is drained" in site.send("GET", "/readyz").text


def idle_hosts(store: Store, job_id: JobId) -> tuple[str, ...]:
    return store.history(job_id).idle_hosts


def test_idle_hosts_of_the_same_machine_may_help(postgres_store: Store, url: str) -> None:
    store = postgres_store
    other = replace(FINGERPRINT, cpu_model="another")
    with hosts(url, store, "a", "b", "c", "d"):
        first = started(store)
        assert idle_hosts(store, first) == ("b", "c", "d")
        store.see_host("c", "default", other)
        store.see_host("d", "default", None, "docker is away")
        assert idle_hosts(store, first) == ("b",)
        store.advance(first, once(Measure(plans=(helped(3),))))
        second = started(store)
        assert store.job(second).host == "b", "it is free for a job"
        assert idle_hosts(store, first) == ()
        end(store, second)
        assert idle_hosts(store, first) == ("b",)
        create(store)
        assert idle_hosts(store, first) == (), "a queued job needs it"


def test_a_host_helps_one_job_at_a_time(postgres_store: Store, url: str) -> None:
    store = postgres_store
    with hosts(url, store, "a", "b", "c"):
        first, second = started(store), started(store)
        assert idle_hosts(store, second) == ("c",)
        store.advance(first, once(Measure(plans=(helped(3, host="c"),))))
        assert tasks(url)[-1][0] == "pool-default/c"
        assert idle_hosts(store, first) == ("c",)
        assert idle_hosts(store, second) == ()


@pytest.mark.parametrize("how", ["is drained", "has a job", "dies"])
def test_blocks_come_back_from_a_host_that_no_longer_helps(
    postgres_store: Store, url: str, how: str
) -> None:
    store = postgres_store
    with hosts(url, store, "a"), ExitStack() as of_b:
        of_b.enter_context(hosts(url, store, "b"))
        first = started(store)
        plans = (helped(3), helped(4, phase=Phase.CALIBRATE), helped(5))
        store.advance(first, once(Measure(plans=plans)))
        *_, trial_block, a_a_block, held = blocks(store, first)
        claimed(store, held, "b")
        before = len(stored(url))
        if how == "is drained":
            store.drain("b", by=None)
        elif how == "has a job":
            assert store.job(started(store)).host == "b"
        else:
            of_b.close()
            fall_silent(url, "b")
        store.recover("default")
        found = {m.id: (m.state, m.host) for m in store.measurements(first)}
        assert found[trial_block] == (MeasurementState.QUEUED, "a")
        assert found[a_a_block] == (MeasurementState.CANCELLED, "b"), "it says nothing about a"
        lost = how == "dies"
        assert found[held] == ((MeasurementState.QUEUED, "a") if lost else (RUNNING, "b"))
        assert ("pool-default/a", trial_block) in tasks(url)
        changed = {n for e in stored(url)[before:] if e.kind is EventKind.BLOCK for n in e.numbers}
        assert changed >= {3, 4}, "those who look at the job see it"
        assert store.complete(held, 1, MeasurementResult()) is not lost


def helped(sequence: int, *, host: str = "b", phase: Phase = Phase.SEARCH) -> Plan:
    return replace(plan(sequence, 0), host=host, phase=phase)
