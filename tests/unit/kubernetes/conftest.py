"""Manifests as a test writes them, and what `tuner app init --kubernetes` makes of them."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import TargetApp
from tuner.targets.catalogue import HostCatalogue
from tuner.targets.compose import Wanted, write
from tuner.targets.kubernetes import Asked, draft

INI = "[uwsgi]\nhttp-socket = :8000\n"


@dataclass(frozen=True)
class Made:
    """The target app as the catalogue reads it, its present file, the notes, and all texts."""

    app: TargetApp
    ini: str
    notes: dict[str, str]
    text: str


@dataclass(frozen=True)
class Cluster:
    """The manifests of one app, in a folder of their own."""

    folder: Path

    def made(
        self, *manifests: str, ini: str | None = None, command: str | None = None, **asked: str
    ) -> Made:
        """The folder after `init`, read back by the catalogue."""
        home = self.folder / "shop"
        wanted, choice = self._asked(manifests, ini, asked)
        found = draft(replace(wanted, command=command), choice)
        write(found, home)
        known = HostCatalogue.load([self.folder], with_own=False).apps["shop"]
        notes = {note.what: f"{note.kind}: {note.why}" for note in found.findings.notes}
        text = "".join(file.read_text() for file in home.iterdir())
        return Made(known.app, known.baseline_ini, notes, text)

    def refused(self, *manifests: str, **asked: str) -> str:
        """What is wrong with them."""
        with pytest.raises(InvalidInput) as error:
            draft(*self._asked(manifests, None, asked))
        return str(error.value)

    def _asked(
        self, manifests: tuple[str, ...], ini: str | None, asked: dict[str, str]
    ) -> tuple[Wanted, Asked]:
        file = self.folder / "all.yaml"
        file.write_text("\n---\n".join(manifests))
        given = self.folder / "given.ini"
        given.write_text(ini or "")
        wanted = Wanted(folder=self.folder / "shop", ini=given if ini else None)
        return wanted, Asked(files=(file,), **asked)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def pod(
    container: str,
    *,
    spec: str = "",
    name: str = "shop",
    kind: str = "Deployment",
    namespace: str = "prod",
    image: str = "shop:1",
    start: str = "command: [uwsgi, --http-socket, ':8000'], ",
) -> str:
    """A workload of one container; `container` and `spec` are flow mappings without braces."""
    return f"""
apiVersion: apps/v1
kind: {kind}
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: main, image: "{image}", {start}{container}}}], {spec}}}
"""


def config(name: str, **data: str) -> str:
    """A ConfigMap."""
    lines = "".join(f"  {key}: {json.dumps(text)}\n" for key, text in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n{lines}"


def service(name: str, app: str, *, namespace: str = "prod", port: str = "5432") -> str:
    """A Service for the pods of a workload."""
    return (
        f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{selector: {{app: {app}}}, ports: [{{port: 1, targetPort: {port}}}]}}\n"
    )
