"""Which services an app needs: those that it names, and those that they name in turn."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tuner.nouns.errors import Mistake
from tuner.nouns.model import limits
from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.starting import context_of
from tuner.uwsgi.ini import IniFile, effective

COMPLETED = "service_completed_successfully"
_PROXIES = re.compile(r"(?:^|/)[\w.-]*(?:nginx|traefik|caddy|haproxy|httpd|envoy)[\w.-]*(?::|@|$)")
_NO_HOST = re.compile(r"(?:USER|USERNAME|(?<!HOST)NAME|DB|DATABASE|PASS|PASSWORD|ENGINE)$", re.I)

Services = Mapping[str, Node]


@dataclass(slots=True)
class Selection:
    """The services of one compose file from the view of an app.

    `taken` are the services to run beside it and `prepare` those that fill its data once, each in
    the order in which they start. `left` has a reason for each other service. `called` has the
    names by which the app and the taken services call a service.
    """

    app: str
    services: Services
    active: frozenset[str]
    texts: Callable[[Node], str]  # of the files that a service gets
    taken: list[str] = field(default_factory=list)
    prepare: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    called: dict[str, set[str]] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    _rings: set[frozenset[str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._check(self.app, ())
        self._follow(self.app)
        for name in self.services:
            if name not in (*self.taken, *self.prepare, self.app):
                self.left.setdefault(name, self._why_unneeded(name))

    def edges(self, name: str) -> dict[str, Node]:
        """The services of `depends_on` and `links`, with what is said of each."""
        service = self.services[name]
        found = dict(service.get("depends_on").pairs())
        for link in service.get("links").each():
            found.setdefault(link.text.partition(":")[0], link)
        return found

    def same_image(self, name: str) -> bool:
        """Whether it runs the app's image."""
        return bool({*_sources(self.services[name])} & {*_sources(self.services[self.app])})

    def _check(self, name: str, trail: tuple[str, ...]) -> None:
        """Every service that is named must be there, and none may wait for itself."""
        for other, node in self.edges(name).items():
            whole = (*trail, name)
            if other in whole:
                ring = whole[whole.index(other) :]
                told = " -> ".join((*ring, other))
                if frozenset(ring) not in self._rings:
                    why = f"{told}: each waits for the next; remove one of these lines"
                    self.mistakes.append(node.mistake(why))
                self._rings.add(frozenset(ring))
            elif other in self.services:
                self._check(other, whole)
            elif node.text_of("required").lower() != "false":
                mistake = node.mistake(
                    f"there is no service {other}: remove the line, or give one file with all"
                    " services, as `docker compose config` prints it"
                )
                if mistake not in self.mistakes:
                    self.mistakes.append(mistake)

    def _follow(self, name: str) -> None:
        edges = self.edges(name)
        for other, node in edges.items():
            if other in self.services:
                self._meet(other, is_step=node.text_of("condition") == COMPLETED)
        for other in self.services:
            names = self._names_of(other, by=name)
            called = {each for each in names if self.mentions(name, each)}
            if other in (name, self.app) or (not called and other not in edges):
                continue
            if other not in edges:
                why = self._why_not(other)
                if why:
                    self.left.setdefault(other, why)
                    continue
                self._meet(other, is_step=False)
            self.called.setdefault(other, set()).update(called)

    def _meet(self, name: str, *, is_step: bool) -> None:
        if name == self.app or name in (*self.taken, *self.prepare, *self.left):
            return
        if self._is_in_front(name) or (self.same_image(name) and not is_step):
            self.left[name] = self._why_unneeded(name)
            return
        place = self.prepare if self.same_image(name) else self.taken
        place.append(name)
        self._follow(name)
        place.remove(name)  # what it needs comes before it
        place.append(name)

    def _why_not(self, name: str) -> str | None:
        """Why a service that is only mentioned is not needed."""
        if self._waits_for_app(name) or self._is_in_front(name):
            return self._why_unneeded(name)
        return self._why_inactive(name)

    def _is_in_front(self, name: str) -> bool:
        is_proxy = _PROXIES.search(self.services[name].text_of("image")) is not None
        return is_proxy and self.mentions(name, self.app)

    def _why_inactive(self, name: str) -> str | None:
        given = {each.text for each in self.services[name].get("profiles").each()}
        if not given or "*" in self.active or given & self.active:
            return None
        return f"its profile is not active: set COMPOSE_PROFILES={min(given)} if the app needs it"

    def _why_unneeded(self, name: str) -> str:
        if self.same_image(name):
            return (
                "the app's image as another process: no request waits for it. If it fills the"
                " database, make its command a step of `prepare`"
            )
        if _PROXIES.search(self.services[name].text_of("image")):
            return "a proxy in front of the app: the load goes to the app itself"
        if self._waits_for_app(name):
            return "it starts after the app, so the app does not need it"
        return self._why_inactive(name) or (
            "the app does not name it in depends_on, links, environment, files or command"
        )

    def _waits_for_app(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        others = set(self.edges(name)) & set(self.services) - seen
        return self.app in others or any(
            self._waits_for_app(other, seen | {name}) for other in others
        )

    def _names_of(self, name: str, *, by: str) -> set[str]:
        """All names of a service in the network of its project."""
        service = self.services[name]
        found = {name, service.text_of("hostname"), service.text_of("container_name")}
        for network in service.get("networks").items().values():
            found |= {alias.text for alias in network.get("aliases").each()}
        for link in self.services[by].get("links").each():
            target, _, alias = link.text.partition(":")
            if target == name and alias:
                found.add(alias)
        return found - {""}

    def mentions(self, name: str, host: str) -> bool:
        """Whether a service has a host's name in its environment, its command or its files."""
        service, host = self.services[name], re.escape(host)
        for key, node in service.get("environment").items().items():
            if re.fullmatch(host, node.text) and not _NO_HOST.search(key):
                return True
        before = r"//|@|/dev/(?:tcp|udp)/|(?<!\S)-h[ =]?|host(?:name)?\w*[\"']?\s*[:= ]\s*[\"']?"
        in_list = rf"(?<![\w./-]){host}:\d"
        pattern = re.compile(rf"(?:{before}){host}(?![\w.-])|{in_list}", re.IGNORECASE)
        texts = re.sub(r"//[^/\s@]*@", "//", f"{_texts(service)}\n{self.texts(service)}")
        return pattern.search(texts) is not None


def _texts(service: Node) -> str:
    """The values of its environment, and its command as one line."""
    found = [node.text for node in service.get("environment").items().values()]
    for key in ("entrypoint", "command"):
        found.append(" ".join(word.text for word in service.get(key).each()))
    return "\n".join(found)


def _sources(service: Node) -> Iterator[tuple[str, ...]]:
    """What its image is made from: two services with one of these in common run the same."""
    build, image = service.get("build"), service.text_of("image")
    if image:
        yield ("image", image)
    if build:
        dockerfile = build.text_of("dockerfile") or "Dockerfile"
        yield ("build", str(context_of(build)), dockerfile, build.text_of("target"))


# ---- How an app is reached: its port, the path that tells its health, the host that it accepts

_HTTP = ("http-socket", "http11-socket", "http", "httprouter")
_UWSGI = ("socket", "uwsgi-socket")
_DEFAULT_PORT = 8000
_URL = re.compile(r"https?://[^/\s'\"]+(/[^\s'\"|;&)]*)")
_ACCEPTS_ALL = frozenset({"*", "127.0.0.1", "localhost"})


def serving(name: str, service: Node, ini: IniFile, findings: Findings) -> dict[str, Any]:
    """`port`, `health_path`, `host_header`, `thread_safe` and `gevent_ok`, where they differ."""
    found: dict[str, Any] = {"port": _port(name, service, ini, findings)}
    test = service.get("healthcheck", "test")
    url = _URL.search(" ".join(each.text for each in test.each()))
    if url is not None:
        found["health_path"] = url[1]
        findings.left_out(f"{name}.healthcheck", "the tuner asks health_path itself")
    elif test:
        why = "it names no URL: set health_path, which answers 2xx once the app is ready"
        findings.todo(f"{name}.healthcheck", why)
    if host := _host(service):
        found["host_header"] = host
        why = "requests get this Host, because the app may refuse others"
        findings.changed(f"host_header {host}", why)
    if ini.integer("threads", 1) > 1:
        found["thread_safe"] = True
        findings.changed("thread_safe: true", "the present file starts threads")
    if ini.integer("gevent", 0) > 0:
        found["gevent_ok"] = True
    return found


def _port(name: str, service: Node, ini: IniFile, findings: Findings) -> int:
    """The HTTP port of the file; without one, that of the compose file."""
    environment = {key: node.text for key, node in service.get("environment").items().items()}
    settings = [each for each in effective(ini) if not each.is_conditional]
    http = [each.value for each in settings if each.option in _HTTP]
    uwsgi = [each.value for each in settings if each.option in _UWSGI]
    ports = [port for port in _ports(service) if str(port) not in " ".join(uwsgi)]
    own = [port for port in (_port_in(value, environment) for value in http) if port is not None]
    if own:
        if ports and own[0] not in ports:
            why = f"the present file listens on {own[0]}, and this port counts"
            findings.changed(f"{name}.ports {', '.join(map(str, ports))}", why)
        return own[0]
    if uwsgi and not http:
        why = "the file speaks the uwsgi protocol: the tuner puts nginx in front, on `port`"
        findings.changed(f"{name} socket {uwsgi[0]}", why)
        return _DEFAULT_PORT
    if not ports:
        why = "neither the file nor the compose file names the port of the app: set `port`"
        findings.todo(f"{name}.ports", why)
    return ports[0] if ports else _DEFAULT_PORT


def kernel_settings(name: str, service: Node, findings: Findings) -> dict[str, Any]:
    """`somaxconn` and `sysctls` of production, as far as a container may have its own."""
    found: dict[str, Any] = {}
    for setting, node in service.get("sysctls").pairs().items():
        if setting == limits.SOMAXCONN and node.text.isdecimal():
            found["somaxconn"] = int(node.text)
            continue
        try:
            value = limits.read(setting, node.text)
        except ValueError as error:
            findings.left_out(f"{name}.sysctls.{setting}", str(error))
        else:
            found.setdefault("sysctls", {})[setting] = value
    return found


def _port_in(address: str, environment: dict[str, str]) -> int | None:
    """The port of `:8000`, `0.0.0.0:8000`, `8000` and `:$(PORT)`."""
    known = re.sub(r"\$\((\w+)\)", lambda v: environment.get(v[1], ""), address)
    found = re.fullmatch(r"(?:.*:)?(\d{1,5})", known.partition(",")[0])
    return int(found[1]) if found else None


def _ports(service: Node) -> list[int]:
    """The container's ports: 80:8000, 127.0.0.1:80:8000/tcp, {target: 8000}, and `expose`."""
    found: list[int] = []
    for key in ("ports", "expose"):
        for node in service.get(key).each():
            text = node.text_of("target") or node.text.partition("/")[0].rpartition(":")[2]
            if text.isdigit():
                found.append(int(text))
    return list(dict.fromkeys(found))


def _host(service: Node) -> str:
    """The first host of `ALLOWED_HOSTS`, unless the app accepts the tuner's own."""
    for name, node in service.get("environment").items().items():
        if name.upper().endswith("ALLOWED_HOSTS"):
            hosts: list[str] = re.findall(r"[\w.*:-]+", node.text)
            if hosts and not _ACCEPTS_ALL & {*hosts} and re.fullmatch(r"[\w.-]+", hosts[0]):
                return hosts[0].lstrip(".")
    return ""
