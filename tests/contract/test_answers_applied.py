"""kubectl, kustomize and Helm take the answers that we write, and the options are found again."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tuner.targets.answers import Recommended
from tuner.targets.kubernetes import Choice, Manifest
from tuner.targets.yaml_text import yaml_text
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.places import Change, Places, values

pytestmark = pytest.mark.real

with_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
with_helm = pytest.mark.skipif(shutil.which("helm") is None, reason="there is no helm")

INI = "[uwsgi]\nmodule = shop\nprocesses = 2\n"
NEW = "[uwsgi]\nmodule = shop\nprocesses = 6\nthreads = 3\n"
CHANGES = (Change("processes", "6", "2"), Change("threads", "3"))
CONFIG = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: ini}}
data:
  other: text
  uwsgi.ini: |
    {INI.rstrip().replace(chr(10), chr(10) + "    ")}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {ours: "1"}}
    spec:
      containers:
        - {name: nginx, image: nginx}
        - name: app
          image: shop
          env:
            - {name: MODE, value: fast}
            - {name: UWSGI_HARAKIRI, value: "9"}
            - {name: UWSGI_PROCESSES, valueFrom: {configMapKeyRef: {name: sizes, key: web}}}
          command: [COMMAND]
          volumeMounts: [{name: ini, mountPath: /srv}]
      volumes: [{name: ini, configMap: {name: ini}}]
"""
MOUNTED = WEB.replace("COMMAND", "uwsgi, --ini, /srv/uwsgi.ini")
BY_VARIABLES = WEB.replace("COMMAND", "shop-server").replace("mountPath: /srv}", "mountPath: /x}")


def recommended(*more: Change) -> Recommended:
    return Recommended(IniFile.parse(NEW), [*CHANGES, *more])


def built(folder: Path) -> str:
    return said("kubectl", "kustomize", str(folder))


def said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def manifest(text: str) -> Manifest:
    return Manifest.read("all.yaml", text, Choice())


def container(text: str) -> Any:
    pod = manifest(text).container.workload.resource.node
    found = yaml.safe_load_all(text)
    web = next(each for each in found if each["kind"] == pod.text_of("kind"))
    return next(c for c in web["spec"]["template"]["spec"]["containers"] if c["name"] == "app")


def kustomized(folder: Path, resources: dict[str, str], **more: Any) -> None:
    for name, text in resources.items():
        (folder / name).write_text(text)
    document = {"resources": list(resources), **more}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(document))


@with_kubectl
def test_kustomize_puts_our_patches_over_the_base(tmp_path: Path) -> None:
    base = f"{CONFIG}---\n{MOUNTED}"
    answer = manifest(base).answer(recommended(), kustomize=True)
    resources = {"all.yaml": base}
    (tmp_path / "answer.yaml").write_text(f"# job 7\n{answer.text}")
    kustomized(tmp_path, resources, patches=[{"path": "answer.yaml"}])
    text = built(tmp_path)
    assert manifest(text).ini == NEW
    config, web = yaml.safe_load_all(text)
    assert config["data"]["other"] == "text"
    assert {*web["spec"]["template"]["metadata"]["annotations"]} == {"ours", "checksum/uwsgi-ini"}
    assert len(web["spec"]["template"]["spec"]["containers"]) == 2


@with_kubectl
def test_kustomize_gives_a_generated_config_map_a_new_name(tmp_path: Path) -> None:
    (tmp_path / "uwsgi.ini").write_text(INI)
    generator = [{"name": "ini", "files": ["uwsgi.ini"]}]
    kustomized(tmp_path, {"web.yaml": MOUNTED}, configMapGenerator=generator)
    before = built(tmp_path)
    answer = manifest(before).answer(recommended(), kustomize=True)
    (tmp_path / "uwsgi.ini").write_text(answer.text)
    after = built(tmp_path)
    assert manifest(after).ini == NEW
    assert str(manifest(after).key) != str(manifest(before).key)


@with_kubectl
def test_a_patch_of_variables_sets_replaces_and_removes(tmp_path: Path) -> None:
    answer = manifest(BY_VARIABLES).answer(
        recommended(Change("harakiri", None, "9")), kustomize=True
    )
    (tmp_path / "answer.yaml").write_text(answer.text)
    kustomized(tmp_path, {"web.yaml": BY_VARIABLES}, patches=[{"path": "answer.yaml"}])
    assert {each["name"]: each for each in container(built(tmp_path))["env"]} == {
        "MODE": {"name": "MODE", "value": "fast"},
        "UWSGI_PROCESSES": {"name": "UWSGI_PROCESSES", "value": "6"},
        "UWSGI_THREADS": {"name": "UWSGI_THREADS", "value": "3"},
    }


@with_kubectl
def test_kubectl_patches_a_command_and_the_annotation(tmp_path: Path) -> None:
    by_command = WEB.replace("COMMAND", "uwsgi, --module, shop, -p, '2'")
    for text, is_last in ((by_command, False), (f"{CONFIG}---\n{MOUNTED}", True)):
        answer = manifest(text).answer(recommended(), kustomize=False)
        web, patch = tmp_path / "web.yaml", tmp_path / "patch.yaml"
        web.write_text(text.rpartition("---\n")[2])
        patch.write_text(answer.text.rpartition("---\n")[2])
        files = ("-f", str(web), "--patch-file", str(patch))
        patched = said("kubectl", "patch", "--local", "--type=strategic", *files, "-o", "yaml")
        words = ["uwsgi", "--ini", "/srv/uwsgi.ini"]
        if not is_last:
            words = ["uwsgi", "--module", "shop", "--processes", "6", "--threads", "3"]
        assert container(patched)["command"] == words
        assert ("checksum/uwsgi-ini" in patched) is is_last


CHART = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "values.yaml": "web: {processes: 2}\nextra: {}\n",
    "templates/ini.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: ini, labels: {app.kubernetes.io/managed-by: Helm}}
data:
  uwsgi.ini: |
    [uwsgi]
    processes = {{ .Values.web.processes }}
    {{- range $option, $value := .Values.extra }}
    {{ $option }} = {{ $value }}
    {{- end }}
""",
    "templates/web.yaml": MOUNTED,
}
PRINTED = {
    **{"limit-post": "209715200", "max-requests": "1000000", "harakiri": "60", "umask": "022"},
    **{"thunder-lock": "on", "lazy-apps": "true", "single-interpreter": "no"},
    **{"http-timeout": "999999", "procname": "1e3", "procname-prefix": "y", "uid": "0x10"},
}


@with_helm
def test_helm_prints_each_value_as_it_is_written(tmp_path: Path) -> None:
    for name, text in CHART.items():
        file = tmp_path / "shop" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    changes = [Change("processes", "6", "2"), *(Change(o, v) for o, v in PRINTED.items())]
    places = Places.parse(["processes=web.processes,*=extra"], "--values-map")
    fragment = tmp_path / "answer.yaml"
    fragment.write_text(yaml_text(values(changes, places).placed))
    rendered = said("helm", "template", "x", str(tmp_path / "shop"), "-f", str(fragment))
    ini = IniFile.parse(manifest(rendered).ini)
    assert {option: ini.get(option) for option in PRINTED} == PRINTED
    assert ini.get("processes") == "6"
