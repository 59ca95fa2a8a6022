"""Which names an arm has, and what `init` says of the others."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made

Project = Callable[..., Path]

WEB = "services:\n  web:\n    image: shop\n    command: uwsgi --http :8000 -p 2\n"

NO_HOST = "to do: no arm has this host"
LOOPBACK = "to do: the container itself"


@pytest.mark.parametrize(
    ("variable", "value", "host", "told"),
    [
        ("AUTH_URL", "https://auth.shop.example/realms", "auth.shop.example", NO_HOST),
        ("DB_HOST", "shop.x1.rds.amazonaws.com", "shop.x1.rds.amazonaws.com", NO_HOST),
        ("SEARCH_URL", "http://search:9200", "search", NO_HOST),
        ("DB_HOST", "127.0.0.1", "127.0.0.1", LOOPBACK),
        ("BROKER_URL", "redis://localhost:6379/0", "localhost", LOOPBACK),
        ("HOOK_URL", "http://web:8000/hook", "web", "to do: the app itself"),
    ],
)
def test_a_host_that_no_arm_has_is_to_do(
    project: Project, variable: str, value: str, host: str, told: str
) -> None:
    project(compose=f"{WEB}    environment: {{{variable}: '{value}'}}\n")
    assert made().notes[f"web.env.{variable} ({host})"].startswith(told)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DATABASE_URL", "postgres://a@db/a"),
        ("SELF_URL", "http://app:8000/"),
        ("SITE_URL", "https://shop.example"),
        ("CSRF_TRUSTED_ORIGINS", "https://shop.example"),
        ("MEDIA_URL", "http://localhost:8000/media"),
        ("BIND_HOST", "127.0.0.1"),
    ],
)
def test_other_hosts_are_not(project: Project, variable: str, value: str) -> None:
    db = "  db: {image: 'postgres:17'}\n"
    project(compose=f"{WEB}    environment: {{{variable}: '{value}'}}\n{db}")
    assert not [what for what in made(service="web").notes if what.startswith("web.env.")]


def test_a_stub_is_proposed_for_http(project: Project) -> None:
    env = "{A_URL: 'https://a.example/x', DB_URL: 'postgres://u@b.example/x'}"
    project(compose=f"{WEB}    environment: {env}\n    extra_hosts: ['c.example:10.0.0.1']\n")
    found = made()
    assert "#       hosts: [a.example]" in found.text
    assert "hosts: [b.example]" not in found.text
    assert found.notes["web.extra_hosts (c.example)"].startswith(NO_HOST)


@pytest.mark.parametrize(
    "text",
    [
        "server { location / { uwsgi_pass web:3031; } }",
        "upstream u { server web:8000; } server { location / { proxy_pass http://u; } }",
        "set $up web; location / { proxy_pass http://$up:8000; }",
    ],
)
def test_what_passes_requests_to_the_app_is_in_front_whatever_its_image(
    project: Project, text: str
) -> None:
    web = WEB + "    environment: {FRONT_HOST: edge}\n"
    edge = "  edge: {image: own/edge, volumes: ['./edge.conf:/etc/edge.conf:ro']}\n"
    folder = project(compose=web + edge)
    (folder / "edge.conf").write_text(text)
    found = made(service="web")
    assert found.app.services == {}
    assert found.notes["service edge"].startswith("left out: a proxy in front of the app")


def test_a_service_that_passes_requests_to_another_is_none(project: Project) -> None:
    web = WEB + "    depends_on: [api]\n"
    api = "  api: {image: own/api, volumes: ['./api.conf:/etc/api.conf:ro']}\n"
    folder = project(compose=web + api)
    (folder / "api.conf").write_text("location / { proxy_pass http://backend; }  # not web")
    assert [*made(service="web").app.services] == ["api"]


def test_one_env_file_of_both_is_no_call_of_the_app(project: Project) -> None:
    both = "    env_file: both.env\n"
    db = "  db:\n    image: postgres:17\n" + both
    folder = project(compose=f"{WEB}{both}    depends_on: [db]\n{db}")
    (folder / "both.env").write_text("APP_HOST=web\n")
    assert "service db" not in made(service="web").notes


def test_a_step_has_the_variables_that_the_app_has_not(project: Project) -> None:
    once = (
        "  setup: {image: shop, command: /setup.sh, user: root, environment: {A: 1, B: b c,"
        " API_TOKEN: '${API_TOKEN}'}}\n"
    )
    web = WEB + "    environment: {A: 1}\n"
    wait = "    depends_on: {setup: {condition: service_completed_successfully}}\n"
    project(compose=web + wait + once)
    found = made(service="web")
    (step,) = found.app.prepare
    assert step.run == ("env", "B=b c", "/setup.sh")
    assert found.notes["setup.user"].startswith("to do: ")
    assert found.notes["setup.env.API_TOKEN"].startswith("to do: a step has the app's secrets")
