"""How `init` finds the start of a service that only names an image, and of functions in scripts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made, mistakes
from tuner.nouns.model import DEFAULT_COMMAND

INI = "[uwsgi]\nhttp-socket = :8000\nmodule = shop\n"
START = "#!/bin/sh\npython manage.py migrate\nexec uwsgi --ini /srv/prod.ini -p ${WORKERS:-3}\n"
DOCKER = 'FROM python:3.12\nWORKDIR /srv\nCOPY docker/ /srv/\nCMD ["/srv/start.sh"]\n'
PUBLISHED = "services: {web: {image: 'org/shop:1.2'}, db: {image: 'postgres:17'}}"

Files = dict[str, str]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Files], Path]:
    """A folder with these files, as the current one."""

    def enter(files: Files) -> Path:
        for name, text in files.items():
            (tmp_path / "shop" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "shop" / name).write_text(text)
        monkeypatch.chdir(tmp_path / "shop")
        return tmp_path / "shop"

    return enter


Checkout = Callable[[Files], Path]


# ---- Functions


UTILS = """\
function start_uwsgi {
  if [ "$TEMPLATE" ]; then
    envsubst < /srv/prod.ini > /srv/prod.ini
  fi
  uwsgi --ini /srv/prod.ini
}
start_nginx() { nginx -g 'daemon off;'; }
"""
BY_MODULE = """\
#!/bin/bash
source utils.sh
if [ "$MODULE" = dashboard ]; then
  python manage.py migrate
  start_uwsgi
else
  start_nginx
fi
"""


def test_a_function_counts_where_it_is_called(checkout: Checkout) -> None:
    docker = (
        "FROM python:3.12\nWORKDIR /srv\nCOPY common/ /srv/\nENV MODULE={}\nCMD bash start.sh\n"
    )
    checkout(
        {
            "compose.yml": "services: {dashboard: {build: {context: ., dockerfile: one}},"
            " front: {build: {context: ., dockerfile: two}}}",
            "one": docker.format("dashboard"),
            "two": docker.format("front"),
            "common/utils.sh": UTILS,
            "common/start.sh": BY_MODULE,
            "common/prod.ini": INI,
        }
    )
    found = made()
    assert found.app.description == "dashboard of compose.yml"
    assert found.ini == INI
    assert str(found.app.ini_path) == "/srv/prod.ini"  # the image starts as always


def test_a_function_that_is_never_called_starts_nothing(checkout: Checkout) -> None:
    script = "serve() {\n  exec uwsgi --ini /srv/prod.ini\n}\nexec celery worker\n"
    checkout(
        {
            "compose.yml": "services: {web: {build: ., command: /srv/start.sh}}",
            "Dockerfile": DOCKER,
            "docker/start.sh": script,
            "docker/prod.ini": INI,
        }
    )
    (told,) = mistakes()
    assert "does not show how uwsgi starts" in told


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ('main() { exec "$@"; }\nexport A=1\nmain "$@"\n', ("/srv/entry.sh", *DEFAULT_COMMAND)),
        ('serve() { exec uwsgi "$@"; }\nserve --ini /srv/prod.ini\n', DEFAULT_COMMAND),
        ('serve() { uwsgi --ini /srv/prod.ini; }\n"$1"\n', DEFAULT_COMMAND),
    ],
)
def test_arguments_of_a_function(checkout: Checkout, script: str, command: tuple[str, ...]) -> None:
    words = "uwsgi --ini /srv/prod.ini" if command[0] == "/srv/entry.sh" else "serve"
    checkout(
        {
            "compose.yml": f"services: {{web: {{build: ., command: {words}}}}}",
            "Dockerfile": f'{DOCKER}ENTRYPOINT ["/srv/entry.sh"]\n',
            "docker/entry.sh": f"#!/bin/sh\n{script}",
            "docker/prod.ini": INI,
        }
    )
    assert made().app.command == command


def test_a_function_that_calls_itself_ends(checkout: Checkout) -> None:
    checkout(
        {
            "compose.yml": "services: {web: {build: .}}",
            "Dockerfile": DOCKER,
            "docker/start.sh": "again() { again; again; }\nagain\n",
        }
    )
    (told,) = mistakes()
    assert "does not show how uwsgi starts" in told


# ---- Images without a build


@pytest.mark.parametrize("image", ["org/shop:1.2", "org/shop:latest", "org/shop"])
def test_another_file_builds_the_image(checkout: Checkout, image: str) -> None:
    checkout(
        {
            "compose.yml": PUBLISHED,
            "docker-compose-build.yml": f"services: {{x: {{build: ., image: '{image}'}}}}",
            "Dockerfile": DOCKER,
            "docker/start.sh": START,
            "docker/prod.ini": INI,
        }
    )
    found = made()
    assert str(found.app.image) == "org/shop:1.2"
    assert found.ini == f"{INI}processes = 3\n"
    assert "its start is that of Dockerfile" in found.notes["web.image org/shop:1.2"]


def test_another_service_builds_the_image(checkout: Checkout) -> None:
    checkout(
        {
            "compose.yml": "services: {init: {build: ., image: shop, command: 'true'},"
            " web: {image: shop}}",
            "Dockerfile": DOCKER,
            "docker/start.sh": START,
            "docker/prod.ini": INI,
        }
    )
    assert made().app.description == "web of compose.yml"


def test_a_script_of_the_checkout_by_its_name(checkout: Checkout) -> None:
    checkout(
        {
            "compose.yml": "services: {web: {image: 'org/shop:1', command: /srv/app/start.sh},"
            " db: {image: 'postgres:17', command: /opt/start.sh}}",
            "docker/start.sh": START,
            "conf/prod.ini": INI,
        }
    )
    found = made()
    assert found.app.command == DEFAULT_COMMAND
    assert "docker/start.sh, the only file" in found.notes["/srv/app/start.sh in org/shop:1"]
    assert "conf/prod.ini, the only file" in found.notes["/srv/prod.ini in org/shop:1"]


def test_two_scripts_with_the_same_name_are_not_chosen_from(checkout: Checkout) -> None:
    checkout(
        {
            "compose.yml": "services: {web: {image: 'org/shop:1', command: /srv/start.sh}}",
            "a/start.sh": START,
            "b/start.sh": START,
        }
    )
    (told,) = mistakes()
    assert told.startswith("compose.yml:1: ")
    assert "runs /srv/start.sh, which is not here" in told
    assert "--command" in told


@pytest.mark.parametrize("place", ["Dockerfile", "docker/Dockerfile", "docker/web.Dockerfile"])
def test_the_dockerfile_of_the_folder_that_starts_uwsgi(checkout: Checkout, place: str) -> None:
    checkout(
        {
            "compose.yml": PUBLISHED,
            place: DOCKER,
            "front/Dockerfile": "FROM node:22\nCMD npm start\n",
            "docker/start.sh": START,
            "docker/prod.ini": INI,
        }
    )
    found = made(service="web")
    assert found.ini == f"{INI}processes = 3\n"
    assert f"its start is that of {place}" in found.notes["web.image org/shop:1.2"]


def test_a_dockerfile_in_the_folder_that_it_copies(checkout: Checkout) -> None:
    checkout(
        {
            "compose.yml": PUBLISHED,
            "web/Dockerfile": "FROM python:3.12\nCOPY start.sh u.ini /srv/\nCMD /srv/start.sh\n",
            "web/start.sh": "#!/bin/sh\nuwsgi /srv/u.ini\n",
            "web/u.ini": INI,
            "other/start.sh": START,
        }
    )
    assert made(service="web").ini == INI


def test_several_dockerfiles_that_start_uwsgi_are_named(checkout: Checkout) -> None:
    checkout(
        {
            "compose.yml": PUBLISHED,
            "a/Dockerfile": "FROM python:3.12\nCMD uwsgi --socket :1 -w a\n",
            "b/Dockerfile": "FROM python:3.12\nCMD uwsgi --socket :1 -w b\n",
        }
    )
    (told,) = mistakes(service="web")
    assert told.startswith("compose.yml:1: org/shop:1.2 has no `build`")
    assert "a/Dockerfile, b/Dockerfile" in told
    assert "--command" in told
