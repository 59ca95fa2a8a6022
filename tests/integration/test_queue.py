"""The queue on a real PostgreSQL: order, retries, stopping, and workers that die."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import psycopg
import pytest
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.manager import JobManager

from tests.patience import quickest
from tests.postgres import server
from tuner.nouns.errors import Aborted, Conflict, Infrastructure, Unavailable
from tuner.nouns.model import JobId, MeasurementId
from tuner.store.db import conninfo, host_alive
from tuner.store.queue import Queue, run_worker

WORKER = Path(__file__).parent / "queue_worker.py"


class Recording:
    """Handlers that note what they were asked, and do as the test says."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []
        self.measuring: Callable[[int, Callable[[], bool]], None] = lambda _, __: None
        self.sweeping: Callable[[], None] = lambda: None
        self.beating: Callable[[], None] = lambda: None
        self.running = 0
        self.most_running = 0
        self.seen_as = 0
        self.beats = 0

    def advance(self, job_id: JobId) -> None:
        self._note("advance", job_id)

    def measure(self, measurement_id: MeasurementId, should_abort: Callable[[], bool]) -> None:
        self._note("measure", measurement_id)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            self.measuring(measurement_id, should_abort)
        finally:
            self.running -= 1

    def prune(self) -> None:
        self._note("prune", 0)

    def submit_due(self) -> None:
        self._note("submit_due", 0)

    def sweep(self) -> None:
        self.sweeping()

    def register(self, worker_id: int) -> None:
        self.seen_as = worker_id

    def beat(self) -> None:
        self.beats += 1
        self.beating()

    def _note(self, what: str, id_: int) -> None:
        self.seen.append((what, id_))


@contextmanager
def working(
    handlers: Recording,
    url: str,
    host: str = "a",
    prunes: str | None = None,
    looks: str | None = None,
) -> Iterator[None]:
    """A worker in a thread, stopped at the end; what it raised is raised here."""
    stopping = threading.Event()
    ends: list[BaseException] = []

    def work() -> None:
        try:
            run_worker(
                handlers,
                handlers,
                conninfo=url,
                pool="default",
                host=host,
                stopping=stopping,
                prunes=prunes,
                looks=looks,
            )
        except BaseException as error:  # noqa: BLE001  handed to the test's own thread
            ends.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(20)
    assert not thread.is_alive()
    if ends:
        raise ends[0]


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    assert happens(condition, seconds), "it did not happen in time"


def happens(condition: Callable[[], object], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
    return True


def defer(url: str, *, advance: tuple[int, ...] = (), measure: tuple[int, ...] = ()) -> None:
    queue = Queue()
    with psycopg.connect(url) as connection:
        for measurement_id in measure:
            queue.defer_measure(connection, MeasurementId(measurement_id), "default")
        for job_id in advance:
            queue.defer_advance(connection, JobId(job_id), "default")


def rows(url: str) -> list[tuple[Any, ...]]:
    query = "SELECT task_name, status::text, attempts FROM procrastinate_jobs ORDER BY id"
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def seen_by(handlers: Recording, job_id: int) -> bool:
    return ("advance", job_id) in handlers.seen


# ---- deferring


def test_what_is_rolled_back_was_never_queued(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        Queue().defer_advance(connection, JobId(1), "default")
        connection.rollback()
    assert rows(database_url) == []


def test_what_waits_is_known(database_url: str) -> None:
    defer(database_url, advance=(1, 1, 2), measure=(7,))
    with psycopg.connect(database_url) as connection:
        assert Queue().waiting_jobs(connection) == {1, 2}
        assert Queue().waiting_measurements(connection) == {(7, None)}


def test_deferring_without_a_server_is_unavailable(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT 1")
        kill = "SELECT pg_terminate_backend(%s)"
        with psycopg.connect(database_url) as other:
            other.execute(kill, [connection.info.backend_pid])
        with pytest.raises(Unavailable):
            Queue().defer_advance(connection, JobId(1), "default")


@pytest.mark.parametrize("length", [1, 35, 36, 63])
def test_a_pool_may_have_as_long_a_name_as_any(database_url: str, length: int) -> None:
    """NOTIFY refuses channels above 63 bytes, and with them the whole transaction."""
    names = ("a" * length, "a" * (length - 1) + "b")
    with psycopg.connect(database_url) as connection:
        for pool in names:
            Queue().defer_advance(connection, JobId(1), pool)
        query = "SELECT count(DISTINCT queue_name) FROM procrastinate_jobs"
        row = connection.execute(query).fetchone()
    assert row == (2,)


# ---- running


def test_it_works_one_at_a_time_and_decides_first(database_url: str) -> None:
    defer(database_url, measure=(1, 2, 3), advance=(9,))
    handlers = Recording()
    handlers.measuring = lambda _, __: time.sleep(0.05)
    with working(handlers, database_url):
        wait_for(lambda: len(handlers.seen) == 4)
    assert handlers.seen == [("advance", 9), ("measure", 1), ("measure", 2), ("measure", 3)]
    assert handlers.most_running == 1


def test_finished_work_leaves_nothing_behind(database_url: str) -> None:
    defer(database_url, measure=(1,), advance=(9,))
    handlers = Recording()
    with working(handlers, database_url):
        wait_for(lambda: rows(database_url) == [])
    assert len(handlers.seen) == 2


def test_news_arrive_though_nobody_looks_for_them(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.store.queue.worker.POLL_EVERY_S", 600.0)
    handlers = Recording()
    with working(handlers, database_url):
        for id_ in range(11):
            assert arrives(handlers, database_url, id_)


def arrives(handlers: Recording, url: str, job_id: int) -> bool:
    """Whether one of three news of a job is heard.

    procrastinate 3.10 forgets what comes while it looks for work, for it clears its event after
    the look; the next news, or the poll, finds that too.
    """
    for _ in range(3):
        defer(url, advance=(job_id,))
        if happens(partial(seen_by, handlers, job_id), seconds=10.0):
            return True
    return False


@pytest.mark.parametrize(
    "error", [Unavailable("docker", "no socket"), Infrastructure("the disk made noises")]
)
def test_what_passes_by_itself_is_tried_again(database_url: str, error: Exception) -> None:
    defer(database_url, measure=(1,))
    handlers = Recording()
    began = time.monotonic()

    def measuring(_: int, __: Callable[[], bool]) -> None:
        if len(handlers.seen) == 1:
            raise error

    handlers.measuring = measuring
    with working(handlers, database_url):
        wait_for(lambda: len(handlers.seen) == 2)
        assert 2.5 < time.monotonic() - began < 60
        wait_for(lambda: rows(database_url) == [])


def test_what_was_called_off_is_over(database_url: str) -> None:
    defer(database_url, measure=(1,))
    handlers = Recording()

    def measuring(_: int, __: Callable[[], bool]) -> None:
        raise Aborted("cancelled")

    handlers.measuring = measuring
    with working(handlers, database_url):
        wait_for(lambda: rows(database_url) == [])
    assert handlers.seen == [("measure", 1)]


def test_what_a_stop_interrupts_waits_for_the_next_worker(database_url: str) -> None:
    defer(database_url, measure=(1,))
    handlers = Recording()

    def measuring(_: int, should_abort: Callable[[], bool]) -> None:
        wait_for(should_abort)
        raise Aborted("stopping")

    handlers.measuring = measuring
    with working(handlers, database_url):
        wait_for(lambda: handlers.seen)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    assert rows(database_url) == [("measure", "todo", 1)]
    second = Recording()
    with working(second, database_url):
        wait_for(lambda: rows(database_url) == [])
    assert second.seen == [("measure", 1)]


def test_the_sweep_runs_while_a_measurement_does(database_url: str) -> None:
    defer(database_url, measure=(1,))
    swept = threading.Event()
    handlers = Recording()
    handlers.sweeping = swept.set
    measured = []
    handlers.measuring = lambda _, __: measured.append(swept.wait(30))
    with working(handlers, database_url):
        wait_for(lambda: measured)
    assert measured == [True]


def test_the_worker_is_registered_before_its_first_task_and_beats(database_url: str) -> None:
    defer(database_url, measure=(1,))
    handlers = Recording()
    known: list[int] = []
    handlers.measuring = lambda _, __: known.append(handlers.seen_as)
    with working(handlers, database_url):
        wait_for(lambda: known and handlers.beats)
    assert known[0] > 0


def test_a_sweep_that_fails_ends_the_worker_loudly(database_url: str) -> None:
    handlers = Recording()

    def sweeping() -> None:
        raise ValueError("a mistake of ours")

    handlers.sweeping = sweeping
    with pytest.raises(ValueError, match="of ours"):
        run_worker(handlers, handlers, conninfo=database_url, pool="default", host="a")


def test_other_workers_may_come_back_before_the_first_sweep(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is not back yet after an absence of PostgreSQL would be taken for gone."""
    for interval in ("BEAT_EVERY_S", "SWEEP_EVERY_S"):
        monkeypatch.setattr(f"tuner.store.queue.worker.{interval}", 0.05)
    monkeypatch.setattr("tuner.store.queue.worker.HOST_IS_STALE_AFTER", timedelta(seconds=2))
    handlers, swept, lost = Recording(), list[float](), list[float]()
    handlers.sweeping = lambda: swept.append(time.monotonic())

    def beating() -> None:
        if swept and not lost:
            lost.append(time.monotonic())
            raise Unavailable("postgresql", "the connection is lost")

    handlers.beating = beating
    with working(handlers, database_url):
        wait_for(lambda: lost and swept[-1] > lost[0] + 0.5)
    assert next(at for at in swept if at > lost[0] + 0.5) >= lost[0] + 2


def test_a_worker_whose_name_another_has_taken_gives_up(database_url: str) -> None:
    defer(database_url, measure=(1,))
    handlers = Recording()

    def measuring(_: int, should_abort: Callable[[], bool]) -> None:
        wait_for(should_abort)
        raise Aborted("gives up")

    def beating() -> None:
        if handlers.running:
            raise Conflict("a worker named 'a' already uses this database")

    handlers.measuring, handlers.beating = measuring, beating
    with pytest.raises(Conflict, match="'a'"):
        run_worker(handlers, handlers, conninfo=database_url, pool="default", host="a")
    assert rows(database_url) == [("measure", "todo", 1)]


def test_one_worker_of_a_pool_prunes_when_it_is_time(database_url: str) -> None:
    first, second = Recording(), Recording()
    began, every_second = time.monotonic(), "* * * * * *"
    with (
        working(first, database_url, "a", prunes=every_second),
        working(second, database_url, "b", prunes=every_second),
    ):
        wait_for(lambda: len(first.seen + second.seen) >= 8)
    seen = first.seen + second.seen
    assert set(seen) == {("prune", 0)}
    assert len(seen) <= time.monotonic() - began + 2  # both would come to twice as many


def test_a_worker_that_is_not_asked_to_prunes_never(database_url: str) -> None:
    handlers = Recording()
    with working(handlers, database_url):
        defer(database_url, advance=(1,))
        wait_for(lambda: handlers.seen)
    assert handlers.seen == [("advance", 1)]


def test_docker_being_away_does_not_end_the_worker(database_url: str) -> None:
    handlers = Recording()

    def sweeping() -> None:
        raise Unavailable("docker", "no socket")

    handlers.sweeping = sweeping
    with working(handlers, database_url):
        defer(database_url, advance=(1,))
        wait_for(lambda: handlers.seen)


def test_a_worker_without_a_database_is_unavailable(tmp_path: Path) -> None:
    began = time.monotonic()
    url = f"postgresql://tuner@/x?host={tmp_path}"
    with pytest.raises(Unavailable), host_alive(url, "a", "default") as liveness:
        run_worker(Recording(), liveness, conninfo=url, pool="default", host="a")
    assert time.monotonic() - began < 10


# ---- host names


def test_a_host_name_is_taken_once(database_url: str) -> None:
    alive = partial(host_alive, database_url, pool="default")
    with alive(host="a"):
        with pytest.raises(Conflict, match="'a'"), alive(host="a"):
            pass
        with alive(host="b"):
            pass
    with alive(host="a"):
        pass


# ---- workers that die


class Process:
    """`queue_worker.py`, and what it has said."""

    def __init__(self, url: str, host: str) -> None:
        self._lines: SimpleQueue[str] = SimpleQueue()
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.queue_worker", url, host],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=WORKER.parents[2],
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self._lines.put(line.strip())

    def await_line(self, wanted: str, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        said = []
        while wanted not in said:
            try:
                said.append(self._lines.get(timeout=max(0.0, deadline - time.monotonic())))
            except Empty:
                end = self.popen.poll()
                pytest.fail(f"no {wanted!r} from the worker, exit status {end}: {said}")

    def end(self, number: signal.Signals) -> int:
        self.popen.send_signal(number)
        return self.popen.wait(20)


@pytest.fixture
def start(database_url: str) -> Iterator[Callable[[str], Process]]:
    started: list[Process] = []

    def start(host: str) -> Process:
        started.append(Process(database_url, host))
        return started[-1]

    yield start
    for process in started:
        process.popen.kill()
        process.popen.wait()
        assert process.popen.stdout is not None
        process.popen.stdout.close()


def test_what_a_killed_worker_was_at_starts_at_once(
    database_url: str, start: Callable[[str], Process]
) -> None:
    defer(database_url, measure=(2,))
    workers = [start("a")]
    workers[0].await_line("measure 2")

    def kill_and_start_another() -> float:
        workers[-1].end(signal.SIGKILL)
        assert [state for _, state, _ in rows(database_url)] == ["doing"]
        began = time.monotonic()
        workers.append(start("a"))
        workers[-1].await_line("measure 2")
        return time.monotonic() - began

    assert quickest(15, kill_and_start_another) < 15, "most of it is Python's own start"


def test_another_host_takes_over_from_a_killed_one(
    database_url: str, start: Callable[[str], Process]
) -> None:
    second = start("b")
    second.await_line("sweep 0")
    defer(database_url, measure=(2, 4))
    second.await_line("measure 2")
    first = start("a")
    first.await_line("measure 4")
    second.end(signal.SIGKILL)
    first.end(signal.SIGTERM)
    third = start("c")
    third.await_line("measure 2")
    assert third.popen.poll() is None


def test_work_of_a_living_worker_is_left_alone(
    database_url: str, start: Callable[[str], Process]
) -> None:
    defer(database_url, measure=(2,))
    start("a").await_line("measure 2")
    start("b").await_line("sweep 0")
    time.sleep(1)
    assert rows(database_url) == [("measure", "doing", 0)]


@pytest.mark.parametrize("is_away", [False, True])
def test_sigterm_calls_the_measurement_off_and_does_not_wait_for_the_server(
    database_url: str, start: Callable[[str], Process], *, is_away: bool
) -> None:
    defer(database_url, measure=(2,))
    worker = start("a")
    worker.await_line("measure 2")
    with server_is_away() if is_away else nullcontext():
        began = time.monotonic()
        assert worker.end(signal.SIGTERM) == 0
        assert time.monotonic() - began < 10, "the measurement takes an hour"
    if not is_away:
        assert rows(database_url) == [("measure", "todo", 1)]
    start("a").await_line("measure 2")


def test_a_killed_workers_name_is_free_again(start: Callable[[str], Process]) -> None:
    first = start("a")
    first.await_line("sweep 0")
    assert start("a").popen.wait(60) == 4
    first.end(signal.SIGKILL)
    start("a").await_line("sweep 0")


@contextmanager
def server_is_away() -> Iterator[None]:
    """Killed now, and back at the end."""
    postgres = server()
    assert postgres.pid is not None
    os.kill(postgres.pid, signal.SIGKILL)
    try:
        yield
    finally:
        postgres.start()


@pytest.mark.parametrize("for_s", [0.0, 4.0])
def test_a_worker_goes_on_after_the_server_was_killed(
    database_url: str, start: Callable[[str], Process], *, for_s: float
) -> None:
    defer(database_url, measure=(2,))
    worker = start("a")
    worker.await_line("measure 2")
    with server_is_away():
        time.sleep(for_s)
    defer(database_url, advance=(7,))
    assert task_of(database_url, "measure") == ("doing", 0), "nobody aborted it"
    assert worker.end(signal.SIGTERM) == 0
    worker.await_line("aborted 2")
    wait_for(lambda: task_of(database_url, "measure") == ("todo", 1))
    start("a").await_line("advance 7")


def task_of(url: str, name: str) -> tuple[Any, ...]:
    return next(row[1:] for row in rows(url) if row[0] == name)


def test_a_task_that_ends_while_the_server_is_away_ends_in_the_queue_too(
    database_url: str,
) -> None:
    """And the next one runs, which was waiting in the queue."""
    defer(database_url, measure=(1, 2))
    handlers, away = Recording(), threading.Event()

    def measuring(_: int, __: Callable[[], bool]) -> None:
        away.wait(20)

    handlers.measuring = measuring
    with working(handlers, database_url):
        wait_for(lambda: handlers.seen)
        with server_is_away():
            away.set()
            time.sleep(3)
        wait_for(lambda: rows(database_url) == [])
    assert handlers.seen == [("measure", 1), ("measure", 2)]


def test_a_task_whose_name_was_lost_with_the_connection_runs_all_the_same(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    defer(database_url, measure=(1,))
    fetch = JobManager.fetch_job
    lost: list[Job] = []

    async def lose_the_first(*given: Any) -> Any:
        found = await fetch(*given)
        if found is None or lost:
            return found
        lost.append(found)
        raise ConnectorException from psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(JobManager, "fetch_job", lose_the_first)
    handlers = Recording()
    with working(handlers, database_url):
        wait_for(lambda: rows(database_url) == [])
    assert lost
    assert handlers.seen == [("measure", 1)]


@pytest.mark.parametrize("question", ["prune_stalled_workers", "register_worker"])
def test_a_worker_starts_though_a_first_answer_is_lost(
    database_url: str, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """A busy machine needs more than the 2 s that the pool gives a connection."""
    defer(database_url, measure=(1,))
    ask = getattr(JobManager, question)
    asked = []

    async def lose_the_first(*given: Any) -> Any:
        asked.append(given)
        if len(asked) == 1:
            raise ConnectorException from psycopg.OperationalError("the connection is lost")
        return await ask(*given)

    monkeypatch.setattr(JobManager, question, lose_the_first)
    handlers = Recording()
    with working(handlers, database_url):
        wait_for(lambda: rows(database_url) == [])
    assert len(asked) == 2
    assert handlers.seen == [("measure", 1)]


@pytest.mark.full  # 15 s
def test_a_worker_starts_though_the_server_is_slow_at_first(database_url: str) -> None:
    """Slower than a connection may be, so that two attempts fail."""
    defer(database_url, measure=(1,))
    handlers, pid = Recording(), server().pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    goes_on = threading.Timer(9.5, os.kill, (pid, signal.SIGCONT))
    goes_on.start()
    with working(handlers, conninfo(database_url)):
        goes_on.join()
        wait_for(lambda: handlers.seen, seconds=20)
