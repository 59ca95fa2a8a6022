"""The variables of a container: which are secrets, which are empty, and which are not set."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made, mistakes
from tuner.nouns.model import FromWorker

Project = Callable[..., Path]

WEB = "services:\n  web:\n    image: shop\n    command: uwsgi --http :8000 -p 2\n"


def test_an_empty_secret_stays_empty_and_one_without_a_value_is_not_set(project: Project) -> None:
    folder = project(
        compose=WEB
        + "    env_file: own.env\n    environment: [SMTP_PASSWORD=, COOKIE_EXPIRATION, ACCESS_KEY,"
        " 'MAIL_PASS=${MAIL_PASS}']\n"
    )
    (folder / "own.env").write_text("REDIS_PASSWORD=\n")
    found = made()
    assert found.app.env == {
        "REDIS_PASSWORD": "",
        "SMTP_PASSWORD": "",
        "MAIL_PASS": FromWorker(from_worker="MAIL_PASS"),
    }
    assert found.notes["web.env REDIS_PASSWORD, SMTP_PASSWORD"].startswith("changed: empty")
    assert found.notes["web.env.COOKIE_EXPIRATION"].endswith("as with Compose, it is not set")
    assert found.notes["web.env.ACCESS_KEY"].startswith("to do: it has no value")
    asked = found.notes["web.env.MAIL_PASS = {from_worker: MAIL_PASS}"]
    assert "TUNER_SECRETS_ALLOWED" in asked


def test_what_is_said_about_a_secret_is_none(project: Project) -> None:
    project(
        compose=WEB
        + "    environment: {SSH_PRIVATE_KEY_PATH: /keys/id, SESSION_COOKIE_AGE: '60', DB_PASS: x,"
        " DB_PASSWORD_FILE: /run/secrets/db, A_PATH: 'https://u:p@a.example/x'}\n"
    )
    assert "web.env DB_PASS, A_PATH" in made().notes


def test_an_image_whose_variable_has_no_value(project: Project) -> None:
    folder = project(compose=WEB.replace("image: shop", "image: shop:${TAG}"))
    told = "compose.yml:3: services.web.image: TAG has no value in the shell and in .env: give it"
    (found,) = mistakes()
    assert found == f"{told} a value in .env or in the shell"
    (folder / ".env.example").write_text("TAG=1\n")
    (found,) = mistakes()
    assert found.endswith("; .env.example has examples: copy it to .env")
    assert made(image="shop:2").app.image == "shop:2"


def test_an_image_that_has_no_name(project: Project) -> None:
    project(compose=WEB.replace("image: shop", "image: 'a b'"))
    (found,) = mistakes()
    assert found.startswith("compose.yml:3: services.web.image: not an image reference")


def test_an_env_file_that_is_not_there_has_an_example(project: Project) -> None:
    folder = project(compose=WEB + "    env_file: web.env\n")
    (folder / "web.env.dist").write_text("A=1\n")
    told = made().notes["web.env_file web.env"]
    assert told == "to do: it is not there; web.env.dist has examples: copy it to web.env"


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        ("conf.py", "SECRET_KEY = 'prod'\n", True),
        ("conf.py", "DB = 'postgres://u:p@db.example/x'\n", True),
        ("conf.py", "DB_PASS = 'x'\n", True),
        ("k.pem", "x\n", True),
        ("conf.py", "DEBUG = False\n", False),
    ],
)
def test_a_file_with_secrets_is_named_and_only_its_owner_reads_the_copy(
    project: Project, name: str, text: str, *, is_told: bool
) -> None:
    folder = project(compose=f"{WEB}    volumes: [./{name}:/srv/{name}:ro]\n")
    (folder / name).write_text(text)
    found = made(Path("own"))
    assert (f"web.files /srv/{name}" in found.notes) is is_told
    assert (folder / "own" / name).stat().st_mode & 0o777 == (0o600 if is_told else 0o644)


def test_a_user_without_a_value_is_left_to_the_image(project: Callable[..., Path]) -> None:
    project(
        compose='services: {web: {image: shop, user: "$UID_OF_WEB:$GID_OF_WEB",'
        " command: uwsgi --http-socket :80 --module shop}}"
    )
    found = made()
    assert found.app.user is None
    assert found.notes["web.user"].startswith("to do: ")
