"""A container as a service of a compose file: `configs` for ConfigMaps, limits in bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.mounts import MOST_CHARACTERS
from tuner.targets.compose.starting import words_of
from tuner.targets.kubernetes.manifests import Container
from tuner.targets.kubernetes.names import Names
from tuner.targets.kubernetes.objects import Manifests
from tuner.targets.kubernetes.variables import (
    SecretNames,
    Variables,
    expanded,
    limit_of,
    mebibytes,
    quantity,
    secret_keys,
)
from tuner.targets.kubernetes.volumes import VolumeMount, files_of, mounts_of

_MOST_FILES = 20  # of one container of an arm
_SHM = "/dev/shm"  # noqa: S108 - a path in a container


@dataclass(slots=True)
class Parts:
    """The parts of one service, in the place of each key of a compose file."""

    fields: dict[str, Node] = field(default_factory=dict)
    volumes: list[Node] = field(default_factory=list)
    configs: list[Node] = field(default_factory=list)
    tmpfs: list[Node] = field(default_factory=list)
    secrets: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Translator:
    """Makes services. `configs` and `stores` get what they have at the root of the tree."""

    manifests: Manifests
    names: Names
    secrets: SecretNames = field(default_factory=SecretNames)
    configs: dict[str, Node] = field(default_factory=dict)
    stores: dict[str, Node] = field(default_factory=dict)

    def service(self, name: str, container: Container, findings: Findings) -> Node:
        """The service, without its health check and what it waits for."""
        node, parts = container.node, Parts()
        environment = self.environment(name, container, findings)
        parts.fields["image"] = node.get("image")
        for key, given in (("entrypoint", "command"), ("command", "args")):
            if node.get(given):
                what = f"{name}.{given}"
                words = self.words(what, node.get(given), environment, findings)
                parts.fields[key] = listed(node.get(given), words)
        parts.fields["environment"] = mapped(node.get("env"), environment)
        if ports := [each.get("containerPort") for each in node.get("ports").each()]:
            parts.fields["expose"] = listed(node.get("ports"), ports)
        parts.fields |= self._box(name, container, findings)
        self._mounts(name, container, parts, findings)
        each = ("volumes", "configs", "tmpfs", "secrets")
        lists = {key: listed(node, nodes) for key in each if (nodes := getattr(parts, key))}
        return mapped(node, {**parts.fields, **lists})

    def environment(self, name: str, container: Container, findings: Findings) -> dict[str, Node]:
        """The variables, with the short names of Services in them."""
        found = Variables(self.manifests, self.secrets, findings).of(container, name)
        return {key: self._named(name, key, node, findings) for key, node in found.items()}

    def words(
        self, what: str, given: Node, environment: Mapping[str, Node], findings: Findings
    ) -> list[str]:
        """The words of a command, with the values of `$(NAME)`; a secret stays a name."""
        found = []
        for word in words_of(given):
            text, used = expanded(word, environment)
            if used:
                why = "an arm does not replace it: start a shell, and give it $NAME"
                findings.todo(f"{what} {word}", why)
                text = word
            found.append(self.names.short(text))
        return found

    def _named(self, name: str, key: str, node: Node, findings: Findings) -> Node:
        """The variable with the names that an arm has."""
        short, path = self.names.short(node.text, key), f"{name}.env.{key}"
        if short != node.text and not node.used:
            why = f"its value is {short}: the network of an arm has one name for each service"
            findings.changed(path, why)
        return replace(node, value=short, path=path)

    # ---- Limits and rights

    def _box(self, name: str, container: Container, findings: Findings) -> dict[str, Node]:
        node, pod, found = container.node, container.workload.pod, dict[str, Node]()
        limits = node.get("resources", "limits")
        cpus, memory = self._limit(container, "cpu"), self._limit(container, "memory")
        if cpus:
            found["cpus"] = leaf(limits, f"{float(cpus):g}")
        if memory:
            found["mem_limit"] = leaf(limits, f"{int(memory / 2**20)}m")
        for key in sorted({*limits.items()} - {"cpu", "memory"}):
            findings.left_out(f"{name}.limits.{key}", "an arm has limits of CPU and memory only")
        sysctls = pod.get("securityContext", "sysctls")
        if each := sysctls.each():
            pairs = {n.text_of("name"): n.get("value") for n in each}
            found["sysctls"] = mapped(sysctls, pairs)
        own = node.get("securityContext")
        user, group = (
            own.text_of(key) or pod.text_of("securityContext", key)
            for key in ("runAsUser", "runAsGroup")
        )
        if user:
            found["user"] = leaf(own, f"{user}:{group}" if group else user)
        if node.get("workingDir"):
            found["working_dir"] = node.get("workingDir")
        return found

    def _limit(self, container: Container, resource: str) -> Fraction | None:
        own = limit_of(container.node, resource)
        if own is not None:
            return own
        for each in self.manifests.of_kind("LimitRange"):
            for entry in each.node.get("spec", "limits").each():
                if entry.text_of("type") == "Container" and each.is_in(
                    container.workload.namespace
                ):
                    return quantity(entry.text_of("default", resource))
        return None

    # ---- Volumes

    def _mounts(self, name: str, container: Container, parts: Parts, findings: Findings) -> None:
        self._files(name, container, parts, findings)
        for mount in mounts_of(container.workload, container.node):
            volume, what = mount.volume, f"{name}.volumes {mount.target}"
            for source in (volume, *volume.get("projected", "sources").each()):
                if given := source.get("secret"):
                    self._secret(name, container, mount, given, parts, findings)
            if volume.get("emptyDir"):
                self._empty(container, mount, parts)
            elif claim := self._claim(container, mount):
                parts.volumes.append(_volume(claim, mount))
            elif volume.get("hostPath"):
                findings.left_out(what, "a folder of a node: an arm has only its own")
            elif others := sorted({*volume.items()} - {"name", "configMap", "projected", "secret"}):
                findings.left_out(what, f"{', '.join(others)}: an arm has nothing like it")
            else:
                self._name_unread(what, container, volume, findings)

    def _files(self, name: str, container: Container, parts: Parts, findings: Findings) -> None:
        files = files_of(container.workload, container.node, self.manifests)
        for number, file in enumerate(files):
            what = f"{name}.volumes {file.path}"
            if number >= _MOST_FILES or len(file.node.text) > MOST_CHARACTERS:
                why = f"an arm has at most {_MOST_FILES} files of {MOST_CHARACTERS} characters"
                findings.todo(what, why)
                continue
            key = f"{file.source.name}/{file.key}"
            content = leaf(file.node, self.names.short(file.node.text))
            self.configs[key] = mapped(file.node, {"content": content})
            parts.configs.append(mapped(file.mount, {"source": key, "target": file.path}))

    def _empty(self, container: Container, mount: VolumeMount, parts: Parts) -> None:
        empty = mount.volume.get("emptyDir")
        size = mebibytes(empty.get("sizeLimit"))
        if mount.target == _SHM:
            parts.fields["shm_size"] = leaf(empty, f"{size or 64}m")
        elif empty.text_of("medium") == "Memory":
            text = f"{mount.target}:size={size}m" if size else mount.target
            parts.tmpfs.append(leaf(empty, text))
        else:
            volume = f"{container.workload.name}-{mount.volume.text_of('name')}"
            parts.volumes.append(_volume(volume, mount))

    @staticmethod
    def _claim(container: Container, mount: VolumeMount) -> str | None:
        """The name of a volume that a claim has."""
        if mount.volume.get("metadata") or mount.volume.get("ephemeral"):
            return f"{container.workload.name}-{mount.node.text_of('name')}"
        return mount.volume.text_of("persistentVolumeClaim", "claimName") or None

    def _secret(
        self,
        name: str,
        container: Container,
        mount: VolumeMount,
        given: Node,
        parts: Parts,
        findings: Findings,
    ) -> None:
        """A file of a Secret becomes a secret of the arm, in another folder."""
        secret = given.text_of("secretName") or given.text_of("name")
        items = {i.text_of("path"): i.text_of("key") for i in given.get("items").each()}
        keys = secret_keys(self.manifests, secret, container.workload.namespace) or []
        paths = items or {key: key for key in keys}
        if mount.sub_path:
            paths = {mount.sub_path: items.get(mount.sub_path, mount.sub_path)}
        if not paths:
            why = "the manifests do not name its keys: give them in `secrets`, {from_worker: NAME}"
            findings.todo(f"{name}.volumes {mount.target} of Secret {secret}", why)
        for path, key in paths.items():
            file = path.rpartition("/")[2]
            use = self.secrets.of(secret, key, file.upper().replace(".", "_").replace("-", "_"))
            store = f"{secret}/{key}"
            self.stores[store] = mapped(given, {"environment": use.name})
            parts.secrets.append(mapped(given, {"source": store, "target": file}))
            place = mount.target if mount.sub_path else f"{mount.target}/{path}"
            why = f"an arm has it as /run/secrets/{file}: tell the app by a variable or its command"
            findings.todo(f"{name} {place}", why)

    def _name_unread(
        self, what: str, container: Container, volume: Node, findings: Findings
    ) -> None:
        """Say which ConfigMaps are in no document, and what an arm cannot have of a volume."""
        for source in (volume, *volume.get("projected", "sources").each()):
            config = source.get("configMap")
            name = config.text_of("name")
            found = self.manifests.find("ConfigMap", name, container.workload.namespace)
            if config and found is None and config.text_of("optional").lower() != "true":
                why = f"ConfigMap {name} is not in the manifests: give its files in `files`"
                findings.todo(what, why)
            if found is not None and (binary := found.node.get("binaryData").items()):
                findings.todo(f"{what} {', '.join(binary)}", "no text: put it into the image")
            for key in sorted({"serviceAccountToken", "downwardAPI"} & {*source.items()}):
                findings.left_out(f"{what} {key}", "an arm has nothing like it")


def _volume(name: str, mount: VolumeMount) -> Node:
    """A volume of the arm's own; each part of it that has a mount is one for itself."""
    parts = [name, *mount.sub_path.split("/")] if mount.sub_path else [name]
    return leaf(mount.node, f"{'-'.join(parts)[:63]}:{mount.target}")


# ---- Values of a compose file, made from those of a manifest: each keeps its line


def leaf(at: Node, text: str) -> Node:
    """A text that stands where `at` stands."""
    return replace(at, value=text, used=())


def listed(at: Node, each: Sequence[Node | str]) -> Node:
    """A list there."""
    return replace(at, value=[e if isinstance(e, Node) else leaf(at, e) for e in each], used=())


def mapped(at: Node, each: Mapping[str, Node | str]) -> Node:
    """A mapping there."""
    named = {name: e if isinstance(e, Node) else leaf(at, e) for name, e in each.items()}
    return replace(at, value=dict(named), used=())
