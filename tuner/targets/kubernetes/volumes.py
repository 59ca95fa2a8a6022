"""The files and folders that a container of a pod gets from its volumes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from tuner.targets.compose.document import Node
from tuner.targets.kubernetes.documents import Resource
from tuner.targets.kubernetes.objects import Manifests, Workload


@dataclass(frozen=True, slots=True)
class File:
    """A text of a ConfigMap at a path in a container. `node` is the key with its text."""

    path: str
    source: Resource
    key: str
    node: Node
    mount: Node  # the entry of volumeMounts


@dataclass(frozen=True, slots=True)
class VolumeMount:
    """An entry of volumeMounts, and its volume in the pod."""

    node: Node
    volume: Node

    @property
    def target(self) -> str:
        """The path in the container."""
        return self.node.text_of("mountPath").rstrip("/") or "/"

    @property
    def sub_path(self) -> str:
        """The part of the volume that is there; empty for all of it."""
        return (self.node.text_of("subPath") or self.node.text_of("subPathExpr")).strip("/")


def mounts_of(workload: Workload, container: Node) -> list[VolumeMount]:
    """All mounts of a container; of two with the same path the later one counts."""
    volumes = {each.text_of("name"): each for each in workload.pod.get("volumes").each()}
    found: dict[str, VolumeMount] = {}
    for node in container.get("volumeMounts").each():
        name = node.text_of("name")
        mount = VolumeMount(node, volumes.get(name) or workload.claim(name) or node)
        found[mount.target] = mount
    return list(found.values())


def files_of(workload: Workload, container: Node, manifests: Manifests) -> list[File]:
    """The files that ConfigMaps give a container, with items, subPath and projected volumes."""
    found: dict[str, File] = {}
    for mount in mounts_of(workload, container):
        for name, source, key, node in _of_volume(workload, mount.volume, manifests):
            place = _placed(mount, name)
            if place is not None:
                found[place] = File(place, source, key, node, mount.node)
    return list(found.values())


def _placed(mount: VolumeMount, name: str) -> str | None:
    """The path in the container of a file of a volume; None if subPath takes another one."""
    if not mount.sub_path:
        return str(PurePosixPath(mount.target, name))
    path, part = PurePosixPath(name), PurePosixPath(mount.sub_path)
    if not path.is_relative_to(part):
        return None
    inner = path.relative_to(part)
    return str(PurePosixPath(mount.target, inner)) if inner.parts else mount.target


def _of_volume(
    workload: Workload, volume: Node, manifests: Manifests
) -> Iterator[tuple[str, Resource, str, Node]]:
    """Each file of a volume: its path there, the ConfigMap, its key, and its text."""
    sources = volume.get("projected", "sources").each()
    for each in (volume, *sources):
        given = each.get("configMap")
        source = manifests.find("ConfigMap", given.text_of("name"), workload.namespace)
        if source is None:
            continue
        data = source.node.get("data").items()
        items = {item.text_of("key"): item.text_of("path") for item in given.get("items").each()}
        for key, node in data.items():
            if not items or key in items:
                yield items.get(key, key), source, key, node
