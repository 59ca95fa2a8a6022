"""From manifests and the options of `tuner app init` to the parts of a target app."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.targets import compose
from tuner.targets.compose.interpolation import Variables
from tuner.targets.compose.project import ComposeFile
from tuner.targets.kubernetes.gathering import Gatherer
from tuner.targets.kubernetes.manifests import (
    Choice,
    Container,
    Options,
    Stands,
    chosen,
    options_of,
    read_manifests,
)
from tuner.targets.kubernetes.notes import name_the_rest
from tuner.targets.kubernetes.objects import Manifests
from tuner.targets.kubernetes.volumes import files_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The manifests, and the names of the container to tune where they are needed."""

    files: tuple[Path, ...]
    deployment: str | None = None
    container: str | None = None
    namespace: str = ""


def draft(wanted: compose.Wanted, asked: Asked) -> compose.Draft:
    """The target app of one container. Raises `InvalidInput` with all mistakes."""
    if wanted.compose or wanted.service:
        told = "it takes no --compose and no --service: the manifests have --deployment NAME"
        raise InvalidInput.at("--kubernetes", told)
    manifests = read_manifests(asked.files, asked.namespace)
    container = chosen(manifests, Choice(asked.deployment, asked.container, wanted.entry))
    options = options_of(container, manifests)
    if wanted.ini is None and wanted.command is None:
        _refuse_python(container, options, manifests)
    gathered = Gatherer(manifests, container, options).gather()
    tree = ComposeFile((container.node.file,), Variables())
    tree.give(gathered.root)
    made = compose.draft(replace(wanted, service=gathered.app), tree)
    name_the_rest(gathered.app, container, options, manifests, made)
    taken = {gathered.app, *gathered.steps, *made.document.get("services", {})}
    for name, findings in gathered.findings.items():
        if name in taken:
            made.findings.add(findings)
    what = f"{container.workload.resource.title}, container {container.name}"
    return replace(made, origin=f"{what}, of {', '.join(map(str, asked.files))}")


_IN_PYTHON = re.compile(
    r"[\"'](?:workers|processes|thunder-lock|uwsgi-socket|http-socket|harakiri|max-requests)[\"']"
    r"\s*[:\]]"
)


def _refuse_python(container: Container, options: Options, manifests: Manifests) -> None:
    """Refuse options that a program in Python gives to uWSGI: no file would be read."""
    if options.stands not in (Stands.IMAGE, Stands.VARIABLES) or options.path:
        return
    for file in files_of(container.workload, container.node, manifests):
        if file.path.endswith(".py") and _IN_PYTHON.search(file.node.text):
            told = (
                f"{file.source.title} has the options of uWSGI in Python, as {file.path}: no"
                " uwsgi.ini exists, and the app would not read one. Give the same options with"
                " --ini FILE or --command 'uwsgi ...'; the answer goes back into the Python text"
            )
            raise InvalidInput.at(f"{file.node.file}:{file.node.line}", told)
