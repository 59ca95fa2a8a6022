"""Real data directories of PostgreSQL 17, made by its real programs and full of rows."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests import builders, filled_rows, finished_jobs
from tests.integration.test_dumps import store_on
from tests.postgres import as_superuser
from tests.unit.api.fakes import Api
from tuner.store.db import EmbeddedPostgres, Store, binaries, dumps, upgrading
from tuner.store.db.binaries import Home, taken
from tuner.store.db.server import SERVICE, Server, create, create_database, major_of

OLD = 17
SETTINGS = {"fsync": "off"}
Answers = Mapping[str, tuple[int, bytes]]


@contextmanager
def open_folder() -> Iterator[Path]:
    """A directory that any user may pass; pytest's own are closed to all but us."""
    folder = Path(tempfile.mkdtemp(prefix="tuner-pg-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """The real programs of PostgreSQL 17, as the product gets them."""
    with open_folder() as folder:
        yield upgrading.find(OLD, None, folder / "programs", print)


@contextmanager
def running(folder: Path, bindir: Path) -> Iterator[str]:
    """The URL of the database, while a server runs on the data directory."""
    home = Home(folder)
    server = Server(home.cluster, home.log, SETTINGS)
    with home.lock_file() as lock:
        assert taken(lock)
        server.start(bindir, binaries.server_account(), lock)
        try:
            create_database(server)
            yield server.url
        finally:
            server.stop()


def answers(url: str) -> Answers:
    """What the API says of every job, to the byte."""
    calls = ("", "/windows", "/trials", "/report?format=json", "/recommendation", "/uwsgi.ini")
    with store_on(url) as store:
        api = Api(store)
        ids = [job["id"] for job in api.get("/v1/jobs?limit=100").json()["jobs"]]
        paths = [f"/v1/jobs/{number}{call}" for number in ids for call in calls]
        paths += ["/v1/apps", "/v1/apps/checkout/recommendation", "/v1/jobs?limit=100"]
        found = {path: api.get(path) for path in paths}
    return {path: (answer.status_code, answer.content) for path, answer in found.items()}


def fill(store: Store) -> None:
    """Answers, a comparison, a calibration, and a job that searches."""
    filled_rows.earlier(store, lambda noun: noun)
    filled_rows.compared(store, lambda noun: noun)
    filled_rows.calibrated(store, lambda noun: noun)
    made = store.create_job(builders.spec(), idempotency_key="a key", request_sha256="")[0].job
    finished_jobs.measured(store, made.id, blocks=3)


@pytest.fixture(scope="module")
def filled(programs: Path) -> Iterator[tuple[Path, Answers]]:
    """A data directory of PostgreSQL 17 with jobs of every kind, and what the API says of them."""
    with open_folder() as folder:
        create(programs, folder / "postgres", binaries.server_account())
        with running(folder, programs) as url:
            dumps.upgrade(url)
            with store_on(url) as store:
                fill(store)
            said = answers(url)
        assert len([code for code, _ in said.values() if code == 200]) > 20
        yield folder, said


@pytest.fixture
def home(filled: tuple[Path, Answers], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it for one test, which is TUNER_DATA_DIR."""
    with open_folder() as folder:
        copy(filled[0] / "postgres", folder)
        monkeypatch.setenv("TUNER_DATA_DIR", str(folder))
        yield folder


def copy(source: Path, target: Path) -> None:
    """With its owner."""
    subprocess.run(["cp", "-a", source, target], check=True)


def major(folder: Path) -> int:
    return major_of(folder)


def names(home: Path) -> set[str]:
    """What is in the data directory, but for logs, dumps and the copy of programs for root."""
    found = {path.name for path in home.iterdir()} - {"postgres.lock", "postgres.log", "dumps"}
    return found - {f"pg-{binaries.version(binaries.find())}"}


def contents(folder: Path) -> Mapping[str, bytes]:
    """Every file of a cluster."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def said_by_ours(home: Path) -> Answers:
    with EmbeddedPostgres(home, settings=SETTINGS) as postgres:
        dumps.check(postgres.url)
        return answers(postgres.url)


CHANGES = (
    "DELETE FROM windows WHERE ctid = (SELECT min(ctid) FROM windows)",
    "UPDATE windows SET trial_number = 99 WHERE ctid = (SELECT min(ctid) FROM windows)",
    "SELECT setval('jobs_id_seq', 1)",
    "CREATE TABLE another AS SELECT 1",
)


def change(url: str, statement: str) -> None:
    with psycopg.connect(as_superuser(url)) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(f"SET ROLE {SERVICE}".encode())
        assert connection.execute(statement.encode()).rowcount == 1
