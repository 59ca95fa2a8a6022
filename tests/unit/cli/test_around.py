"""What stands around uWSGI, from Dockerfiles, nginx's file, compose files and manifests."""

import pytest

from tuner.cli.around import environ_of, grace_of, nginx_limit, seconds_of
from tuner.uwsgi.lint import TimeLimit


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("90", 90.0), ("90s", 90.0), ("1m30s", 90.0), ("1m 30s", 90.0), ("500ms", 0.5)),
        *(("1h", 3600.0), ("1.5h", 5400.0), ("2d", 172_800.0), ("0", 0.0)),
        *(
            ("soon", None),
            ("", None),
            ("1x", None),
            ("-1", None),
            ("$wait", None),
            ("1" * 5_000 + "x", None),
        ),
    ],
)
def test_a_duration_is_read_as_nginx_and_compose_read_it(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


IN_FRONT = """\
http {
    proxy_read_timeout 20s;  # of all servers
    server {
        location / { proxy_pass http://app; }
        location /slow {
            proxy_read_timeout "1m30s";
            proxy_pass http://app;
        }
        location /else { proxy_read_timeout 10m; root /srv; }
    }
}
"""


def test_the_longest_location_that_passes_requests_on_counts() -> None:
    assert nginx_limit(IN_FRONT, "n.conf") == TimeLimit("proxy_read_timeout", 90, "n.conf:6")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("location / { uwsgi_pass app:1; }", TimeLimit("uwsgi_read_timeout", 60, "n.conf:1")),
        # Each kind of pass has a limit of its own, wherever it stands in its block.
        (
            "proxy_read_timeout 5;\nlocation / {\n  uwsgi_pass app:1;\n  uwsgi_read_timeout 7;\n}",
            TimeLimit("uwsgi_read_timeout", 7, "n.conf:4"),
        ),
        ("location / { # uwsgi_pass app:1;\n}", None),
        ("location / { return 200 'uwsgi_pass app; }'; }", None),
        ("location / { fastcgi_pass app:1; }", None),
        ("location / { proxy_pass http://a; proxy_read_timeout $wait; }", None),
        ("", None),
    ],
)
def test_a_location_has_the_limit_of_its_pass(text: str, limit: TimeLimit | None) -> None:
    assert nginx_limit(text, "n.conf") == limit


@pytest.mark.parametrize(
    ("text", "said"),
    [("a {", "no end"), ("a; }", "closes no block"), ("#" * 1_000_001, "more than")],
)
def test_what_is_no_file_of_nginx_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        nginx_limit(text, "n.conf")


COMPOSE = """\
services:
  web: {image: shop, command: uwsgi --ini u.ini, stop_grace_period: 1m}
  db: {image: "postgres:16"}
"""
MANIFEST = """\
kind: Service
metadata: {name: shop}
spec: {ports: [{port: 80}]}
---
kind: Deployment
metadata: {name: shop}
spec:
  template:
    spec: {terminationGracePeriodSeconds: 45, containers: [{image: shop}]}
"""


def compose(**web: object) -> str:
    return f"services: {{web: {web}}}"


@pytest.mark.parametrize(
    ("text", "service", "limit"),
    [
        (COMPOSE, "", TimeLimit("stop_grace_period", 60, "f.yaml, service web")),
        (COMPOSE, "db", TimeLimit("stop_grace_period", 10, "f.yaml, service db")),
        (compose(build="."), "", TimeLimit("stop_grace_period", 10, "f.yaml, service web")),
        (compose(stop_signal="SIGQUIT"), "", None),
        (MANIFEST, "", TimeLimit("terminationGracePeriodSeconds", 45, "f.yaml, shop")),
        (
            "kind: Pod\nspec: {containers: [{image: uwsgi}]}",
            "",
            TimeLimit("terminationGracePeriodSeconds", 30, "f.yaml, Pod"),
        ),
    ],
)
def test_the_time_between_two_signals(text: str, service: str, limit: TimeLimit | None) -> None:
    assert grace_of(text, "f.yaml", service) == limit


def test_the_one_that_runs_uwsgi_is_chosen() -> None:
    beside = "{name: proxy, image: nginx}, {name: app, image: shop, command: [/bin/uwsgi, -p, 4]}"
    pods = f"kind: Pod\nspec: {{containers: [{beside}]}}\n---\n{MANIFEST}"
    found = grace_of(pods, "f.yaml")
    assert found == TimeLimit("terminationGracePeriodSeconds", 30, "f.yaml, Pod")


def test_a_document_that_aliases_make_endless_is_read() -> None:
    laughs = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    web = "services: {web: {build: ., command: *l11, environment: *l11}}"
    found = grace_of(f"l0: &l0 [a]\n{laughs}\n{web}", "f.yaml")
    assert found == TimeLimit("stop_grace_period", 10, "f.yaml, service web")


@pytest.mark.parametrize(
    ("text", "service", "said"),
    [
        ("services: {a: {build: .}, b: {build: .}}", "", "after a colon: a, b"),
        (COMPOSE, "cache", "it has no 'cache'; it has: web, db"),
        ("kind: Service", "", "no service and no pod"),
        ("- [", "", "no YAML"),
        ("services: [web]", "", "no service and no pod"),
        (compose(stop_grace_period="soon"), "", "'soon' of f.yaml, service web is no duration"),
    ],
)
def test_what_does_not_say_it_is_refused(text: str, service: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        grace_of(text, "f.yaml", service)


TIANGOLO = {"UWSGI_INI": "/app/uwsgi.ini", "UWSGI_CHEAPER": "2", "UWSGI_PROCESSES": "16"}


@pytest.mark.parametrize(
    ("dockerfile", "environ"),
    [
        ("FROM python:3.12\nRUN pip install uwsgi\n", {}),
        ("FROM a\nENV A=1 B=\"x y\" \\\n    # c\n    C='z'\n", {"A": "1", "B": "x y", "C": "z"}),
        ("FROM a\nENV UWSGI_CHEAPER 2\nenv X a b\n", {"UWSGI_CHEAPER": "2", "X": "a b"}),
        ("ARG N=4\nFROM a\nENV P=$N Q=${M:-7}\nENV R=${P}0\n", {"P": "4", "Q": "7", "R": "40"}),
        ("FROM a AS One\nENV A=1\nFROM b\nENV B=2\nFROM one\nENV C=3\n", {"A": "1", "C": "3"}),
        ("FROM tiangolo/uwsgi-nginx-flask:python3.12\nCOPY . /app\n", TIANGOLO),
        (
            "ARG V=3.11\nFROM --platform=linux/amd64 docker.io/tiangolo/uwsgi-nginx:python$V AS x\n"
            "ENV UWSGI_CHEAPER=0\n",
            {**TIANGOLO, "UWSGI_CHEAPER": "0"},
        ),
        ("FROM tiangolo/uwsgi-nginx@sha256:00\nFROM scratch\n", {}),
        ("", {}),
    ],
)
def test_an_image_sets_the_environment_of_its_dockerfile_and_its_base(
    dockerfile: str, environ: dict[str, str]
) -> None:
    assert environ_of(dockerfile) == environ


def test_an_open_quote_in_a_dockerfile_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="quotation"):
        environ_of("FROM a\nENV A='b\n")
