"""What is known of well-known images: the usual test, and whether they need much memory."""

import re
from dataclasses import dataclass

from tuner.targets.compose.document import Node
from tuner.targets.compose.starting import words_of

_TCP = 'nc -z 127.0.0.1 {port} || bash -c "</dev/tcp/127.0.0.1/{port}"'
_ANSWERS = (
    "curl -kso /dev/null http://127.0.0.1:{port} || curl -kso /dev/null https://127.0.0.1:{port}"
)
_PING = "db.adminCommand({{ping: 1}})"


@dataclass(frozen=True, slots=True)
class Program:
    """A program that images are named after. Its test asks `port`, or the usual one without `at`.

    `at` is what the test has for another port than the usual one.
    """

    words: tuple[str, ...]
    test: str = ""
    port: int = 0
    at: str = ""
    is_large: bool = False  # its usual settings need more than the memory that a service gets

    def test_on(self, port: int | None) -> str:
        """The test with the port, where it is another than the usual one."""
        other = self.at.format(port=port) if port not in (None, self.port) else ""
        return self.test.format(port=port or self.port, at=other)


_POSTGRES = Program(
    ("postgres", "postgresql", "postgis", "timescale", "timescaledb", "pgvector", "citus"),
    'pg_isready -U "${{POSTGRES_USER:-postgres}}"{at}',
    5432,
    " -p {port}",
)
_PROGRAMS = (
    _POSTGRES,
    Program(("mysql",), "mysqladmin ping -h 127.0.0.1{at} --silent", 3306, " -P {port}"),
    Program(("mariadb",), "healthcheck.sh --connect"),
    Program(("redis",), "redis-cli{at} ping", 6379, " -p {port}"),
    Program(("valkey",), "valkey-cli{at} ping", 6379, " -p {port}"),
    Program(("rabbitmq",), "rabbitmq-diagnostics -q ping"),
    Program(("memcached",), _TCP, 11211),
    Program(
        ("mongo", "mongodb"),
        f"mongosh --quiet{{at}} --eval '{_PING}' || mongo --quiet{{at}} --eval '{_PING}'",
        27017,
        " --port {port}",
        is_large=True,
    ),
    Program(("elasticsearch", "opensearch"), _ANSWERS, 9200, is_large=True),
    Program(
        ("minio",),
        "mc ready local || curl -fso /dev/null http://127.0.0.1:{port}/minio/health/live",
        9000,
    ),
    Program(("kafka", "redpanda"), _TCP, 9092, is_large=True),
    Program(
        ("clickhouse",), "wget -qO /dev/null http://127.0.0.1:{port}/ping", 8123, is_large=True
    ),
    Program(
        (
            *("solr", "keycloak", "influxdb", "cassandra", "scylla", "neo4j", "zookeeper", "mssql"),
            *(
                "oracle",
                "logstash",
                "kibana",
                "couchbase",
                "pulsar",
                "druid",
                "trino",
                "localstack",
            ),
        ),
        is_large=True,
    ),
)
_TOOLS = frozenset(
    {
        *("exporter", "express", "commander", "insight", "ui", "admin", "backup", "operator"),
        *("dashboard", "dashboards", "console", "proxy", "mc", "init", "setup", "sentinel"),
    }
)
"""Words of images that are for a program, and not that program."""


def program_of(node: Node) -> Program | None:
    """The program of a service, by the name of its image or what PostgreSQL's image asks for."""
    image = node.text_of("image")
    words = re.split(r"[-_.]", re.split(r"[:@]", image.rpartition("/")[2])[0].lower())
    if _TOOLS & {*words}:
        return None
    for program in _PROGRAMS:
        if {*words} & {*program.words}:
            return program
    env = node.get("environment").items()
    is_client = any(name.upper().endswith("HOST") for name in env)
    return _POSTGRES if "POSTGRES_PASSWORD" in env and not is_client else None


def port_of(node: Node, name: str, texts: str) -> int | None:
    """The port that a service listens on: of its command, or of an address in texts of others."""
    words = [*words_of(node.get("entrypoint")), *words_of(node.get("command"))]
    in_command = re.search(
        r"(?:^|\s)(?:-c\s+|--)?(?:port|http\.port)[= ](\d+)|(?:^|\s)-p\s*(\d+)", " ".join(words)
    )
    if in_command is not None:
        return int(in_command[1] or in_command[2])
    if own := node.text_of("environment", "PGPORT"):
        return int(own) if own.isdecimal() else None
    named = re.search(rf"(?:^|[/@,\s=]){re.escape(name)}:(\d{{2,5}})(?!\d)", texts, re.MULTILINE)
    return int(named[1]) if named is not None else None
