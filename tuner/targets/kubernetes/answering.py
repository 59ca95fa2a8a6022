"""The answer of a job, in the form in which a manifest has the options of uWSGI.

| where the options stand         | the answer                                                  |
|---------------------------------|-------------------------------------------------------------|
| a key of a ConfigMap            | the ConfigMap with that key changed, and a patch that       |
|                                 | starts new pods                                             |
| a ConfigMap that has a hash     | the file from which kustomize makes it                      |
| an object that an operator owns | a patch of the operator's own object                        |
| variables, or the command       | a patch of the container                                    |
| the image, a program's settings | the lines, for a new image or for the settings              |
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tuner.nouns.errors import InvalidInput
from tuner.targets.answers import Answer, Recommended
from tuner.targets.compose.document import Node
from tuner.targets.compose.starting import words_of
from tuner.targets.kubernetes.documents import Resource
from tuner.targets.kubernetes.editing import ConfigMapKey, config_map, with_text
from tuner.targets.kubernetes.manifests import Container, Options, Stands, options_of
from tuner.targets.kubernetes.objects import Manifests, Workload, Writer, written_by
from tuner.targets.kubernetes.volumes import File
from tuner.targets.yaml_text import yaml_text
from tuner.uwsgi.command_line import arguments, with_options, words_for_uwsgi
from tuner.uwsgi.derived import semantic_diff
from tuner.uwsgi.ini import IniFile, canonical
from tuner.uwsgi.options import known
from tuner.uwsgi.places import Change, option_of, variables_beside

ROLLED_OUT_BY = "checksum/uwsgi-ini"
"""The annotation of the pods whose change starts new ones."""


def answer(
    manifest: str,
    manifests: Manifests,
    container: Container,
    recommended: Recommended,
    *,
    kustomize: bool,
) -> Answer:
    """The answer for a container, from the text and the objects of its manifests.

    With `kustomize`, whole objects are patches. Raises `InvalidInput` for an object that nobody
    may change.
    """
    place = options_of(container, manifests)
    source = place.file.source if place.file else container.workload.resource
    written = written_by(source)
    if written.writer is Writer.OPERATOR:
        return _of_operator(written.by, container, manifests, recommended)
    match place.stands:
        case Stands.CONFIG_MAP if place.file is not None:
            found = _of_config_map(
                manifest, place.file, container, recommended, kustomize=kustomize
            )
        case Stands.VARIABLES:
            found = _of_variables(container, place, recommended)
        case Stands.COMMAND:
            found = _of_command(container, place, recommended)
        case _:
            found = _as_lines(container, recommended, place)
    remarks = [*found.remarks, *_overridden(container, place, recommended)]
    if written.writer is Writer.HELM:
        chart = f" (chart {written.by})" if written.by else ""
        remarks.append(
            f"Helm renders {source.title}{chart} and undoes this with the next upgrade: put the"
            " answer into your values with --form helm --values-map"
        )
    return replace(found, remarks=remarks)


# ---- A key of a ConfigMap


def _of_config_map(
    manifest: str, file: File, container: Container, recommended: Recommended, *, kustomize: bool
) -> Answer:
    place = ConfigMapKey.of(file)
    new = recommended.applied(file.node.text)
    remarks = list(_moved_on(new, recommended, place))
    generated = written_by(file.source).writer is Writer.GENERATOR
    if generated and kustomize:
        generator = file.source.name.rpartition("-")[0]
        told = f"write it into the file of configMapGenerator {generator}, key {file.key}"
        told = f"{told}: the new name of the ConfigMap rolls it out"
        return Answer(new, [*remarks, told], takes_comments=False)
    is_fixed = file.source.node.text_of("immutable").lower() == "true"
    if generated or (is_fixed and not kustomize):
        why = "kustomize makes it from a file" if generated else "is immutable"
        instead = "take --form kustomize" if generated else "give it a new name, with --form ini"
        raise InvalidInput.at(f"ConfigMap {place.name}", f"{why}: {instead}")
    if kustomize:
        text = yaml_text({**_head(file.source), "data": {file.key: new}})
    else:
        text = config_map(with_text(manifest, place, new), place)
    if not recommended.changes:
        return Answer(text, remarks)
    if container.workload.resource.kind == "Pod":
        return Answer(text, [*remarks, "a Pod does not roll out: delete it and make it again"])
    digest = hashlib.sha256(new.encode()).hexdigest()
    patch = _patch(container.workload, {"metadata": {"annotations": {ROLLED_OUT_BY: digest}}})
    return Answer(f"{text}---\n{yaml_text(patch)}", remarks)


def _moved_on(new: str, recommended: Recommended, place: ConfigMapKey) -> Iterator[str]:
    """Where the file of the manifest is not that of the job."""
    others = [each.option for each in semantic_diff(IniFile.parse(new), recommended.ini)]
    if others:
        yield (
            f"{place} differs from the job's file in {', '.join(others)}: the job did not measure"
            " that, and it stays as it is"
        )


def _overridden(container: Container, place: Options, recommended: Recommended) -> Iterator[str]:
    """Where a second place sets an option that changes."""
    if place.stands is Stands.COMMAND:
        return
    wanted = {canonical(change.option) for change in recommended.changes}
    words = words_for_uwsgi(container.words)
    for item in arguments(container.words if words is None else words, known()):
        if not isinstance(item, str) and canonical(item.name) in wanted:
            told = f"the command of {container.title} sets {item.text} too, and may win"
            yield f"{told}: change it there"
    if place.stands is Stands.CONFIG_MAP:
        for name in (each.text_of("name") for each in container.node.get("env").each()):
            if canonical(option_of(name)) in wanted:
                yield f"{name} of {container.title} sets the same, and may win: change it there"


# ---- The variables and the command of a container


def _of_variables(container: Container, place: Options, recommended: Recommended) -> Answer:
    names = [_variable(node) for node in place.nodes]
    placed = variables_beside(recommended.changes, recommended.places, names)
    entries = [_entry(container, name, value) for name, value in placed.placed.items()]
    entries += [{"name": name, "$patch": "delete"} for name in placed.out]
    text = yaml_text(_of_container(container, {"env": entries})) if entries else ""
    return Answer(text, (), placed.homeless)


def _variable(node: Node) -> str:
    """The name of a variable: of an entry of `env`, or of a key of a ConfigMap."""
    return node.text_of("name") or node.path.rpartition(".")[2]


def _entry(container: Container, name: str, value: str) -> dict[str, Any]:
    """An entry of `env`. Of a variable that is taken from elsewhere, this must end."""
    there = (each for each in container.node.get("env").each() if each.text_of("name") == name)
    elsewhere = any(each.get("valueFrom") for each in there)
    entry: dict[str, Any] = {"name": name, "value": _literal(value)}
    return {**entry, "valueFrom": None} if elsewhere else entry


def _literal(word: str) -> str:
    """Kubernetes puts variables in for $(NAME), and makes $ of $$."""
    return re.sub(r"\$(?=[$(])", "$$", word)


def _of_command(container: Container, place: Options, recommended: Recommended) -> Answer:
    command, args = (words_of(container.node.get(key)) for key in ("command", "args"))
    options = words_for_uwsgi(container.words) or []
    words = [*command, *args]
    head = words[: len(words) - len(options)]
    if not options or words[len(head) :] != options:
        return _as_lines(container, recommended, place)
    values = {name: value and _literal(value) for name, value in recommended.values.items()}
    new = with_options(options, values, known())
    if new is None:
        return _as_lines(container, recommended, place)
    own = [*head[len(command) :], *new]
    is_one = not args  # all words are in `command`
    changed = {"command": [*head, *new]} if is_one else {"args": own}
    if len(head) < len(command) and args:
        changed["command"] = head
    return Answer(yaml_text(_of_container(container, changed)) if recommended.changes else "")


def _as_lines(container: Container, recommended: Recommended, place: Options) -> Answer:
    """The options are in the image, in a script, or in the settings of a program."""
    lines = [f"{c.option} = {c.value}" for c in recommended.changes if c.value is not None]
    out = [f"; {c.option}: take it out" for c in recommended.changes if c.value is None]
    where = f"{place.path} is in the image" if place.path else "no patch reaches its options"
    why = (
        f"{container.title}: {where}: put these lines into a new image, or into your settings;"
        " --form environment gives them as variables, if the image reads UWSGI_X"
    )
    text = "".join(f"{line}\n" for line in (*lines, *out))
    return Answer(text, [why], [f"{c.option}: not in the manifests" for c in recommended.changes])


# ---- An object that an operator writes


def _of_operator(
    by: str, container: Container, manifests: Manifests, recommended: Recommended
) -> Answer:
    """The fields of the operator's own object; what has none cannot be set there."""
    owner = owner_of(by, container, manifests)
    spec, homeless = dict[str, Any](), list[str]()
    for change in recommended.changes:
        path = recommended.places.find(change.option) or (
            field_of(change, owner) if owner else None
        )
        if path is None or change.value is None:
            homeless.append(f"{change.option}: cannot be set there ({by} has no field for it)")
            continue
        below = spec
        *parents, last = path.removeprefix("spec.").split(".")
        for key in parents:
            below = below.setdefault(key, {})
        below[last] = _typed(change.value)
    told = f"{by} makes this object and undoes a change of it: the answer goes into its own object"
    if owner is None:
        told = f"{told}, which is not in the manifests: give its fields with --values-map"
    text = yaml_text({**(_head(owner) if owner else {}), "spec": spec}) if spec else ""
    return Answer(text, [told], homeless)


def _typed(value: str) -> Any:
    """As a field of an object has it: numbers and switches are no texts."""
    if value in ("true", "false"):
        return value == "true"
    return int(value) if value.isdecimal() and str(int(value)) == value else value


# ---- Patches


def _head(resource: Resource) -> dict[str, Any]:
    namespace = {"namespace": resource.namespace} if resource.namespace else {}
    version = resource.node.text_of("apiVersion")
    metadata = {"name": resource.name, **namespace}
    return {"apiVersion": version, "kind": resource.kind, "metadata": metadata}


def _patch(workload: Workload, template: Mapping[str, Any]) -> dict[str, Any]:
    """A strategic merge patch of a workload with this in the template of its pods."""
    resource = workload.resource
    spec: dict[str, Any] = {"template": dict(template)}
    if resource.kind == "CronJob":
        spec = {"jobTemplate": {"spec": spec}}
    elif resource.kind == "Pod":
        spec = dict(template)["spec"]
    return {**_head(resource), "spec": spec}


def _of_container(container: Container, changed: Mapping[str, Any]) -> dict[str, Any]:
    beside = container.node not in container.workload.pod.get("containers").each()
    kind = "initContainers" if beside else "containers"
    own = {"name": container.name, **changed}
    return _patch(container.workload, {"spec": {kind: [own]}})


# ---- The object from which an operator makes others, and the field of it that sets an option

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_WHOSE = frozenset({"uwsgi"})


def owner_of(by: str, container: Container, manifests: Manifests) -> Resource | None:
    """The object such as `Shop prod`; None if the manifests do not have it."""
    kind, _, name = by.partition(" ")
    return manifests.find(kind, name, container.workload.namespace) if name else None


def field_of(change: Change, owner: Resource) -> str | None:
    """The only field with the words of the option; of several words the present value too.

    `uwsgi_processes` is for `processes`. `uwsgi_listen_queue_size` is for `listen` if it has the
    value that the file has.
    """
    wanted = {*_words(canonical(change.option))}
    exact, near = list[str](), list[str]()
    for path, node in _fields(owner.node.get("spec"), ""):
        words = {*_words(path.rpartition(".")[2])} - _WHOSE
        if _meant(words) == wanted:
            exact.append(path)
        elif wanted < words and node.text == change.was:
            near.append(path)
    found = exact or near
    return found[0] if len(found) == 1 else None


def _meant(words: set[str]) -> set[str]:
    return {canonical(word) for word in words}


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(text)]


def _fields(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    """All fields with a value, each with its path."""
    for key, value in node.items().items():
        inner = f"{path}.{key}" if path else key
        if value.items():
            yield from _fields(value, inner)
        else:
            yield inner, value
