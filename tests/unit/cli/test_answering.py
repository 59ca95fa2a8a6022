"""`tuner recommend --form` for options that stand in no uwsgi.ini, and checks of manifests."""

import io
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.answers import INI, RECOMMENDATION
from tests.unit.cli.conftest import Service, run

NEWEST = "GET /v1/apps/checkout/recommendation"
OLD = "[uwsgi]\nhttp-socket = :8000\nmodule = checkout.wsgi\nprocesses = 2\n"
TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: ini}}
data:
  uwsgi.ini: |
{ini}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  template:
    spec:
      containers:
        - name: app
          image: shop
          command: [uwsgi, --ini, /srv/uwsgi.ini]
          resources: {{limits: {{cpu: 2}}}}
          volumeMounts: [{{name: ini, mountPath: /srv}}]
      volumes: [{{name: ini, configMap: {{name: ini}}}}]
"""
Said = pytest.CaptureFixture[str]


@pytest.fixture
def recommending(service: Service) -> Service:
    """A service with an answer for `checkout`: six processes and two threads."""
    service.on(NEWEST, RECOMMENDATION)
    service.on("GET /v1/jobs/7/sysctls?form=compose", "cpus: 1\nmem_limit: 512m\n")
    return service


def deployed(folder: Path, ini: str = OLD, text: str = TEMPLATE) -> str:
    file = folder / "web.yaml"
    file.write_text(text.format(ini="\n".join(f"    {line}" for line in ini.splitlines())))
    return str(file)


def test_variables_with_the_box_that_they_hold_for(recommending: Service, capsys: Said) -> None:
    assert run("recommend", "checkout", "--form", "environment") == 0
    said = capsys.readouterr()
    assert said.out == (
        "# job 7 for checkout: holds for 1 CPU, 512 MB, somaxconn 4096\n"
        "UWSGI_PROCESSES=6\nUWSGI_THREADS=2\n"
    )
    assert "verdict: better" in said.err
    assert "holds for 1 CPU" in said.err


def test_values_for_helm_by_the_map(recommending: Service, capsys: Said) -> None:
    places = "processes=web.processes,*=web.extra"
    assert run("recommend", "checkout", "--form", "helm", "--values-map", places) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    assert found == {"web": {"processes": 6, "extra": {"threads": 2}}}


def test_an_option_without_a_place_is_named_and_the_exit_code_says_so(
    recommending: Service, capsys: Said
) -> None:
    arguments = ("--form", "helm", "--values-map", "processes=p", "--values-map", "harakiri=h")
    assert run("recommend", "checkout", *arguments) == 1
    said = capsys.readouterr()
    assert yaml.safe_load(said.out) == {"p": 6}
    assert "no place: threads: " in said.err


def test_the_manifest_is_changed_where_its_ini_stands(
    recommending: Service, tmp_path: Path, capsys: Said
) -> None:
    file = deployed(tmp_path, OLD + "harakiri = 60\n")
    assert run("recommend", "checkout", "--form", "kubernetes", "--in", file) == 0
    said = capsys.readouterr()
    config, patch = yaml.safe_load_all(said.out)
    lines = config["data"]["uwsgi.ini"].splitlines()
    assert {"processes = 6", "threads = 2", "harakiri = 60"} <= {*lines}
    assert patch["metadata"]["name"] == "web"
    assert 'holds for resources.limits {cpu: "1", memory: 512Mi}' in said.out
    assert "the manifest has resources.limits {cpu: 2}" in said.err
    assert "killed 30 s after SIGTERM" in said.err
    assert "before harakiri = 60 ends" in said.err


def test_the_changed_manifest_passes_the_check(
    recommending: Service, tmp_path: Path, capsys: Said
) -> None:
    file = deployed(tmp_path)
    assert run("recommend", "checkout", "--form", "kubernetes", "--in", file) == 0
    config = next(yaml.safe_load_all(capsys.readouterr().out))
    new = deployed(tmp_path, config["data"]["uwsgi.ini"])
    assert run("recommend", "checkout", "--check", new) == 0
    place = "(ConfigMap ini, key uwsgi.ini)"
    assert f"{new} {place} has the same effect" in capsys.readouterr().err


def test_a_manifest_of_another_effect_gets_a_diff_of_itself(
    recommending: Service, tmp_path: Path, capsys: Said
) -> None:
    file = deployed(tmp_path)
    assert run("recommend", "checkout", "--check", file) == 1
    said = capsys.readouterr()
    assert "  processes: 2 deployed, 6 recommended" in said.err
    subprocess.run(["patch", "--silent", file], input=said.out.encode(), check=True)
    assert Path(file).read_text() == TEMPLATE.format(
        ini="\n".join(f"    {line}" for line in INI.splitlines())
    )
    assert run("recommend", "checkout", "--check", file) == 0


def test_a_manifest_may_come_on_standard_input(
    recommending: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    content = Path(deployed(tmp_path, INI)).read_bytes()
    for arguments in (("--check", "-"), ("--form", "kustomize", "--in", "-")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert run("recommend", "checkout", *arguments) == 0
    assert "kind: ConfigMap" in capsys.readouterr().out


def test_a_gate_reads_manifests_too(recommending: Service, tmp_path: Path, capsys: Said) -> None:
    recommending.on("GET /readyz", {"status": "ok"})
    file = deployed(tmp_path)
    assert run("gate", "checkout", "--image", "shop:2", "--check", file) == 1
    assert "processes: 2 deployed, 6 recommended" in capsys.readouterr().err


def test_one_of_two_deployments_is_named(
    recommending: Service, tmp_path: Path, capsys: Said
) -> None:
    both = TEMPLATE + "---" + TEMPLATE.split("---")[1].replace("name: web", "name: api")
    file = deployed(tmp_path, INI, both)
    assert run("recommend", "checkout", "--check", file) == 2
    assert "there are: web/app, api/app" in capsys.readouterr().err
    assert run("recommend", "checkout", "--check", file, "--deployment", "api") == 0


def test_a_manifest_without_an_ini_is_refused_before_anything_is_asked(
    service: Service, tmp_path: Path, capsys: Said
) -> None:
    text = TEMPLATE.replace("--ini, /srv/uwsgi.ini", "--ini, /image/uwsgi.ini")
    assert run("recommend", "checkout", "--check", deployed(tmp_path, OLD, text)) == 2
    assert (
        "the options of web/app stand in its image, and in no uwsgi.ini" in capsys.readouterr().err
    )
    assert not service.seen


@pytest.mark.parametrize(("processes", "code"), [("6", 0), ("2", 1)])
def test_the_words_of_a_command_are_compared_with_its_variables_in_them(
    recommending: Service, tmp_path: Path, capsys: Said, processes: str, code: int
) -> None:
    words = "uwsgi, --http-socket, ':8000', --module, checkout.wsgi, -p, $(N), --threads=2"
    env = f"          env: [{{{{name: N, value: '{processes}'}}}}]\n"
    text = TEMPLATE.replace("uwsgi, --ini, /srv/uwsgi.ini", words)
    text = text.replace("          resources", f"{env}          resources")
    assert run("recommend", "checkout", "--check", deployed(tmp_path, OLD, text)) == code
    said = capsys.readouterr()
    assert "(the command of web/app)" in said.err
    assert ("+processes = 6" in said.out) is bool(code)


def test_a_compose_file_gets_an_override_with_its_limits(
    recommending: Service, tmp_path: Path, capsys: Said
) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text("services: {web: {image: shop, command: [uwsgi, --harakiri, '5']}}\n")
    assert run("recommend", "checkout", "--form", "compose", "--in", str(file)) == 0
    said = capsys.readouterr()
    command = ["uwsgi", "--harakiri", "5", "--processes", "6", "--threads", "2"]
    assert yaml.safe_load(said.out) == {
        "services": {"web": {"command": command, "cpus": 1, "mem_limit": "512m"}}
    }


def test_a_service_of_an_included_file_gets_its_override_too(
    recommending: Service, tmp_path: Path, capsys: Said
) -> None:
    service = "services: {web: {image: shop, command: [uwsgi, -p, '2']}}\n"
    (tmp_path / "web.yaml").write_text(service)
    file = tmp_path / "compose.yaml"
    file.write_text("include: [web.yaml]\nservices: {db: {image: postgres}}\n")
    assert run("recommend", "checkout", "--form", "compose", "--in", str(file)) == 0
    said = capsys.readouterr()
    assert list(yaml.safe_load(said.out)["services"]) == ["web"]
    assert "how long web may take to stop is not known" in said.err


def test_the_stop_of_a_service_is_compared_with_the_times_of_the_file(
    service: Service, tmp_path: Path, capsys: Said
) -> None:
    service.on(NEWEST, {**RECOMMENDATION, "uwsgi_ini": f"{INI}harakiri = 60\n"})
    service.on("GET /v1/jobs/7/sysctls?form=compose", "cpus: 1\n")
    file = tmp_path / "compose.yaml"
    file.write_text("services: {web: {image: a, command: uwsgi -p 2, stop_grace_period: 20s}}\n")
    assert run("recommend", "checkout", "--form", "compose", "--in", str(file)) == 0
    assert "killed 20 s after SIGTERM (stop_grace_period 20 s)" in capsys.readouterr().err


def test_without_a_file_compose_gets_that_of_the_service(
    recommending: Service, capsys: Said
) -> None:
    recommending.on("GET /v1/jobs/7/compose.yaml", "services: {}\n")
    assert run("recommend", "checkout", "--form", "compose") == 0
    assert capsys.readouterr().out == "services: {}\n"


def test_a_kernel_setting_is_no_option_of_uwsgi(service: Service, capsys: Said) -> None:
    line = {
        "option": "net.ipv4.tcp_syncookies",
        "value": "0",
        "baseline_value": "1",
        "effect": None,
    }
    service.on(NEWEST, {**RECOMMENDATION, "lines": [*RECOMMENDATION["lines"], line]})
    assert run("recommend", "checkout", "--form", "environment") == 1
    said = capsys.readouterr()
    assert "SYNCOOKIES" not in said.out
    assert "no place: net.ipv4.tcp_syncookies: a kernel setting: 0 in the pod's" in said.err


def test_there_is_nothing_to_change_where_the_own_settings_stay(
    service: Service, tmp_path: Path, capsys: Said
) -> None:
    kept = {"verdict": "no_difference", "lines": [], "uwsgi_ini": OLD}
    service.on(NEWEST, {**RECOMMENDATION, **kept})
    file = deployed(tmp_path)
    assert run("recommend", "checkout", "--form", "kubernetes", "--in", file) == 0
    said = capsys.readouterr()
    assert len(list(yaml.safe_load_all(said.out))) == 1
    assert "there is nothing to change" in said.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--form", "kubernetes"), "give the manifest with --in FILE"),
        (("--form", "environment", "--in", "x.yaml"), "read a file"),
        (("--form", "compose", "--in", "-"), "give the path of the compose file"),
        (("--form", "helm", "--values-map", "processes"), "is not OPTION=PLACE"),
        (("--form", "environment", "--values-map", "*=X"), "`*` is a key of --form helm"),
        (("--form", "helm", "--check", "uwsgi.ini"), "take patched or overlay"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_asked(
    service: Service, capsys: Said, arguments: tuple[str, ...], told: str
) -> None:
    assert run("recommend", "checkout", *arguments) == 2
    assert told in capsys.readouterr().err
    assert not service.seen
