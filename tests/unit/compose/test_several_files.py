"""Several compose files as one, in the manner of Compose."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made, mistakes
from tuner.nouns.model import FromWorker

Project = Callable[..., Path]

WEB = """\
services:
  web:
    image: shop:1
    command: uwsgi --http :8000 --module shop
    environment: [A=base, B=base]
    volumes: ["old:/data", "more:/more"]
    tmpfs: /run
    depends_on: [db]
  db: {image: "postgres:17", environment: {POSTGRES_PASSWORD: x}}
"""


def two(project: Project, over: str, **texts: str) -> Path:
    """A folder with compose.yml and over.yml."""
    folder = project(compose=WEB, **texts)
    (folder / "over.yml").write_text(over)
    return folder


BOTH = (Path("compose.yml"), Path("over.yml"))


def test_a_later_file_changes_an_earlier_one(project: Project) -> None:
    over = """\
services:
  web:
    image: shop:2
    command: [uwsgi, --http, ":9000"]
    environment: {B: over, C: over}
    volumes: ["new:/data"]
    tmpfs: [/tmp]
    depends_on: {cache: {condition: service_started}}
  cache: {image: "redis:7"}
"""
    two(project, over)
    found = made(compose=BOTH)
    app = found.app
    assert (app.image, app.port) == ("shop:2", 9000)
    assert app.env == {"A": "base", "B": "over", "C": "over"}
    assert app.volumes == ("new:/data", "more:/more")
    assert app.tmpfs == ("/run", "/tmp")
    assert sorted(app.services) == ["cache", "db"]
    assert app.services["db"].env == {"POSTGRES_PASSWORD": "x"}


def test_a_later_file_takes_away_and_replaces(project: Project) -> None:
    over = (
        "services:\n  web:\n    depends_on: !reset []\n    environment: !override {C: only}\n"
        "    volumes: !override ['one:/one']\n"
    )
    two(project, over)
    app = made(compose=BOTH).app
    assert (app.env, app.volumes, app.services) == ({"C": "only"}, ("one:/one",), {})


def test_one_file_may_have_these_tags_too(project: Project) -> None:
    project(compose=WEB.replace("depends_on: [db]", "depends_on: !reset [db]"))
    assert made().app.services == {}


def test_the_paths_of_all_files_start_from_the_first(project: Project) -> None:
    folder = project(compose=WEB)
    (folder / "deploy").mkdir()
    (folder / "deploy/over.yml").write_text(
        "services: {web: {env_file: own.env, volumes: ['./own.conf:/etc/own.conf:ro']}}"
    )
    (folder / "own.env").write_text("OWN=1\n")
    (folder / "own.conf").write_text("a\n")
    app = made(compose=(Path("compose.yml"), Path("deploy/over.yml"))).app
    assert app.env["OWN"] == "1"
    assert app.files == {"/etc/own.conf": "a\n"}


def test_an_override_beside_the_file_is_read_where_the_file_is_not_given(
    project: Project,
) -> None:
    folder = project(compose=WEB)
    (folder / "docker-compose.override.yml").write_text("services: {web: {image: 'shop:2'}}")
    found = made()
    assert found.app.image == "shop:2"
    alone = made(Path("alone"), compose=(Path("compose.yml"),))
    assert alone.app.image == "shop:1"
    assert "override" not in alone.text


@pytest.mark.parametrize("place", ["shell", ".env"])
def test_the_files_of_a_variable(project: Project, place: str) -> None:
    folder = two(project, "services: {web: {image: 'shop:2'}}")
    name, value = "COMPOSE_FILE", "compose.yml:over.yml"
    if place == ".env":
        (folder / ".env").write_text(f"{name}={value}\n")
    assert made(environ={name: value} if place == "shell" else {}).app.image == "shop:2"


def test_a_file_that_is_included_has_its_own_folder_and_variables(project: Project) -> None:
    folder = project(compose=f"include: [data/db.yml]\n{WEB[: WEB.index('  db:')]}", env="A=a\n")
    (folder / "data").mkdir()
    (folder / "data/.env").write_text("TAG=16\nA=b\n")
    (folder / "data/own.env").write_text("OWN=1\n")
    (folder / "data/db.yml").write_text(
        "services: {db: {image: 'postgres:${TAG}', env_file: own.env, environment: {A: '${A}'}}}"
    )
    db = made().app.services["db"]
    assert (db.image, db.env) == ("postgres:16", {"OWN": "1", "A": "a"})


def test_an_include_in_the_long_form(project: Project) -> None:
    include = (
        "include:\n  - {path: [db.yml, over.yml], project_directory: data, env_file: data.env}\n"
    )
    folder = two(project, "services: {db: {environment: {B: '${B}'}}}")
    (folder / "compose.yml").write_text(include + WEB[: WEB.index("  db:")])
    (folder / "data").mkdir()
    (folder / "data.env").write_text("B=b\n")
    (folder / "data/own.env").write_text("OWN=1\n")
    (folder / "db.yml").write_text("services: {db: {image: 'postgres:17', env_file: own.env}}")
    assert made().app.services["db"].env == {"OWN": "1", "B": "b"}


@pytest.mark.parametrize(
    ("include", "told"),
    [
        ("[gone.yml]", "compose.yml:1: include.0: gone.yml: No such file"),
        ("[compose.yml]", "compose.yml:1: include.0: it names no file, or one that includes it"),
        ("[{path: over.yml, env_file: gone.env}]", "compose.yml:1: include.0: gone.env: No such"),
    ],
)
def test_an_include_that_cannot_be_read(project: Project, include: str, told: str) -> None:
    folder = two(project, "services: {}")
    (folder / "compose.yml").write_text(f"include: {include}\n{WEB}")
    (found,) = mistakes()
    assert found.startswith(told)


def test_an_env_file_is_taken_as_it_is_where_it_says_so(project: Project) -> None:
    raw = WEB.replace("    tmpfs:", "    env_file: [{path: own.env, format: raw}]\n    tmpfs:")
    folder = project(compose=raw)
    (folder / "own.env").write_text("# a\nC=it's $literal \"x\"\nD='1'\nE\n")
    app = made().app
    assert (app.env["C"], app.env["D"]) == ('it\'s $literal "x"', "'1'")
    assert not isinstance(app.env["C"], FromWorker)
