"""The variables of a container in the order of Kubernetes, and `$(NAME)` in its texts."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.interpolation import Source, Use
from tuner.targets.kubernetes.manifests import Container
from tuner.targets.kubernetes.objects import Manifests, Workload

_REFERENCE = re.compile(r"\$\$|\$\(([^()\s]+)\)")


def expanded(text: str, known: Mapping[str, Node]) -> tuple[str, tuple[Use, ...]]:
    """The text with `$(NAME)` as Kubernetes replaces it, and the secrets in it.

    An unknown name stays as it is, and `$$` is a single `$`.
    """
    used: list[Use] = []

    def value(found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        if (node := known.get(found[1])) is None:
            return found[0]
        used.extend(node.used)
        return node.text

    return _REFERENCE.sub(value, text), tuple(used)


@dataclass(slots=True)
class SecretNames:
    """The variable of the worker for each key of a Secret: two containers can share it."""

    names: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, secret: str, key: str, variable: str) -> Use:
        """The use of a secret by a variable of a container. Its value is in no tree."""
        if (secret, key) not in self.names:
            long = re.sub(r"\W", "_", f"{secret}_{key}").upper()
            name = long if variable in self.names.values() else variable
            self.names[secret, key] = name
        return Use(self.names[secret, key], Source.STORE)


def secret_keys(manifests: Manifests, name: str, namespace: str) -> list[str] | None:
    """The keys of a Secret: of itself, or of what makes it; None if no document has them."""
    if (secret := manifests.find("Secret", name, namespace)) is not None:
        return [*secret.node.get("data").items(), *secret.node.get("stringData").items()]
    for each in manifests.of_kind("SealedSecret", "ExternalSecret"):
        spec = each.node.get("spec")
        target = spec.text_of("target", "name") or spec.text_of("template", "metadata", "name")
        if (target or each.name) != name:
            continue
        if each.kind == "SealedSecret":
            return [*spec.get("encryptedData").items()]
        if not spec.get("dataFrom"):
            return [entry.text_of("secretKey") for entry in spec.get("data").each()]
    return None


@dataclass(frozen=True, slots=True)
class Variables:
    """Reads the variables of containers. What has no value is in the findings."""

    manifests: Manifests
    secrets: SecretNames
    findings: Findings

    def of(self, container: Container, name: str) -> dict[str, Node]:
        """All variables: those of `envFrom` first, and `env` wins. `name` is for the findings."""
        found: dict[str, Node] = {}
        for each in container.node.get("envFrom").each():
            found |= dict(self._many(container.workload, each, name))
        for each in container.node.get("env").each():
            key = each.text_of("name")
            node = self._one(container, each, f"{name}.env.{key}", found)
            if node is not None:
                found[key] = node
        return found

    def _many(self, workload: Workload, given: Node, name: str) -> Iterator[tuple[str, Node]]:
        """The variables of one entry of `envFrom`."""
        prefix = given.text_of("prefix")
        if config := given.get("configMapRef"):
            source = self.manifests.find("ConfigMap", config.text_of("name"), workload.namespace)
            if source is None:
                self._missing(name, "ConfigMap", config)
                return
            for key, node in source.node.get("data").items().items():
                yield f"{prefix}{key}", replace(node, value=node.text)
        elif secret := given.get("secretRef"):
            called = secret.text_of("name")
            keys = secret_keys(self.manifests, called, workload.namespace)
            if keys is None and secret.text_of("optional").lower() != "true":
                why = (
                    "the manifests do not name its keys: give {from_worker: NAME} for each"
                    " variable that the app needs of it"
                )
                self.findings.todo(f"{name}.envFrom of Secret {called}", why)
            for key in keys or ():
                use = self.secrets.of(called, key, f"{prefix}{key}")
                yield f"{prefix}{key}", replace(given, value="", used=(use,))

    def _one(
        self, container: Container, given: Node, what: str, known: Mapping[str, Node]
    ) -> Node | None:
        """The value of one entry of `env`; None for nothing."""
        source = given.get("valueFrom")
        if not source:
            value = given.text_of("value")
            text, used = expanded(value, known)
            if used and text:
                why = "the worker gives it as a whole, with the name of the arm's own service in it"
                self.findings.todo(f"{what}: {value}", why)
            return replace(given, value=text, used=used)
        workload = container.workload
        if ref := source.get("secretKeyRef"):
            use = self.secrets.of(ref.text_of("name"), ref.text_of("key"), given.text_of("name"))
            return replace(given, value="", used=(use,))
        if ref := source.get("configMapKeyRef"):
            config = self.manifests.find("ConfigMap", ref.text_of("name"), workload.namespace)
            node = config.node.get("data").items().get(ref.text_of("key")) if config else None
            if node is None:
                self._missing(what, "ConfigMap", ref)
            return replace(node, value=node.text) if node else None
        ref = source.get("resourceFieldRef")
        field_path = source.text_of("fieldRef", "fieldPath")
        found = _resource(container, ref) if ref else _field(workload, field_path)
        if found is None:
            why = "an arm has nothing like it: give a value if the app needs it"
            self.findings.todo(what, why)
        return None if found is None else replace(given, value=found)

    def _missing(self, what: str, kind: str, ref: Node) -> None:
        if ref.text_of("optional").lower() == "true":
            return
        where = " ".join(filter(None, (kind, ref.text_of("name"), ref.text_of("key"))))
        self.findings.todo(what, f"{where} is not in the manifests: give its values in `env`")


def _field(workload: Workload, path: str) -> str | None:
    """What an arm has for a field of a pod: it is one pod on one machine."""
    metadata = workload.resource.node.get("metadata")
    if label := re.fullmatch(r"metadata\.(labels|annotations)\['([^']+)'\]", path):
        return workload.metadata.get(label[1]).text_of(label[2]) or None
    return {
        "status.podIP": "127.0.0.1",
        "status.podIPs": "127.0.0.1",
        "status.hostIP": "127.0.0.1",
        "metadata.namespace": workload.namespace or "default",
        "metadata.name": metadata.text_of("name"),
        "spec.nodeName": "node",
        "spec.serviceAccountName": workload.pod.text_of("serviceAccountName") or "default",
    }.get(path)


def _resource(container: Container, ref: Node) -> str | None:
    """A limit or a request in units of the divisor, rounded up; None without one."""
    bounds, _, resource = ref.text_of("resource").partition(".")
    node = container.node
    if other := ref.text_of("containerName"):
        each = [n for n in container.workload.containers if n.text_of("name") == other]
        node = each[0] if each else node
    amount = quantity(node.text_of("resources", bounds, resource))
    divisor = quantity(ref.text_of("divisor") or "1") or quantity("1")
    return None if amount is None or divisor is None else str(math.ceil(amount / divisor))


# ---- Quantities of Kubernetes: `500m`, `512M`, `1.5Gi`, `128e6`

_QUANTITY = re.compile(
    r"\+?(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)", re.ASCII
)
_OF_TEN = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_OF_TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def quantity(text: str) -> Fraction | None:
    """The number: cores, or bytes. None for what is no quantity."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    suffix = found[3] or ""
    ten = int(found[2] or 0) + _OF_TEN.get(suffix, 0)
    return Fraction(found[1]) * Fraction(f"1e{ten}") * int(2 ** _OF_TWO.get(suffix, 0))


def mebibytes(node: Node) -> int | None:
    """Rounded down, so that no limit gets larger than it is; None for nothing."""
    found = quantity(node.text)
    return None if found is None else int(found / 2**20)


def limit_of(container: Node, resource: str) -> Fraction | None:
    """A limit, and never a request: cores of `cpu`, bytes of `memory`; None without one."""
    return quantity(container.text_of("resources", "limits", resource))
