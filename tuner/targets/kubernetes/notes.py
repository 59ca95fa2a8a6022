"""What an arm cannot have of a pod, and where an answer must go."""

import re
from collections.abc import Iterator

from tuner.targets.compose import Draft
from tuner.targets.compose.findings import Findings
from tuner.targets.kubernetes.manifests import Container, Options, Stands
from tuner.targets.kubernetes.names import is_host, is_of_callers, outside_of
from tuner.targets.kubernetes.objects import Manifests, Resource, Writer, written_by

_POD = {
    "terminationGracePeriodSeconds": "an arm ends when it is measured: in production keep it"
    " longer than harakiri and worker-reload-mercy",
    "imagePullSecrets": "the benchmark host has the image, or can pull it",
    "hostNetwork": "an arm has a network of its own",
    "hostPID": "an arm sees its own processes only",
    "hostIPC": "an arm sees its own processes only",
    "dnsConfig": "an arm has a network of its own",
    "dnsPolicy": "an arm has a network of its own",
    **dict.fromkeys(
        (
            "nodeSelector",
            "affinity",
            "tolerations",
            "topologySpreadConstraints",
            "runtimeClassName",
        ),
        "the tuner chooses the host and its CPUs",
    ),
    "priorityClassName": "the tuner chooses the host and its CPUs",
}
_CONTAINER = {
    "lifecycle": "an arm neither rolls out nor drains",
    "imagePullPolicy": "the benchmark host has the image, or pulls it once",
}
_RIGHTS = "an arm has few rights, and a root that can be written"


def name_the_rest(
    name: str, container: Container, options: Options, manifests: Manifests, made: Draft
) -> None:
    """Add to the draft's findings what no service of a compose file has a place for."""
    findings = made.findings
    for key, why in _POD.items():
        if container.workload.pod.get(key):
            findings.left_out(f"{name}.{key}", why)
    for key, why in _CONTAINER.items():
        if container.node.get(key):
            findings.left_out(f"{name}.{key}", why)
    for key in container.node.get("securityContext").items():
        if not key.startswith("runAs"):
            findings.left_out(f"{name}.securityContext.{key}", _RIGHTS)
    if container.workload.pod.get("securityContext", "fsGroup"):
        why = "the volumes of an arm belong to the user of its container"
        findings.left_out(f"{name}.securityContext.fsGroup", why)
    _name_account(name, container, findings)
    _name_pods(name, container.workload.resource, manifests, findings)
    _name_writer(options, container, findings)
    _name_outside(name, container, manifests, made)


def _name_account(name: str, container: Container, findings: Findings) -> None:
    account = container.workload.pod.text_of("serviceAccountName")
    mounts = container.workload.pod.text_of("automountServiceAccountToken").lower() != "false"
    if account not in ("", "default") and mounts:
        why = (
            "an arm has no service account and no API of Kubernetes: an app that asks it fails, so"
            " give it a stub, or paths that do not ask"
        )
        findings.todo(f"{name}.serviceAccountName {account}", why)


def _name_pods(name: str, resource: Resource, manifests: Manifests, findings: Findings) -> None:
    """An answer is for one pod."""
    counts = []
    if replicas := resource.node.text_of("spec", "replicas"):
        counts.append(f"replicas {replicas}")
    for each in manifests.of_kind("HorizontalPodAutoscaler", "ScaledObject"):
        spec = each.node.get("spec")
        if spec.text_of("scaleTargetRef", "name") == resource.name:
            most = spec.text_of("maxReplicas") or spec.text_of("maxReplicaCount")
            counts.append(f"{each.title}: at most {most}")
    if counts:
        why = (
            "the answer is for one pod. All pods together may open as many connections to the"
            " database as they have workers and threads"
        )
        findings.changed(f"{name}: {', '.join(counts)}", why)


def _name_writer(options: Options, container: Container, findings: Findings) -> None:
    """Where an answer must go, so that nothing undoes it."""
    if options.file is not None:
        where = options.file.source
    elif options.stands is Stands.IMAGE:
        return
    else:
        where = container.workload.resource
    written = written_by(where)
    by = f" ({written.by})" if written.by else ""
    why = {
        Writer.NOBODY: "",
        Writer.HELM: f"a chart{by} makes it: the answer goes into the values of the chart",
        Writer.OPERATOR: f"{written.by} makes it and undoes changes: the answer goes there",
        Writer.GENERATOR: "its name has a hash of its text: the answer goes into the file of the"
        " configMapGenerator",
    }[written.writer]
    if why:
        findings.changed(f"{where.title}: the way back", why)
    elif options.file is not None and where.node.text_of("immutable").lower() == "true":
        why = "it is immutable: the answer needs a new ConfigMap, and its name in the pod"
        findings.changed(f"{where.title}: the way back", why)


# ---- Hosts outside of the cluster

_HOSTS = re.compile(
    r"(?://(?:[^/\s@]*@)?|^|[,\s@])([a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*)(?=[:/,\s]|$)"
)
_HERE = re.compile(r"localhost|[\d.]+|(?:true|false|yes|no|on|off|none)", re.IGNORECASE)


def _name_outside(name: str, container: Container, manifests: Manifests, made: Draft) -> None:
    """Each host that the environment names and that the arm does not have."""
    known = {*made.document.get("services", {}), "app"}
    outside = outside_of(manifests)
    aliases = {
        each.text: f"of hostAliases, at {entry.text_of('ip')}"
        for entry in container.workload.pod.get("hostAliases").each()
        for each in entry.get("hostnames").each()
    }
    named: dict[str, list[str]] = {}
    for key, value in made.document.get("env", {}).items():
        for host in _hosts(key, value, {*outside, *aliases}) if isinstance(value, str) else ():
            if host not in known:
                named.setdefault(host, []).append(f"{name}.env.{key}")
    for host in aliases:
        named.setdefault(host, [f"{name}.hostAliases"])
    for host, where in named.items():
        told = (
            outside.get(host)
            or aliases.get(host)
            or "nothing in the manifests runs under this name"
        )
        stub = f"{{{host.replace('.', '-')}: {{stub: {{hosts: [{host}], responses: [...]}}}}}}"
        why = (
            f"{host}: {told}, so an arm cannot reach it. For an API put a stub in its place,"
            f" services: {stub}"
        )
        made.findings.todo(", ".join(where), why)


def _hosts(key: str, value: str, known: set[str]) -> Iterator[str]:
    """The hosts of a value: those in addresses, and a name alone where the variable says so."""
    if is_of_callers(key):
        return
    for found in _HOSTS.finditer(value):
        host = found[1]
        is_address = found[0].startswith(("//", "@")) or value[found.end() : found.end() + 1] == ":"
        if (
            (is_address or host in known or is_host(key))
            and not _HERE.fullmatch(host)
            and not _is_scheme(value, found.end())
        ):
            yield host


def _is_scheme(value: str, at: int) -> bool:
    return value.startswith("://", at)
