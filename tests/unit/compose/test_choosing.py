"""Which service `init` takes, and what it says where it cannot know."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import made, mistakes

Project = Callable[..., Path]

INI = "[uwsgi]\nhttp-socket = :8000\n"

UNKNOWN = """\
services:
  db: {image: "postgres:17", ports: ["5432:5432"], healthcheck: {test: pg_isready}}
  search: {image: "registry.example/team/opensearch:2", ports: ["9200"]}
  web:
    build: .
    ports: ["80:9000"]
    healthcheck: {test: curl localhost:9000/}
  beat: {build: ., command: celery beat}
  mail-worker: {build: ., ports: ["1"]}
  static: {image: "shop-static:1", expose: [3000]}
  front: {image: "nginx:1", ports: ["80:80"], volumes: ["./nginx.conf:/etc/nginx/nginx.conf:ro"]}
"""


def test_services_that_could_be_the_app_are_named_with_the_reasons(project: Project) -> None:
    folder = project(compose=UNKNOWN)
    (folder / "nginx.conf").write_text("location / { proxy_pass http://web:9000; }\n")
    (told,) = mistakes()
    assert told == (
        "--service: no service of compose.yml starts uwsgi, as far as its files show; these could"
        " be it: web (build, port 9000, health check, named by front), static (port 3000)"
    )


def test_services_that_start_uwsgi_are_named_with_the_lines(project: Project) -> None:
    folder = project(
        compose="services: {web: {build: ., command: /start.sh}, api: {image: a, command: uwsgi"
        " --http :1}, db: {image: postgres}}",
        docker="FROM a\nCOPY start.sh /\n",
    )
    (folder / "start.sh").write_text("#!/bin/sh\nexec uwsgi --http :8000\n")
    assert mistakes() == [
        "--service: several services of compose.yml start uwsgi: web (start.sh:2), api (its"
        " command): give one of them"
    ]
    assert made(service="web").app.build == "."


def test_other_compose_files_that_start_uwsgi_are_named(project: Project) -> None:
    folder = project(compose="services: {web: {image: a}, db: {image: postgres}}")
    prod = "services: {web: {image: a, command: uwsgi --http :8000}, db: {image: postgres}}"
    (folder / "docker-compose.prod.yml").write_text(prod)
    (folder / "compose.broken.yml").write_text("services: [")
    (told,) = mistakes()
    assert told.endswith(
        "other files here start uwsgi: docker-compose.prod.yml (web): give one with --compose"
    )


@pytest.mark.parametrize("more", ["", "---\napiVersion: v1\nkind: Service\n"])
def test_a_manifest_is_no_compose_file(project: Project, more: str) -> None:
    folder = project(ini=INI)
    (folder / "deploy.yaml").write_text(f"apiVersion: apps/v1\nkind: Deployment\n{more}")
    assert mistakes(compose=(Path("deploy.yaml"),)) == [
        "deploy.yaml: is a manifest of Kubernetes and no compose file: give it with --kubernetes"
        " FILE"
    ]
