"""How an app is reached, as its file, its variables and its health check say it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made

Project = Callable[..., Path]

WEB = "services:\n  web:\n    image: shop\n    command: uwsgi --ini /u.ini\n"
MOUNT = "    volumes: ['./uwsgi.ini:/u.ini:ro']\n"
INI = "[uwsgi]\nhttp-socket = :8000\n"


@pytest.mark.parametrize(
    ("test", "path", "host"),
    [
        ("curl -f http://localhost:8000/ready", "/ready", None),
        ("curl -f localhost:8000/healthz || exit 1", "/healthz", None),
        ("curl -fsS -H 'Host: shop.example' 127.0.0.1/up", "/up", "shop.example"),
        ("uwsgi_curl 127.0.0.1:8000 /ping", "/ping", None),
        ("uwsgi_curl -t 5 127.0.0.1:8000 shop.example/ping", "/ping", None),
        (
            'exec 3<>/dev/tcp/127.0.0.1/8000 && printf "GET /_health/ HTTP/1.1\\\\r\\\\n" >&3',
            "/_health/",
            None,
        ),
    ],
)
def test_the_path_of_a_health_check(
    project: Project, test: str, path: str, host: str | None
) -> None:
    quoted = test.replace('"', '\\"')
    project(compose=f'{WEB}{MOUNT}    healthcheck: {{test: [CMD, sh, -c, "{quoted}"]}}\n', ini=INI)
    found = made()
    assert (found.app.health_path, found.app.host_header) == (path, host)


@pytest.mark.parametrize("test", ["test -f /tmp/ready", "pg_isready -h localhost", "/opt/check"])
def test_a_health_check_without_a_path_is_to_be_told(project: Project, test: str) -> None:
    project(compose=f"{WEB}{MOUNT}    healthcheck: {{test: '{test}'}}\n", ini=INI)
    assert made().notes["web.healthcheck"].startswith("to do: it names no URL")


@pytest.mark.parametrize(
    ("threads", "is_safe", "note"),
    [
        ("%k", True, None),
        ("$(WEB_THREADS)", True, None),
        ("1", False, None),
        ("$(GONE)", False, "threads = $(GONE)"),
    ],
)
def test_threads_of_a_variable(
    project: Project, threads: str, is_safe: bool, note: str | None
) -> None:
    environment = "    environment: {WEB_THREADS: '8'}\n"
    project(compose=f"{WEB}{MOUNT}{environment}", ini=f"{INI}threads = {threads}\n")
    found = made()
    assert found.app.thread_safe is is_safe
    assert [what for what in found.notes if what.startswith("threads")] == [note] * bool(note)


def test_the_port_of_a_variable_of_the_dockerfile(project: Project) -> None:
    project(
        compose="services: {web: {build: .}}",
        docker="FROM a\nENV PORT=9005\nCMD uwsgi uwsgi.ini\n",
        ini="[uwsgi]\nhttp = :$(PORT)\n",
    )
    assert made().app.port == 9005


def test_a_file_that_speaks_https_only_is_to_be_changed(project: Project) -> None:
    ports = "    ports: ['443:8443']\n"
    project(compose=WEB + MOUNT + ports, ini="[uwsgi]\nhttps = :8443,/c.pem,/k.pem\n")
    found = made()
    assert found.app.port == 8000
    assert "HTTPS only" in found.notes["web https :8443,/c.pem,/k.pem"]


def test_variables_that_the_file_uses_are_no_options_to_move(project: Project) -> None:
    variables = "{UWSGI_HARAKIRI: '120', UWSGI_WORKERS_COUNT: '4', UWSGI_LISTEN: '8'}"
    project(
        compose=f"{WEB}{MOUNT}    environment: {variables}\n",
        ini=f"{INI}harakiri = $(UWSGI_HARAKIRI)\nif-env = UWSGI_WORKERS_COUNT\nprocesses = %(_)\n"
        "endif =\n",
    )
    notes = made().notes
    assert notes["web.env.UWSGI_HARAKIRI"].startswith("changed: uwsgi.ini:3 has it already")
    assert "uwsgi.ini:4 uses it" in notes["web.env.UWSGI_WORKERS_COUNT"]
    assert notes["web.env.UWSGI_LISTEN"].startswith("to do: uWSGI reads it as listen")
