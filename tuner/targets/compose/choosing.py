"""Which service of a compose file is the app: the one that starts uWSGI, or those that could."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.calls import Trail
from tuner.targets.compose.document import Node, text_of
from tuner.targets.compose.serving import ports_of

_OTHERS = re.compile(
    r"(?:^|[/_-])(?:postgres|postgis|pgvector|timescaledb|mysql|mariadb|percona|mongo|redis|valkey"
    r"|keydb|memcached|rabbitmq|kafka|zookeeper|nats|elasticsearch|opensearch|solr|clickhouse"
    r"|influxdb|minio|localstack|mailhog|mailpit|mailcatcher|smtp|postfix|keycloak|vault|consul"
    r"|grafana|prometheus|jaeger|pgadmin|adminer|flower|pgbouncer|varnish|certbot|node)",
    re.IGNORECASE,
)
PROXY = re.compile(r"(?:^|[/_-])(?:nginx|traefik|caddy|haproxy|httpd|envoy)", re.IGNORECASE)
_WORKER = re.compile(
    r"\b(?:celery|rq(?:worker)?|dramatiq|huey|beat|worker|cron|migrate|migrations?|flower)\b", re.I
)
_MOST = 6


def is_of_others(image: str) -> bool:
    """Whether an image is that of a well-known database, cache, proxy or tool."""
    return _OTHERS.search(image) is not None or PROXY.search(image) is not None


def refuse_manifest(file: Path) -> None:
    """Raise `InvalidInput` for a manifest of Kubernetes that is given as a compose file."""
    text = text_of(file)
    if all(re.search(rf"^{key}:", text, re.MULTILINE) for key in ("apiVersion", "kind")):
        told = "is a manifest of Kubernetes and no compose file: give it with --kubernetes FILE"
        raise InvalidInput.at(str(file), told)


@dataclass(frozen=True, slots=True)
class Choice:
    """The services of one file. `trail` follows the start of one, `texts` has its mounted files.

    `elsewhere` names what starts uWSGI in other files of the folder.
    """

    file: Path
    services: Mapping[str, Node]
    trail: Callable[[str], Trail]
    has_ini: Callable[[str], bool]
    texts: Callable[[Node], str]
    elsewhere: Callable[[], list[str]]

    def service(self, wanted: str | None) -> str:
        """The service to tune: as given, or the only one. Raises `InvalidInput`."""
        names = list(self.services)
        if wanted is not None:
            if wanted in self.services:
                return wanted
            told = f"no service {wanted} in {self.file}; there are: {', '.join(names) or 'none'}"
            raise InvalidInput.at("--service", told)
        if len(names) == 1:
            return names[0]
        found = {name: places for name in names if (places := list(self._starts(name)))}
        if len(found) == 1:
            return next(iter(found))
        raise InvalidInput.at("--service", self._told(found))

    def _starts(self, name: str) -> Iterator[str]:
        """Where a service starts uWSGI."""
        for call in self.trail(name).calls:
            yield call.at or "its command"
        if self.has_ini(name):
            yield "it gets a uwsgi.ini"

    def _told(self, found: Mapping[str, list[str]]) -> str:
        if found:
            each = ", ".join(f"{name} ({places[0]})" for name, places in found.items())
            return f"several services of {self.file} start uwsgi: {each}: give one of them"
        could = sorted(
            ((name, reasons) for name in self.services if (reasons := list(self._reasons(name)))),
            key=lambda item: -len(item[1]),
        )
        told = [f"no service of {self.file} starts uwsgi, as far as its files show"]
        if could:
            each = ", ".join(f"{name} ({', '.join(why)})" for name, why in could[:_MOST])
            told.append(f"these could be it: {each}")
        elif self.services:
            told.append(f"there are: {', '.join(self.services)}")
        if others := self.elsewhere():
            told.append(
                f"other files here start uwsgi: {', '.join(others)}: give one with --compose"
            )
        return "; ".join(told)

    def _reasons(self, name: str) -> Iterator[str]:
        """What speaks for a service; nothing for databases, proxies and workers."""
        service = self.services[name]
        image = service.text_of("image").rpartition(":")[0] or service.text_of("image")
        if is_of_others(image) or self._is_worker(name):
            return
        if "uwsgi" in f"{name} {image}".lower():
            yield "its name"
        if service.get("build"):
            yield "build"
        yield from (f"port {port}" for port in ports_of(service)[:1])
        if service.get("healthcheck", "test"):
            yield "health check"
        for other, node in self.services.items():
            if PROXY.search(node.text_of("image")) and self._names(node, name):
                yield f"named by {other}"

    def _is_worker(self, name: str) -> bool:
        service = self.services[name]
        words = [each.text for key in ("entrypoint", "command") for each in service.get(key).each()]
        return _WORKER.search(re.sub(r"[_-]", " ", f"{name} {' '.join(words)}")) is not None

    def _names(self, proxy: Node, name: str) -> bool:
        waits = {*proxy.get("depends_on").pairs(), *(n.text for n in proxy.get("links").each())}
        pattern = rf"(?<![\w.-]){re.escape(name)}(?::\d|;|\s|/)"
        environment = " ".join(node.text for node in proxy.get("environment").items().values())
        return name in waits or re.search(pattern, f"{environment} {self.texts(proxy)}") is not None
