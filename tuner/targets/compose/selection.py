"""Which services an app needs: those that it names, and those that they name in turn."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tuner.nouns.errors import Mistake
from tuner.nouns.model import limits
from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.starting import context_of

COMPLETED = "service_completed_successfully"
_PROXIES = re.compile(r"(?:^|/)[\w.-]*(?:nginx|traefik|caddy|haproxy|httpd|envoy)[\w.-]*(?::|@|$)")
_PASSES = r"\b(?:uwsgi_pass|proxy_pass|reverse_proxy|ProxyPass)\b"
_NO_HOST = re.compile(r"(?:USER|USERNAME|(?<!HOST)NAME|DB|DATABASE|PASS|PASSWORD|ENGINE)$", re.I)

Services = Mapping[str, Node]


def is_proxy(image: str) -> bool:
    """Whether an image is that of a server that stands in front of apps."""
    return _PROXIES.search(image) is not None


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

    @property
    def addresses(self) -> str:
        """The texts in which the app and the taken services name each other."""
        return "\n".join(_texts(self.services[name]) for name in (self.app, *self.taken))

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
                    f"there is no service {other}: remove the line, or give the file that has it"
                    " with another --compose"
                )
                if mistake not in self.mistakes:
                    self.mistakes.append(mistake)

    def _follow(self, name: str) -> None:
        edges = self.edges(name)
        for other, node in edges.items():
            if other in self.services:
                self._meet(other, is_step=node.text_of("condition") == COMPLETED)
        for other in self.services:
            names = self.names_of(other, by=name)
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
        service = self.services[name]
        if is_proxy(service.text_of("image")) and self.mentions(name, self.app):
            return True
        names = "|".join(map(re.escape, self.names_of(self.app, by=name)))
        leads = rf"(?:server|set\s+\$\w+|{_PASSES})\s[^;{{}}\n]*?(?<![\w.-])(?:{names})(?![\w.-])"
        texts = self.texts(service) if service.get("volumes") or service.get("configs") else ""
        return re.search(_PASSES, texts) is not None and re.search(leads, texts) is not None

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
        if self._is_in_front(name) or is_proxy(self.services[name].text_of("image")):
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

    def names_of(self, name: str, *, by: str) -> set[str]:
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

    def calls_app(self, name: str) -> bool:
        """Whether a service names the app elsewhere than in variables that it shares with it."""
        shared = self.services[self.app].get("environment").items()
        service = self.services[name]
        env = service.get("environment")
        own = {
            key: node
            for key, node in env.items().items()
            if key not in shared or shared[key].text != node.text
        }
        whole = {**service.items(), "environment": replace(env, value=own)}
        return self._names(replace(service, value=whole), self.app)

    def mentions(self, name: str, host: str) -> bool:
        """Whether a service has a host's name in its environment, its command or its files."""
        return self._names(self.services[name], host)

    def _names(self, service: Node, host: str) -> bool:
        host = re.escape(host)
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
