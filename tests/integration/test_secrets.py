"""A planted secret: the app and its service have it, and nothing that a finished job leaves."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from sqlalchemy import MetaData, select

from tests import real_bench
from tests.patience import JOB_ENDS_WITHIN_S, TEST_ENDS_WITHIN_S
from tests.service import Json, Service, running
from tuner.service import bootstrap
from tuner.service.settings import Settings
from tuner.store.db import make_engine

pytestmark = [pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

OF_WORKER, OF_FILE = "planted-in-the-environment", "planted-in-a-file"
TELLS = """\
import os
from pathlib import Path
print("it has", os.environ["KEY"], Path("/run/secrets/db").read_text(), flush=True)
"""
DESCRIBED = {
    "name": "keeps",
    "description": "an app with a service and two secrets",
    "build": ".",
    "health_path": "/count",
    "env": {"KEY": {"from_worker": "SHOP_KEY"}},
    "secrets": {"db": {"file": "secrets/db.txt"}},
    "services": {"counter": {"build": "counter", "secrets": ["db"]}},
    "prepare": [
        {"in": "counter", "run": ["grep", "planted", "/run/secrets/db"]},
        {"in": "app", "run": ["sh", "-c", "echo x >/srv/own/lines"]},
    ],
}
GOOD = "[uwsgi]\nhttp-socket = :8000\nchdir = /app\nmodule = app\nmaster = true\n"
FAILS = GOOD.replace("module = app", "module = app:missing\nneed-app = true")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    folder = tmp_path / "keeps"
    shutil.copytree(real_bench.APPS / "backed", folder)
    (folder / "app.py").write_text(TELLS + (folder / "app.py").read_text())
    (folder / "secrets").mkdir()
    (folder / "secrets" / "db.txt").write_text(f"{OF_FILE}\n")
    (folder / "target.yaml").write_text(yaml.safe_dump(DESCRIBED))
    (folder / "uwsgi.ini").write_text(GOOD)
    variables = {"SHOP_KEY": OF_WORKER, "TUNER_SECRETS_ALLOWED": "SHOP_*"}
    with running(measures=False, TUNER_TARGET_APPS=str(tmp_path), **variables) as service:
        yield service


def compared(service: Service) -> Json:
    """A file that serves, and one that fails after the app has told what it knows."""
    job = service.submit(
        kind="compare",
        app="keeps",
        target={"target_app": "keeps"},
        arms=[{"name": "good.ini", "ini": GOOD}, {"name": "fails.ini", "ini": FAILS}],
        blocks=2,
        cycles=1,
        window_s=0.5,
        warmup_s=0.2,
    )
    return service.finish(job["id"], within_s=JOB_ENDS_WITHIN_S)


def rows(service: Service) -> str:
    """All rows of all tables."""
    engine = make_engine(bootstrap.database_url(Settings.from_environ(service.environ)))
    found = MetaData()
    with engine.connect() as connection:
        found.reflect(connection)
        texts = [str(connection.execute(select(t)).all()) for t in found.tables.values()]
    engine.dispose()
    return "".join(texts)


def test_a_planted_secret_is_in_nothing_that_a_finished_job_leaves(service: Service) -> None:
    ended = compared(service)
    assert ended["state"] == "succeeded", (ended, service.log())
    path = f"/v1/jobs/{ended['id']}"
    answers = [
        service.get(each).text
        for each in (path, f"{path}/report", f"{path}/windows", "/v1/target-apps", "/v1/jobs")
    ]
    _, fails = ended["report"]["arms"]
    assert "it has ***" in fails["failure"]["log_tail"], fails
    everything = [*answers, rows(service)]
    assert "it has ***" in everything[-1]
    service.stop()
    files = [each for each in service.home.rglob("*") if each.is_file()]
    written = b"".join(each.read_bytes() for each in files)
    assert len(written) > 1_000_000
    for planted in (OF_WORKER, OF_FILE):
        assert not [text for text in everything if planted in text]
        assert planted.encode() not in written
