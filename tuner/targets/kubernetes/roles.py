"""What the other containers of a pod are for, and which of them an arm has."""

import re
from collections.abc import Iterator, Sequence

from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.selection import is_proxy
from tuner.targets.compose.starting import words_of
from tuner.targets.kubernetes.volumes import File

_STORES = re.compile(
    r"(?:^|/)[\w.-]*(?:redis|valkey|memcached|rabbitmq|postgres|pgbouncer|mysql|mariadb|mongo"
    r"|elasticsearch|opensearch|nats)(?![\w.-]*exporter)",
)
_ROLES = (
    (r"istio|linkerd|consul|envoy|proxyv2", "a mesh: an arm has no other pods to talk to"),
    (r"exporter|statsd|metrics|otel|opentelemetry|datadog|newrelic", "it only reads figures"),
    (
        r"cloud-?sql|alloydb|cloud_sql",
        "a way to a database outside: an arm cannot reach it. Give the arm a database in"
        " `services`, and its name in `env`",
    ),
    (r"fluent|filebeat|promtail|vector|logrotate|rsyslog|syslog", "it only moves logs"),
    (r"vault|secrets", "it brings secrets: give {from_worker: NAME} for them"),
)
MOST_TEXT = 10_000
"""Characters of a command that are searched: the searches take long in a text without lines."""

_WAITS = re.compile(
    r"wait|until\b|while\s+!|while\b.*sleep|\bnc\s+-\w*z|pg_isready|dockerize|/dev/tcp/", re.I
)
_COPIES = re.compile(r"(?:^|[\s;&/])(?:cp|rsync|collectstatic)\b")
_RIGHTS = re.compile(r"\b(?:chown|chmod)\b")
_KEPT_AWAY = (
    (r"client_max_body_size\s+[^;]+", "larger bodies"),
    (
        r"location\s+[^{;]{1,200}(?=\{[^}]{0,2000}\b(?:alias|root|return|stub_status)\b)",
        "these paths",
    ),
    (r"(?:limit_conn|limit_req|max_conns)[\s=][^;]+", "requests above it"),
    (r"(?:uwsgi|proxy)_cache\s+[^;]+", "what its cache holds"),
)


def is_store(container: Node) -> bool:
    """Whether it is a database or a cache, which an app beside it needs."""
    return _STORES.search(container.text_of("image")) is not None


def why_left_out(container: Node, app: Node) -> str:
    """Why an arm has no such container beside the app."""
    image, name = container.text_of("image"), container.text_of("name")
    if is_proxy(image):
        return "a proxy in front of the app: the load goes to the app itself"
    if image == app.text_of("image"):
        return "the app's image as another process: no request waits for it"
    for pattern, why in _ROLES:
        if re.search(pattern, f"{image} {name}"):
            return why
    return "a container beside the app: if the app calls it, make it a service, with its name"


def is_wait(container: Node) -> bool:
    """Whether an init container only waits for something."""
    return _WAITS.search(_text(container)) is not None


def why_no_step(container: Node, app: Node) -> str | None:
    """Why an init container or a Job is no step of `prepare`; None if it is one."""
    text = _text(container)
    if is_wait(container):
        return "it waits: an arm waits for the health checks of its services"
    if _RIGHTS.search(text):
        return "it sets rights of folders: the volumes of an arm are new"
    if container.text_of("image") != app.text_of("image"):
        return "not the app's image: make a step of `prepare` of it if it fills data"
    if _COPIES.search(text):
        return "it copies files for another container: the load goes to the app itself"
    return None


def _text(container: Node) -> str:
    words = [*words_of(container.get("command")), *words_of(container.get("args"))]
    return " ".join([container.text_of("name"), *words])[:MOST_TEXT]


def name_kept_away(container: Node, files: Sequence[File], findings: Findings) -> None:
    """Say what the configuration of nginx keeps away from the app."""
    for file in files:
        for what in _kept_away(file.node.text):
            findings.changed(f"{container.text_of('name')} {file.key}: {what[0]}", what[1])


def _kept_away(text: str) -> Iterator[tuple[str, str]]:
    for pattern, what in _KEPT_AWAY:
        for found in dict.fromkeys(re.findall(pattern, text)):
            why = f"in production {what} never reach the app: leave them out of the load"
            yield " ".join(found.split()), why
