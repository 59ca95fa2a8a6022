"""Which container starts uwsgi, where its options stand, and what is no manifest."""

import io
import re
import sys
import time
from pathlib import Path

import pytest

from tuner.nouns.errors import InvalidInput
from tuner.targets.kubernetes.manifests import (
    Choice,
    Container,
    Options,
    Stands,
    chosen,
    options_of,
    read_manifests,
)
from tuner.targets.kubernetes.objects import Manifests, Writer, written_by

POD = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  template:
    spec:
      containers:
        - {{name: web, image: shop, {start}}}
      volumes: [{{name: ini, configMap: {{name: ini}}}}]
"""
INI = """
apiVersion: v1
kind: ConfigMap
metadata: {name: ini}
data:
  other: text
  uwsgi.ini: |
    [uwsgi]
    processes = 2
  last: text
"""
MOUNT = "volumeMounts: [{name: ini, mountPath: /srv}]"


def pod(start: str, name: str = "shop") -> str:
    return POD.format(name=name, start=start)


def given(*texts: str, folder: Path) -> Manifests:
    file = folder / "all.yaml"
    file.write_text("---".join(texts))
    return read_manifests([file])


def found(manifests: Manifests, **choice: str) -> tuple[Container, Options]:
    container = chosen(manifests, Choice(**choice))  # type: ignore[arg-type]
    return container, options_of(container, manifests)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(InvalidInput) as error:
        given(text, folder=folder)
    return str(error.value)


@pytest.mark.parametrize(
    ("mount", "path"),
    [
        (MOUNT, "/srv/uwsgi.ini"),
        ("volumeMounts: [{name: ini, mountPath: /etc/a.ini, subPath: uwsgi.ini}]", "/etc/a.ini"),
    ],
)
def test_the_key_of_a_config_map_and_its_lines(tmp_path: Path, mount: str, path: str) -> None:
    manifests = given(INI, pod(f"command: [uwsgi, {path}], {mount}"), folder=tmp_path)
    _, options = found(manifests)
    assert (options.stands, options.path) == (Stands.CONFIG_MAP, path)
    assert options.file is not None
    assert (options.file.source.title, options.file.key) == ("ConfigMap ini", "uwsgi.ini")
    assert (options.file.node.line, options.file.node.end) == (7, 9)
    assert options.file.node.text == "[uwsgi]\nprocesses = 2\n"


def test_items_of_a_projected_volume(tmp_path: Path) -> None:
    text = pod("command: [uwsgi, --ini, /srv/conf.d/a.ini], " + MOUNT).replace(
        "configMap: {name: ini}",
        "projected: {sources: [{secret: {name: x}},"
        " {configMap: {name: ini, items: [{key: uwsgi.ini, path: conf.d/a.ini}]}}]}",
    )
    _, options = found(given(INI, text, folder=tmp_path))
    assert options.path == "/srv/conf.d/a.ini"


def test_without_a_command_the_file_for_uwsgi_tells(tmp_path: Path) -> None:
    _, options = found(given(INI, pod(MOUNT), pod("args: [celery]", "worker"), folder=tmp_path))
    assert options.stands is Stands.CONFIG_MAP


@pytest.mark.parametrize(
    ("start", "stands", "path"),
    [
        ("args: [uwsgi, --http, ':80']", Stands.COMMAND, ""),
        ("args: [uwsgi, --ini, /app/uwsgi.ini]", Stands.IMAGE, "/app/uwsgi.ini"),
        ("env: [{name: UWSGI_PROCESSES, value: '3'}]", Stands.VARIABLES, ""),
        ("env: [{name: A, value: '3'}]", Stands.IMAGE, ""),
    ],
)
def test_options_that_are_in_no_config_map(
    tmp_path: Path, start: str, stands: Stands, path: str
) -> None:
    _, options = found(given(pod(start), folder=tmp_path))
    assert (options.stands, options.path) == (stands, path)


def test_two_deployments_with_uwsgi_are_a_question(tmp_path: Path) -> None:
    uwsgi = "command: [uwsgi, --http, ':80']"
    manifests = given(pod(uwsgi, "api"), pod(uwsgi, "shop"), folder=tmp_path)
    with pytest.raises(InvalidInput, match=r"--deployment: .* there are: api/web, shop/web"):
        found(manifests)
    container, _ = found(manifests, deployment="shop")
    assert container.title == "shop/web"
    with pytest.raises(InvalidInput, match="no cart in the manifests; there are: api/web"):
        found(manifests, deployment="cart")


def test_an_image_tells_what_no_manifest_says(tmp_path: Path) -> None:
    asked: list[str] = []

    def entry(image: str) -> dict[str, list[str]]:
        asked.append(image)
        return {"CMD": ["uwsgi", "--http", ":80"]} if image == "shop" else {"CMD": ["nginx"]}

    other = pod("args: []", "other").replace("image: shop", "image: other")
    manifests = given(other, pod("env: []"), folder=tmp_path)
    container = chosen(manifests, Choice(entry=entry))
    assert (container.title, container.words) == ("shop/web", ("uwsgi", "--http", ":80"))
    asked.clear()
    told = given(other, pod("command: [uwsgi, --http, ':80']"), folder=tmp_path)
    assert chosen(told, Choice(entry=entry)).title == "shop/web"
    assert asked == []


def test_a_list_with_what_the_server_wrote(tmp_path: Path) -> None:
    old = "kubectl.kubernetes.io/last-applied-configuration: 'password=old'"
    item = pod("command: [uwsgi, /srv/uwsgi.ini], " + MOUNT).replace(
        "metadata: {name: shop}",
        f"metadata: {{name: shop, annotations: {{{old}}}, managedFields: [{{a: old}}]}}",
    )
    items = [
        "- " + "\n  ".join(each.strip().splitlines()) for each in (INI, f"{item}status: {{a: old}}")
    ]
    text = "\n".join(["---", "---", "apiVersion: v1", "kind: List", "items:", *items, "- null", ""])
    file = tmp_path / "all.yaml"
    file.write_bytes(text.replace("\n", "\r\n").encode())
    manifests = read_manifests([file])
    _, options = found(manifests)
    assert options.stands is Stands.CONFIG_MAP
    assert options.nodes[0].text == "[uwsgi]\nprocesses = 2\n"
    assert "old" not in str(manifests)


def test_the_namespace_chooses(tmp_path: Path) -> None:
    uwsgi = "command: [uwsgi, --http, ':80']"
    both = [
        pod(uwsgi).replace("{name: shop}", f"{{name: shop, namespace: {name}}}")
        for name in ("test", "production")
    ]
    (tmp_path / "all.yaml").write_text("---".join(both))
    container, _ = found(read_manifests([tmp_path / "all.yaml"], "production"))
    assert container.workload.namespace == "production"


def test_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(INI.encode())))
    assert read_manifests([Path("-")]).find("ConfigMap", "ini", "") is not None


@pytest.mark.parametrize(
    ("metadata", "writer", "by"),
    [
        ("{name: ini}", Writer.NOBODY, ""),
        ("{name: ini-7h2k9m4b6t}", Writer.GENERATOR, ""),
        ("{name: i, labels: {app.kubernetes.io/managed-by: Helm}}", Writer.HELM, ""),
        ("{name: i, labels: {helm.sh/chart: shop-1.2}}", Writer.HELM, "shop-1.2"),
        ("{name: i, labels: {app.kubernetes.io/managed-by: shop-op}}", Writer.OPERATOR, "shop-op"),
        ("{name: i, ownerReferences: [{kind: Shop, name: a}]}", Writer.OPERATOR, "Shop a"),
    ],
)
def test_who_writes_a_config_map(tmp_path: Path, metadata: str, writer: Writer, by: str) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n"
    written = written_by(given(text, folder=tmp_path).resources[0])
    assert (written.writer, written.by) == (writer, by)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("image: {{ .Values.image }}\n", "all.yaml:1: is a template of Helm: give what `helm"),
        ("replicas: 3\nimage: {tag: 1}\n", "all.yaml:1: has no `kind`, .* the values of a chart"),
        ("apiVersion: v2\nname: shop\nversion: 1.0\n", "is the Chart.yaml"),
        ("kind: Kustomization\n", "`kustomize build` prints"),
        ("bases: [../base]\nnamePrefix: a-\n", "`kustomize build` prints"),
        ("services: {web: {image: shop}}\n", "is a compose file: give it with --compose"),
        ("just a text\n", "is no manifest"),
        ("---\n", "there is no object of Kubernetes in it"),
        ("a: [\n", "not YAML"),
        ("a: &a [*a]\nkind: b\napiVersion: c\n", "contains itself"),
    ],
)
def test_what_is_no_manifest(tmp_path: Path, text: str, told: str) -> None:
    assert re.search(told, refused(tmp_path, text))


def test_what_has_no_end(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no plain file"):
        read_manifests([Path("/dev/zero")])


@pytest.mark.parametrize(
    "text",
    [
        "a: &0 [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &{n} [{', '.join([f'*{n - 1}'] * 10)}]\n" for n in range(1, 9)),
        "a: [" + "x, " * 1_000_000 + "]\n",
        "a: b\n" * 4_000_001,
        "a: " + "[" * 200_000,
    ],
    ids=["bomb", "many values", "many bytes", "many levels"],
)
def test_too_much_is_refused_soon(tmp_path: Path, text: str) -> None:
    began = time.monotonic()
    told = refused(tmp_path, f"apiVersion: v1\nkind: ConfigMap\n{text}")
    assert "has more than" in told or "is larger than" in told
    assert time.monotonic() - began < 10
