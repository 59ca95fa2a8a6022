"""The names in a cluster by which an app calls what it needs, and the one that an arm has."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tuner.targets.compose.document import Node
from tuner.targets.kubernetes.documents import Resource
from tuner.targets.kubernetes.objects import ENDING, Manifests, Workload

Selectors = Mapping[tuple[str, str], Sequence[tuple[Resource, Mapping[str, str]]]]
"""The Services with all labels that they want, by one of these labels."""


def selectors_of(manifests: Manifests) -> Selectors:
    """The Services that send to pods."""
    found: dict[tuple[str, str], list[tuple[Resource, Mapping[str, str]]]] = {}
    for each in manifests.of_kind("Service"):
        wanted = {key: n.text for key, n in each.node.get("spec", "selector").items().items()}
        if wanted:
            found.setdefault(min(wanted.items()), []).append((each, wanted))
    return found


def services_of(workload: Workload, selectors: Selectors) -> list[Resource]:
    """The Services that send to a workload's pods, in the order of the manifests."""
    labels = workload.labels.items()
    each = [pair for label in labels for pair in selectors.get(label, ())]
    here = [(s, wanted) for s, wanted in each if s.is_in(workload.namespace)]
    found = [service for service, wanted in here if wanted.items() <= labels]
    return sorted(found, key=lambda service: service.node.line)


def outside_of(manifests: Manifests) -> dict[str, str]:
    """The names that lead out of the cluster, each with what it stands for."""
    found = {}
    for each in manifests.of_kind("Service"):
        spec = each.node.get("spec")
        if spec.text_of("type") == "ExternalName":
            found[each.name] = f"an ExternalName for {spec.text_of('externalName')}"
        elif not spec.get("selector").items():
            found[each.name] = "a Service without a selector, for addresses outside"
    return found


def main_container(workload: Workload, services: Sequence[Resource]) -> Node | None:
    """The container to which the Services of a workload send; else the first one."""
    each = workload.containers
    for service in services:
        for port in service.node.get("spec", "ports").each():
            wanted = port.text_of("targetPort") or port.text_of("port")
            for node in each:
                if wanted in [*_ports(node)]:
                    return node
    return each[0] if each else None


def _ports(container: Node) -> Iterator[str]:
    for port in container.get("ports").each():
        yield port.text_of("name")
        yield port.text_of("containerPort")


@dataclass(frozen=True, slots=True)
class Place:
    """A workload under the name that an arm has for it, and its other names."""

    name: str
    workload: Workload
    services: tuple[Resource, ...] = ()

    @property
    def aliases(self) -> list[str]:
        """The other Services of the same pods."""
        return [each.name for each in self.services if each.name != self.name]


def words_in(texts: str) -> frozenset[str]:
    """All words that can be the name of a Service."""
    return frozenset(re.findall(r"(?<![\w-])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?![\w-])", texts))


def places_of(manifests: Manifests, texts: str) -> list[Place]:
    """All workloads that go on. Of several names, the first one that the texts name counts."""
    found: dict[str, Place] = {}
    selectors, words = selectors_of(manifests), words_in(texts)
    for workload in manifests.workloads():
        if workload.resource.kind in ENDING:
            continue
        services = tuple(services_of(workload, selectors))
        names = [each.name for each in services]
        called = [name for name in names if name in words]
        free = [name for name in (*called, *names, workload.name) if name not in found]
        name = free[0] if free else f"{workload.name}-{workload.resource.kind.lower()}"
        found[name] = Place(name, workload, services)
    return list(found.values())


_IS_HOST = re.compile(r"HOST(?:NAME|S)?$|SERVERS?$|ADDR(?:ESS)?$|ENDPOINT$|BROKERS?$", re.I)
_OF_CALLERS = re.compile(r"ALLOWED|TRUSTED|CORS|CSRF|ORIGIN", re.IGNORECASE)


def is_host(variable: str) -> bool:
    """Whether the whole value of a variable of this name is a host that the app calls."""
    return _IS_HOST.search(variable) is not None and not is_of_callers(variable)


def is_of_callers(variable: str) -> bool:
    """Whether it has the hosts of those who call the app, and not of what it calls."""
    return _OF_CALLERS.search(variable) is not None


@dataclass(frozen=True)
class Names:
    """One name for `db-0.shop-db`, `shop-db.shop` and `shop-db.shop.svc.cluster.local`.

    `known` are the names of Services with their namespaces. `same` gives the one name of an arm
    for each Service of pods that have several.
    """

    known: dict[str, str] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)

    def short(self, text: str, variable: str = "") -> str:
        """The text with the names of an arm; `variable` is the one that has it."""
        if not self.known:
            return text
        found = self._pattern.sub(self._name, text)
        if is_host(variable):
            return self.same.get(found, found)
        return self._address.sub(lambda name: self.same.get(name[0], name[0]), found)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        services = "|".join(sorted(map(re.escape, self.known), key=len, reverse=True))
        spaces = "|".join({re.escape(space) for space in self.known.values() if space}) or "(?!)"
        pod = r"[a-z0-9-]+-\d+\."
        domain = rf"\.[a-z0-9-]+\.svc(?:\.[a-z0-9-]+)*|\.(?:{spaces})"
        end = r"\.?(?![\w-]|\.\w)"
        return re.compile(rf"(?<![\w.-])((?:{pod})?)({services})((?:{domain})?){end}")

    @cached_property
    def _address(self) -> re.Pattern[str]:
        """A name in an address, where it can be nothing else."""
        names = "|".join(sorted(map(re.escape, self.same), key=len, reverse=True)) or "(?!)"
        end = r"(?![\w.-])"
        return re.compile(
            rf"(?:(?<=//)|(?<=@))(?:{names}){end}|(?<![\w.-])(?:{names})(?=:\d)", re.MULTILINE
        )

    def _name(self, found: re.Match[str]) -> str:
        name = self.same.get(found[2], found[2])
        return name if found[1] or found[3] else found[0]


def names_of(manifests: Manifests, places: Sequence[Place]) -> Names:
    """The names of all Services."""
    known = {each.name: each.namespace for each in manifests.of_kind("Service")}
    return Names(known, {alias: place.name for place in places for alias in place.aliases})
