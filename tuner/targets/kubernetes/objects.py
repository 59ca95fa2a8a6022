"""The workloads of manifests with their pods, and what they refer to by name."""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from tuner.targets.compose.document import Node
from tuner.targets.kubernetes.documents import Resource

_Key = TypeVar("_Key", bound=Hashable)

SERVING = frozenset(
    {
        *("Deployment", "StatefulSet", "DaemonSet", "Rollout", "DeploymentConfig"),
        *("ReplicaSet", "ReplicationController", "Pod"),
    }
)
"""Kinds whose pods run on."""

ENDING = frozenset({"Job", "CronJob"})
"""Kinds whose pods end by themselves."""

_POD = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}


@dataclass(frozen=True, slots=True)
class Workload:
    """An object with a pod."""

    resource: Resource
    namespace: str  # that of the object, or of `--namespace`

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.resource.name

    @property
    def pod(self) -> Node:
        """The spec of its pod."""
        path = _POD.get(self.resource.kind, ("spec", "template", "spec"))
        return self.resource.node.get(*path)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its pods, by which a Service finds them."""
        return {name: node.text for name, node in self.metadata.get("labels").items().items()}

    @property
    def metadata(self) -> Node:
        """The metadata of its pods."""
        path = _POD.get(self.resource.kind, ("spec", "template", "spec"))[:-1]
        return self.resource.node.get(*path, "metadata")

    @property
    def containers(self) -> list[Node]:
        """The containers that run together, with init containers that go on (`Always`)."""
        beside = [each for each in self._init if each.text_of("restartPolicy") == "Always"]
        return [*self.pod.get("containers").each(), *beside]

    @property
    def steps(self) -> list[Node]:
        """The init containers that end before the others start."""
        return [each for each in self._init if each.text_of("restartPolicy") != "Always"]

    @property
    def _init(self) -> list[Node]:
        return self.pod.get("initContainers").each()

    def claim(self, name: str) -> Node | None:
        """The volumeClaimTemplate of a name."""
        claims = self.resource.node.get("spec", "volumeClaimTemplates").each()
        return next((each for each in claims if each.text_of("metadata", "name") == name), None)


@dataclass(frozen=True)
class Manifests:
    """All objects. Without a `namespace`, objects of all namespaces count."""

    resources: Sequence[Resource]
    namespace: str = ""

    @cached_property
    def _by_kind(self) -> dict[str, list[Resource]]:
        return _grouped((each.kind, each) for each in self.resources)

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[Resource]]:
        return _grouped(((each.kind, each.name), each) for each in self.resources)

    def of_kind(self, *kinds: str) -> list[Resource]:
        """The objects of these kinds that can be in the namespace."""
        found = [each for kind in kinds for each in self._by_kind.get(kind, ())]
        return [each for each in found if each.is_in(self.namespace)]

    def find(self, kind: str, name: str, namespace: str) -> Resource | None:
        """The object of a name, at best with exactly that namespace."""
        each = self._by_name.get((kind, name), [])
        exact = [r for r in each if r.namespace == namespace]
        return next(iter([*exact, *(r for r in each if r.is_in(namespace))]), None)

    def workloads(self) -> list[Workload]:
        """All objects with a pod that are no part of another one."""
        found = self.of_kind(*SERVING, *ENDING)
        names = {(each.kind, each.name) for each in found}
        own = [each for each in found if not {*_owners(each)} & names]
        return [Workload(each, each.namespace or self.namespace) for each in own]


def _grouped(pairs: Iterable[tuple[_Key, Resource]]) -> dict[_Key, list[Resource]]:
    found: dict[_Key, list[Resource]] = {}
    for key, each in pairs:
        found.setdefault(key, []).append(each)
    return found


def _owners(resource: Resource) -> Iterator[tuple[str, str]]:
    for each in resource.node.get("metadata", "ownerReferences").each():
        yield each.text_of("kind"), each.text_of("name")


# ---- Who writes an object: an answer goes there, and not into the object


class Writer(StrEnum):
    """Who makes an object, and undoes what others change in it."""

    NOBODY = "nobody"
    HELM = "helm"  # a chart, with its values
    OPERATOR = "operator"  # a program in the cluster, from an object of its own
    GENERATOR = "generator"  # kustomize, from a file beside the kustomization.yaml


@dataclass(frozen=True, slots=True)
class Written:
    """Who makes an object; `by` is a name such as `Shop prod` or that of a chart."""

    writer: Writer
    by: str = ""


_MANAGED_BY = "app.kubernetes.io/managed-by"
_BY_HAND = frozenset({"", "kustomize", "kubectl", "kubectl-edit", "skaffold"})
_HASHED = re.compile(r".+-[2456789bcdfghkmt]{10}")
"""As kustomize calls what it generates."""


def written_by(resource: Resource) -> Written:
    """Who makes an object, as far as the object shows it."""
    managed, chart = resource.label(_MANAGED_BY), resource.label("helm.sh/chart")
    owners = [f"{kind} {name}" for kind, name in _owners(resource)]
    if owners:
        return Written(Writer.OPERATOR, owners[0])
    if managed.lower() == "helm" or chart or resource.label("meta.helm.sh/release-name"):
        return Written(Writer.HELM, chart)
    if managed.lower() not in _BY_HAND:
        return Written(Writer.OPERATOR, managed)
    if _HASHED.fullmatch(resource.name) and resource.kind in ("ConfigMap", "Secret"):
        return Written(Writer.GENERATOR)
    return Written(Writer.NOBODY)
