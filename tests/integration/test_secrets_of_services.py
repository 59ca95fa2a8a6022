"""A secret of the worker reaches app and service, and no row, file, report or answer has it.

It is searched for where it was written on purpose: in the log of every start, in that of a file
that does not start, in the output of a step that fails, and in the last lines of a service.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.patience import TEST_ENDS_WITHIN_S
from tests.service import Json, Service, running
from tests.variants import BACKED, write_variant
from tuner.service import bootstrap
from tuner.service.settings import Settings

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

SECRET = "wonderful-c2VjcmV0-0815"  # noqa: S105 - it is planted
TELLS = "echo it has $KEY"
INI = (BACKED / "uwsgi.ini").read_text() + f"exec-pre-app = {TELLS} >&2\n"
BROKEN = INI.replace("app.py", "absent.py")
KEY = {"KEY": {"from_worker": "SHOP_KEY"}}
SHORT = {
    "preset": "demo",
    "trials": 2,
    "calibrate_blocks": 2,
    "confirm_blocks": 4,
    "cycles": 1,
    "window_s": 0.5,
    "warmup_s": 0.0,
}
FAILS = ["sh", "-c", f"{TELLS}; exit 3"]


def write_apps(folder: Path) -> None:
    """An app that works, and two whose services do not."""
    counter = {"env": KEY}
    for name, prepare, more in (
        ("works", {"in": "counter", "run": ["sh", "-c", f"test ${{#KEY}} = {len(SECRET)}"]}, {}),
        ("step-fails", {"in": "counter", "run": FAILS}, {}),
        ("service-fails", {"in": "counter", "run": ["true"]}, {"entrypoint": FAILS}),
    ):
        services = {"counter": counter | more}
        steps = [{"in": "app", "run": ["sh", "-c", "echo line > /srv/own/lines"]}, prepare]
        write_variant(folder, name, BACKED, ini=INI, env=KEY, services=services, prepare=steps)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    write_apps(tmp_path)
    secrets = {"SHOP_KEY": SECRET, "TUNER_SECRETS_ALLOWED": "SHOP_*", "TUNER_LOG_LEVEL": "DEBUG"}
    with running(measures=False, TUNER_TARGET_APPS=str(tmp_path), **secrets) as service:
        yield service


def ended(service: Service, name: str, **request: Any) -> Json:
    """The end of a job on the target app of that name."""
    job = service.submit(app=name, target={"target_app": name}, allow=["commands"], **request)
    return service.finish(job["id"])


def addresses_of(service: Service, job: Json) -> Iterator[str]:
    """Every address that the API documents, filled in for a job."""
    known = {"id": job["id"], "n": 0, "app": job["app"], "pool": "default", "name": "default"}
    more = {"/report": ("format=html", "format=md", "format=json"), "/{n}": ("raw=1",)}
    more["/uwsgi.ini"] = ("form=command",)
    for path, calls in service.get("/openapi.json").json()["paths"].items():
        if "get" not in calls:
            continue
        queries = ("", *(q for end, all_ in more.items() if path.endswith(end) for q in all_))
        yield from (f"{path.format(**known)}?{query}" for query in queries)


def answered(service: Service, address: str) -> str:
    """The text of an answer; of a stream, which has no end, all events so far."""
    if not address.endswith("/events?"):
        return service.http.get(address).text
    said, all_of_them = "", {"Last-Event-ID": "0"}
    with (
        suppress(httpx.ReadTimeout),  # nothing happens any more
        service.http.stream("GET", address, headers=all_of_them, timeout=3) as answer,
    ):
        for part in answer.iter_text():
            said += part
    assert "data: " in said, address
    return said


def rows(service: Service) -> str:
    """All tables of the database as text, those of the queue too."""
    conninfo = bootstrap.conninfo(Settings.from_environ(service.environ))
    listing = (
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
        " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
    )
    with psycopg.connect(conninfo) as connection:
        tables = [name for (name,) in connection.execute(listing)]
        assert {"public.jobs", "public.windows"} <= {*tables}
        queries = (f"SELECT t::text FROM {name} t" for name in tables)  # noqa: S608 - our tables
        return "\n".join(row for one in queries for (row,) in connection.execute(one.encode()))


def test_a_planted_secret_is_nowhere_after_its_jobs(service: Service) -> None:
    tuned = ended(service, "works", budget=SHORT)
    inis = [{"name": "good", "ini": INI}, {"name": "broken", "ini": BROKEN}]
    compared = ended(service, "works", kind="compare", arms=inis, blocks=1, window_s=0.5)
    step, part = (ended(service, name) for name in ("step-fails", "service-fails"))

    assert (tuned["state"], compared["state"]) == ("succeeded", "succeeded"), service.log()
    broken = compared["report"]["arms"][1]["failure"]
    for failure, code in (
        (broken, "app_failed"),
        (step["failure"], "prepare_failed"),
        (part["failure"], "service_failed"),
    ):
        assert failure["code"] == code
        assert "it has ***" in failure["message"] + failure["log_tail"]  # it was there to be hidden
    stored = rows(service)
    assert stored.count("it has ***") >= 3
    assert SECRET not in stored
    addresses = {a for job in (tuned, compared, step, part) for a in addresses_of(service, job)}
    assert sum(re.search("/report.*html", address) is not None for address in addresses) == 4
    assert [each for each in sorted(addresses) if SECRET in answered(service, each)] == []
    service.wait_for(lambda: not service.leftovers(), 60, "nothing is left over")
    files = [file for file in service.home.rglob("*") if file.is_file()]
    assert service.home / "serve.log" in files
    assert [file for file in files if SECRET.encode() in file.read_bytes()] == []
