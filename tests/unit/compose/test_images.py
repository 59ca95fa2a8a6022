"""What `init` knows of well-known images."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.compose.conftest import Made, made

Project = Callable[..., Path]

WEB = "image: shop, command: 'uwsgi --http :8000', depends_on: [it]"


def beside(project: Project, it: str, env: str = "{}") -> Made:
    """The app with a service `it`, which has these fields."""
    project(compose=f"services: {{web: {{{WEB}, environment: {env}}}, it: {{{it}}}}}")
    return made(service="web")


def health_test(found: Made) -> str | None:
    check = found.app.services["it"].healthcheck
    return check.test[-1] if check is not None else None


PG = 'pg_isready -U "${POSTGRES_USER:-postgres}"'


@pytest.mark.parametrize(
    ("it", "env", "test"),
    [
        ("image: 'redis:7', command: redis-server --port 6380", "{}", "redis-cli -p 6380 ping"),
        ("image: 'redis:7'", "{C: 'redis://it:6380/0'}", "redis-cli -p 6380 ping"),
        ("image: 'redis:7'", "{C: 'redis://:p@it:6380/0'}", "redis-cli -p 6380 ping"),
        ("image: 'redis:7'", "{C: 'redis://it:6379/0'}", "redis-cli ping"),
        ("image: 'redis:7'", "{C: 'redis://edit:6380/0'}", "redis-cli ping"),
        ("image: 'postgres:17', command: -p 5433", "{}", f"{PG} -p 5433"),
        ("image: 'postgres:17', command: [postgres, -c, port=5433]", "{}", f"{PG} -p 5433"),
        ("image: 'postgres:17', environment: {PGPORT: 5433}", "{}", f"{PG} -p 5433"),
        ("image: 'timescale/timescaledb-postgis:latest-pg12'", "{}", PG),
        ("image: 'pgvector/pgvector:pg17'", "{}", PG),
        ("image: 'own/postgres-ssl@sha256:" + "a" * 64 + "'", "{}", PG),
        ("image: 'own/data:1', environment: {POSTGRES_PASSWORD: x}", "{}", PG),
        ("image: 'bitnami/redis:7'", "{}", "redis-cli ping"),
        (
            "image: memcached",
            "{}",
            'nc -z 127.0.0.1 11211 || bash -c "</dev/tcp/127.0.0.1/11211"',
        ),
        (
            "image: 'opensearchproject/opensearch:2'",
            "{}",
            "curl -kso /dev/null http://127.0.0.1:9200 ||"
            " curl -kso /dev/null https://127.0.0.1:9200",
        ),
        ("image: 'own/thing:1'", "{}", None),
        ("image: 'prom/postgres-exporter:1'", "{}", None),
        ("image: 'postgrest/postgrest'", "{}", None),
        ("image: 'own/a', environment: {POSTGRES_PASSWORD: x, DB_HOST: d}", "{}", None),
    ],
)
def test_the_usual_test_asks_the_port_that_is_used(
    project: Project, it: str, env: str, test: str | None
) -> None:
    assert health_test(beside(project, it, env)) == test


def test_the_test_of_mongo_is_one_command(project: Project) -> None:
    found = health_test(beside(project, "image: 'mongo:7', command: --port 27018"))
    assert found is not None
    assert "mongosh --quiet --port 27018 --eval 'db.adminCommand({ping: 1})' ||" in found


def test_a_large_program_without_a_limit_is_to_do(project: Project) -> None:
    large = "it: {image: 'docker.elastic.co/elasticsearch/elasticsearch:8.1.0'}"
    small = "small: {image: 'redis:7'}, limited: {image: 'mongo:7', mem_limit: 2g}"
    web = WEB.replace("[it]", "[it, small, limited]")
    project(compose=f"services: {{web: {{{web}}}, {large}, {small}}}")
    found = made(service="web")
    assert found.notes["it.memory_mb"].startswith("to do: the file has no limit")
    assert found.notes["small.memory_mb"] == "changed: 512, as the file has no limit"
    assert "limited.memory_mb" not in found.notes
