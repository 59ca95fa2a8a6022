"""What `tuner app init` is asked for: the compose file, its services, and which one is the app."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.building import with_builds, with_dockerfile_here
from tuner.targets.compose.calls import Trail
from tuner.targets.compose.dockerfile import Entry
from tuner.targets.compose.document import Node, read_tree, text_of
from tuner.targets.compose.environment import with_env_files
from tuner.targets.compose.files import Files
from tuner.targets.compose.interpolation import Variables
from tuner.targets.compose.mounts import mounts_of, only_ini, texts_of
from tuner.targets.compose.project import NAMES, ComposeFile, files_here, with_dotenv
from tuner.targets.compose.serving import ports_of
from tuner.targets.compose.starting import command_of, dockerfile_for, image_of, trail_of

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


_MOST_FILES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What `tuner app init` is asked for. `environ` is the environment of the command.

    `command` is what starts uWSGI, instead of what the container starts. `copy_data` lets volumes
    start with a copy of the folders that are mounted there. `read` gives the text of a file in an
    image, and `entry` what it starts; None without the image, or Docker.
    """

    folder: Path
    compose: tuple[Path, ...] = ()
    service: str | None = None
    ini: Path | None = None
    command: str | None = None
    image: str | None = None
    copy_data: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[str, str], str | None] = lambda image, path: None
    entry: Callable[[str], Entry | None] = lambda image: None


def compose_of(wanted: Wanted) -> ComposeFile:
    """The compose file; without one, that of an image or a Dockerfile alone."""
    here = with_dotenv(Variables(wanted.environ), Path())
    if files := wanted.compose or files_here(here):
        return ComposeFile(files, with_dotenv(Variables(wanted.environ), files[0].parent))
    if wanted.image is None and not (wanted.folder / "Dockerfile").is_file():
        names = ", ".join(NAMES)
        told = f"there is none of {names} here: give --compose FILE, or --image NAME and --ini FILE"
        raise InvalidInput.at("--compose", told)
    alone = wanted.folder / "Dockerfile"
    text = "services: {app: {image: alone}}" if wanted.image else "services: {app: {build: .}}"
    compose = ComposeFile((alone,), Variables())
    compose.give(read_tree(alone, text, Variables()))
    return compose


def files_of(name: str, service: Node, compose: ComposeFile, wanted: Wanted) -> Files:
    """The files of the container of a service."""
    image = wanted.image or image_of(name, service, compose.project)
    mounts = mounts_of(service, compose.root)
    checkout = None if compose.is_made or is_of_others(image) else compose.file.parent
    build = dockerfile_for(service)
    return Files(mounts, build, lambda path: wanted.read(image, path), checkout)


def services_of(compose: ComposeFile) -> dict[str, Node]:
    """All services with their env files, and the builds of images that they only name."""
    services = {
        name: with_env_files(node, compose.variables) for name, node in compose.services().items()
    }
    return with_builds(services, lambda: (services for _, services in _others(compose)))


def chosen(wanted: Wanted, compose: ComposeFile, services: Mapping[str, Node]) -> str:
    """The service to tune: as given, or the only one that starts uwsgi."""
    return _choice(wanted, compose, services).service(wanted.service)


def with_start(
    name: str, wanted: Wanted, compose: ComposeFile, services: Mapping[str, Node]
) -> Node:
    """A service, with the Dockerfile of the folder if nothing else shows how its image starts."""
    service = services[name]
    is_shown = wanted.command is not None or compose.is_made or is_of_others(wanted.image or "")
    if is_shown or not service.get("image"):
        return service
    return with_dockerfile_here(
        service, compose.file.parent, lambda each: _trail(name, each, compose, wanted)
    )


def _trail(name: str, service: Node, compose: ComposeFile, wanted: Wanted) -> Trail:
    entry = wanted.entry(image_of(name, service, compose.project))
    return trail_of(service, command_of(service, entry), files_of(name, service, compose, wanted))


def _choice(wanted: Wanted, compose: ComposeFile, services: Mapping[str, Node]) -> Choice:
    return Choice(
        file=compose.file,
        services=services,
        trail=lambda name: _trail(name, services[name], compose, wanted),
        has_ini=lambda name: only_ini(mounts_of(services[name], compose.root)) is not None,
        texts=lambda service: texts_of(service, compose.root),
        elsewhere=lambda: list(_elsewhere(wanted, compose)),
    )


def _elsewhere(wanted: Wanted, compose: ComposeFile) -> Iterator[str]:
    """The other compose files of the folder that start uWSGI, with the services."""
    for other, services in _others(compose):
        choice = _choice(wanted, other, services)
        if found := [name for name in services if choice.trail(name).calls]:
            yield f"{other.file} ({', '.join(found)})"


def _others(compose: ComposeFile) -> Iterator[tuple[ComposeFile, dict[str, Node]]]:
    """The other compose files of the folder that can be read, each with its services."""
    files = sorted(compose.file.parent.glob("*compose*.y*ml"))[:_MOST_FILES]
    for file in (file for file in files if file not in compose.files):
        other = ComposeFile((file,), compose.variables)
        try:
            yield other, other.services()
        except InvalidInput:
            continue
