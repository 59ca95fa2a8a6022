"""`tuner app init` and `tuner app check` as a user runs them, on containers."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import docker
import pytest
import yaml
from docker.errors import ImageNotFound
from docker.utils import kwargs_from_env

from tests import real_bench
from tests.acceptance.test_services import UNREACHABLE
from tests.patience import quickest
from tests.service import OWN_LOCK
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import DEFAULT_COMMAND, Target

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(900)]

HERE, TESTS = Path(__file__).parent, Path(__file__).parents[1]
SECRETS = {
    name: "only-here"
    for name in ("EMAIL_HOST_PASSWORD", "TRANSLATE_ADMIN_PASSWORD", "BM_SUPERUSER_PASSWORD")
}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int
    out: str
    err: str
    seconds: float


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of a user's shell, with data and a lock of its own: no figure matters here."""
    home = tmp_path_factory.mktemp("home")
    (home / "sitecustomize.py").write_text(OWN_LOCK.format(name=f"check-{home.parent.name}"))
    inherited = {name: value for name, value in os.environ.items() if "TUNER_" not in name}
    own = {
        "TUNER_DATA_DIR": str(home),
        "TUNER_SECRETS_ALLOWED": ",".join(SECRETS),
        "PYTHONPATH": str(home),
    }
    return inherited | SECRETS | own


def tuner_app(*words: str, cwd: Path, environ: Mapping[str, str]) -> Ended:
    command = [sys.executable, "-m", "tuner.cli", "app", *words]
    began = time.monotonic()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env={**environ}
    )
    return Ended(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


APP = """\
import os
from urllib.request import urlopen

mode = os.environ["MODE"]

class ImproperlyConfigured(Exception):
    pass

if mode == "key":
    os.environ["SHOP_KEY"]
if mode == "settings":
    raise ImproperlyConfigured("Set the SHOP_KEY environment variable")
if mode == "outside":
    urlopen(os.environ["PRICES_URL"])

def application(environ, start_response):
    is_other = mode == "hosts" and environ["HTTP_HOST"] != "shop.example"
    status = "302 Found" if mode == "login" else "400 Bad Request" if is_other else "200 OK"
    start_response(status, [("Content-Length", "0")])
    return []
"""
INI = "[uwsgi]\nhttp-socket = :8000\nwsgi-file = /app/app.py\nmaster = true\nprocesses = 2\n"
WAITS = "trap 'exit 0' TERM; sleep 600 & wait"  # else its end would take long
IDLE = {"image": real_bench.BASE_IMAGE, "command": ["sh", "-c", WAITS]}
SICK = IDLE | {
    "command": ["sh", "-c", f"echo I need a disk; {WAITS}"],
    "healthcheck": {"test": "echo not yet; exit 1"},
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an app that has no target.yaml yet."""
    folder = tmp_path_factory.mktemp("apps") / "shop"
    folder.mkdir()
    dockerfile = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nCOPY app.py /app/\nUSER app\n"
    texts = {"app.py": APP, "uwsgi.ini": INI, "Dockerfile": dockerfile}
    for name, text in {**texts, ".dockerignore": "target.yaml\nuwsgi.ini\n"}.items():
        (folder / name).write_text(text)
    return folder


def describe(shop: Path, mode: str, **fields: object) -> None:
    env = {"MODE": mode, "PRICES_URL": "https://prices.example/today"}
    own = {"name": "shop", "description": "a shop", "build": ".", "env": env}
    (shop / "target.yaml").write_text(yaml.safe_dump(own | fields))


@pytest.mark.parametrize(
    ("mode", "fields", "told"),
    [
        (
            "sick",
            {"services": {"db": SICK}},
            ["service db was not healthy (its test: exit 1: not yet)", "  I need a disk"],
        ),
        ("key", {}, ["KeyError: 'SHOP_KEY'", "reads the variable SHOP_KEY"]),
        ("settings", {}, ["ImproperlyConfigured: Set the SHOP_KEY environment variable"]),
        ("login", {}, ["GET / on port 8000 with 302 only", "the health path answers 302"]),
        ("hosts", {}, ["GET / on port 8000 with 400 only", "ALLOWED_HOSTS", "`host_header`"]),
        ("port", {"port": 9000}, ["nothing listens on port 9000", "correct `port`"]),
        ("outside", {}, ["a host that is no service", "prices.example"]),
        ("outside", {"services": {"cache": IDLE}}, ["a host that is no service", "prices.example"]),
    ],
)
def test_a_check_says_within_a_minute_what_does_not_work(
    shop: Path, environ: dict[str, str], mode: str, fields: dict[str, object], told: list[str]
) -> None:
    describe(shop, mode, **fields)
    ended: list[Ended] = []

    def attempt() -> float:
        ended.append(tuner_app("check", str(shop), cwd=shop, environ=environ))
        return ended[-1].seconds

    assert quickest(60, attempt) < 60
    assert ended[-1].exit_code == 1, ended[-1]
    assert [words for words in told if words not in ended[-1].err] == [], ended[-1].err


def test_a_check_of_an_app_that_works_says_so(shop: Path, environ: dict[str, str]) -> None:
    describe(shop, "hosts", host_header="shop.example", services={"cache": IDLE})
    ended = tuner_app("check", ".", cwd=shop, environ=environ)
    assert ended.exit_code == 0, ended.err
    assert ended.out.startswith("ok: shop works; ")
    assert "services cache\n" in ended.out


def test_the_check_of_a_shipped_app_with_its_database_says_ok(
    environ: dict[str, str], tmp_path: Path
) -> None:
    ended = tuner_app("check", "wagtail-site", cwd=tmp_path, environ=environ)
    if any(words in ended.err for words in UNREACHABLE):
        pytest.skip(f"needs package indexes to build the image: {ended.err}")
    assert ended.exit_code == 0, ended.err
    assert ended.out.startswith("ok: wagtail-site works; ")


def test_a_check_proposes_a_stub_with_which_the_app_works(
    shop: Path, environ: dict[str, str]
) -> None:
    describe(shop, "outside")
    first = tuner_app("check", ".", cwd=shop, environ=environ)
    assert "outside: prices.example" in first.err
    describe(shop, "outside", **yaml.safe_load(first.out))
    second = tuner_app("check", ".", cwd=shop, environ=environ)
    assert second.exit_code == 0, second.err
    assert "services prices-example\n" in second.out
    assert "outside:" not in second.err


@dataclass(frozen=True)
class Project:
    """A compose file, and what its images stand for; `app` is that of the app."""

    name: str
    app: str
    options: tuple[str, ...] = ()
    images: Mapping[str, str] = field(default_factory=dict)


PROJECTS = (
    Project(
        "pings",
        "docker-web",
        options=("--compose", "docker/docker-compose.yml"),
        images={"postgres:16": "postgres"},
    ),
    Project(
        "translate",
        "translate/server:5.9",
        options=("--service", "translate", "--ini", "production.ini"),
        images={"postgres:17-alpine": "postgres", "valkey/valkey:8-alpine": "redis"},
    ),
    Project(
        "metasearch",
        "docker.io/metasearch/metasearch:2025.1",
        images={"docker.io/valkey/valkey:8-alpine": "redis"},
    ),
    Project(
        "bookmarks", "keeper/bookmarks:1.41-plus", options=("--ini", "uwsgi.ini", "--copy-data")
    ),
)


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Images of the apps, of PostgreSQL and of Redis, by what they stand for: their ids."""
    home = tmp_path_factory.mktemp("stand-ins")
    whole = Path(shutil.copytree(HERE / "stand_in", home / "stand-in"))
    for service in ("postgres", "redis"):
        shutil.copytree(TESTS.parent / "target_apps" / "django-shop" / service, whole / service)
    as_official(whole)
    services = {name: {"build": name} for name in ("postgres", "redis")}
    target = Target.model_validate(
        {
            "target_app": "stand-in",
            "services": services,
            "command": DEFAULT_COMMAND,
            "memory_per_process_mb": 30,
        }
    )
    with real_bench.engine(apps=home.joinpath) as engine:
        images = engine._host.images
        try:
            app = images.find(target).id
            return {"app": app} | {name: images.find_service(target, name).id for name in services}
        except TargetFailed as failure:
            if any(words in failure.log_tail for words in UNREACHABLE):
                pytest.skip(f"needs package indexes to build the images: {failure.message}")
            raise


def as_official(folder: Path) -> None:
    """Let the images understand what the official ones do."""
    entrypoint = folder / "postgres" / "entrypoint.sh"
    text = entrypoint.read_text()
    assert "initdb --" in text
    named = text.replace("initdb --", 'initdb --username="${POSTGRES_USER:-postgres}" --')
    entrypoint.write_text(named)
    with (folder / "redis" / "Dockerfile").open("a") as file:
        for program in ("server", "cli"):
            file.write(f"RUN ln -s /usr/bin/redis-{program} /usr/local/bin/valkey-{program}\n")


@contextmanager
def tagged(names: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Name images as a compose file does; another name where the machine has an image of that."""
    client = docker.APIClient(version="auto", **kwargs_from_env())
    given: dict[str, str] = {}
    try:
        for name, image in names.items():
            try:
                client.inspect_image(name)  # type: ignore[no-untyped-call]  # untyped in types-docker
                given[name] = f"uwsgi-tuner/stand-in:{uuid.uuid4().hex[:12]}"
            except ImageNotFound:
                given[name] = name
            repository, _, tag = given[name].partition(":")
            client.tag(image, repository, tag or "latest")
        yield given
    finally:
        for name in given.values():
            client.remove_image(name)
        client.close()


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_a_compose_file_becomes_an_app_that_works(
    project: Project, stand_ins: dict[str, str], environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / project.name
    shutil.copytree(TESTS / "unit" / "compose" / "files" / project.name, folder)
    if project.name == "bookmarks":
        fill_bookmarks(folder / "data")
    names = {project.app: stand_ins["app"]} | {
        name: stand_ins[role] for name, role in project.images.items()
    }
    with tagged(names) as given:
        made = tuner_app("init", *project.options, cwd=folder, environ=environ)
        assert made.exit_code == 0, made.err
        target = folder / "target.yaml"
        for name, other in given.items():
            assert f"image: {name}\n" in target.read_text()
            target.write_text(target.read_text().replace(f"image: {name}\n", f"image: {other}\n"))
        ended = tuner_app("check", str(folder), cwd=folder, environ=environ)
    assert ended.exit_code == 0, ended.err
    assert ended.out.startswith(f"ok: {project.name} works; ")
    services = yaml.safe_load(target.read_text()).get("services", {})
    assert (f"services {', '.join(services)}\n" in ended.out) == bool(services)


def fill_bookmarks(data: Path) -> None:
    """A database that the app's own user may write."""
    with sqlite3.connect(data / "db.sqlite3") as connection:
        connection.execute("CREATE TABLE bookmarks (url text)")
        connection.executemany("INSERT INTO bookmarks VALUES (?)", [("https://example.com/",)] * 3)
    connection.close()
    data.chmod(0o777)
    (data / "db.sqlite3").chmod(0o666)
