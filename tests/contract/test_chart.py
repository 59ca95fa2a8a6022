"""The Helm chart of deploy/: Helm accepts it, and what it makes is what a cluster should get."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart import CHART, SET_BY_TEMPLATES
from tuner.cli import main
from tuner.provision import for_tests
from tuner.provision.host import detect
from tuner.service.settings import Settings

pytestmark = pytest.mark.real

Thing = dict[str, Any]

SECRETS = {"TUNER_DATABASE_URL": "postgresql://tuner:secret@db/tuner", "SHOP_KEY": "secret"}
GROUP = 1_000_998  # Helm would print it as 1.000998e+06
IMAGES = {"base": "registry.example/base:1", "load": "registry.example/load:1"}
REQUIRED: Mapping[str, Any] = {
    "image": {"repository": "registry.example/tuner"},
    "database": {"secret": "tuner-database"},
    "api": {"keySecret": "tuner-key"},
}
SETS: Mapping[str, Mapping[str, Any]] = {
    "api": REQUIRED,
    "node": {
        **REQUIRED,
        "worker": {"pools": ["small", "big"], "engine": {"group": GROUP}, "images": IMAGES},
    },
    "all": {
        "image": {**REQUIRED["image"], "digest": f"sha256:{64 * 'a'}"},
        "imagePullSecrets": [{"name": "registry"}],
        "database": {"secret": "db", "port": 6432, "keys": {"migrate": "owner", "api": "api"}},
        "settings": {"TUNER_IMAGES_ALLOWED": "registry.example/*", "TUNER_JOBS_WAITING": "20"},
        "volumes": [{"name": "ca", "configMap": {"name": "ca"}}],
        "volumeMounts": [{"name": "ca", "mountPath": "/srv/ca"}],
        "migrate": {"dumpClaim": "dumps"},
        "api": {
            "replicas": 3,
            "keySecret": "key",
            "oidcSecret": "oidc",
            "tlsSecret": "tls",
            "hosts": ["tuner.example"],
        },
        "worker": {
            "pools": ["default"],
            "engine": {"kind": "sidecar", "data": "/srv/docker"},
            "images": {**IMAGES, "journey": "registry.example/k6:1"},
            "registrySecret": "pull",
            "secretsFrom": ["shop"],
        },
        "networkPolicy": {"database": [{"ipBlock": {"cidr": "10.1.0.0/24"}}]},
    },
    "workers": {
        **REQUIRED,
        "api": {"enabled": False},
        "worker": {"pools": ["default"], "engine": {"kind": "sidecar"}, "images": IMAGES},
    },
}


def helm(*arguments: str, values: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    program = for_tests.find_helm(detect(os.environ).cache)
    assert program.is_file(), "there is no helm: `make test` downloads it"
    return subprocess.run(
        [str(program), *arguments, "--kube-version", "1.34.0", "--values", "-"],
        input=yaml.safe_dump(dict(values)),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )


def made(values: Mapping[str, Any]) -> list[Thing]:
    """The objects of a release `tuner` in the namespace `bench`."""
    done = helm("template", "tuner", str(CHART), "--namespace", "bench", values=values)
    assert done.returncode == 0, done.stdout
    return [thing for thing in yaml.safe_load_all(done.stdout) if thing]


@pytest.fixture(scope="module", params=SETS)
def things(request: pytest.FixtureRequest) -> list[Thing]:
    return made(SETS[request.param])


def named(things: list[Thing], kind: str) -> dict[str, Thing]:
    return {thing["metadata"]["name"]: thing for thing in things if thing["kind"] == kind}


def pods(things: list[Thing]) -> Iterator[tuple[Thing, Thing]]:
    """The labels and the spec of each pod."""
    for thing in things:
        pod = thing if thing["kind"] == "Pod" else thing["spec"].get("template")
        if pod:
            yield pod["metadata"]["labels"], pod["spec"]


def containers(pod: Thing) -> list[Thing]:
    return [*pod.get("initContainers", ()), *pod["containers"]]


def environment(container: Thing) -> dict[str, str]:
    """The variables of a container, with a text for each that the cluster fills in."""
    given = {each["name"]: each.get("value") for each in container.get("env", ())}
    return {
        name: SECRETS.get(name, "node-1") if text is None else text for name, text in given.items()
    }


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_helm_finds_no_fault(values: Mapping[str, Any]) -> None:
    done = helm("lint", "--strict", str(CHART), values=values)
    assert done.returncode == 0, done.stdout


def test_no_pod_has_more_than_it_needs(things: list[Thing]) -> None:
    for _, pod in pods(things):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(pod):
            if container["name"] != "engine":
                assert container["securityContext"] == {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                }
                assert container["resources"]["limits"]["memory"]


def test_no_service_becomes_a_variable_that_looks_like_a_setting(things: list[Thing]) -> None:
    assert all(pod["enableServiceLinks"] is False for _, pod in pods(things))


def test_each_container_starts_a_command_of_ours_with_settings_that_it_accepts(
    things: list[Thing], tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("the-first-key")
    for _, pod in pods(things):
        for container in pod["containers"]:
            given = environment(container)
            if "command" not in container:
                with pytest.raises(SystemExit) as ended:
                    main([*container["args"], "--help"])
                assert ended.value.code == 0
            if "TUNER_API_KEY_FILE" in given:
                given["TUNER_API_KEY_FILE"] = str(key)
            Settings.from_environ(given)


def test_each_script_compiles(things: list[Thing]) -> None:
    for _, pod in pods(things):
        for container in containers(pod):
            if container.get("command") == ["python3", "-c"]:
                compile(container["args"][0], container["name"], "exec")


def test_secrets_are_read_from_secrets_only(things: list[Thing]) -> None:
    for _, pod in pods(things):
        for container in containers(pod):
            for each in container.get("env", ()):
                if each["name"] in SECRETS:
                    assert set(each["valueFrom"]) == {"secretKeyRef"}


def test_each_mount_has_its_volume_and_each_volume_its_mount(things: list[Thing]) -> None:
    for _, pod in pods(things):
        mounts = {m["name"] for c in containers(pod) for m in c.get("volumeMounts", ())}
        assert mounts == {volume["name"] for volume in pod.get("volumes", ())}


def test_each_selector_finds_its_pods_and_no_others(things: list[Thing]) -> None:
    found = [labels for labels, _ in pods(things)]
    for thing in things:
        spec = thing["spec"]
        selector = spec.get("podSelector") or spec.get("selector") or {}
        wanted = selector.get("matchLabels", selector)
        if wanted:
            matching = [labels for labels in found if wanted.items() <= labels.items()]
            assert len({labels["app.kubernetes.io/component"] for labels in matching}) == 1


def test_all_that_the_templates_set_is_in_a_release_with_all() -> None:
    given = {
        name
        for _, pod in pods(made(SETS["all"]))
        for c in containers(pod)
        for name in environment(c)
    }
    assert given >= SET_BY_TEMPLATES


def test_a_pool_has_its_nodes_and_the_worker_the_name_of_its_node() -> None:
    workers = named(made(SETS["node"]), "DaemonSet")
    assert set(workers) == {"tuner-uwsgi-tuner-worker-small", "tuner-uwsgi-tuner-worker-big"}
    for name, worker in workers.items():
        pool = name.rpartition("-")[2]
        pod = worker["spec"]["template"]["spec"]
        assert pod["nodeSelector"] == {"uwsgi-tuner/pool": pool}
        assert pod["containers"][0]["args"] == ["worker", "--pool", pool]
        assert str(pod["securityContext"]["supplementalGroups"]) == f"[{GROUP}]"
        (named_by,) = [e for e in pod["containers"][0]["env"] if e["name"] == "TUNER_WORKER_NAME"]
        assert named_by["valueFrom"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}


def test_an_engine_beside_the_worker_starts_first_and_listens_on_no_port() -> None:
    (worker,) = named(made(SETS["all"]), "DaemonSet").values()
    pod = worker["spec"]["template"]["spec"]
    engine, images = pod["initContainers"]
    assert (engine["name"], engine["restartPolicy"]) == ("engine", "Always")
    assert not [argument for argument in engine["args"] if "tcp://" in argument]
    sockets = {environment(c)["DOCKER_HOST"] for c in (engine, images, pod["containers"][0])}
    assert sockets == {"unix:///run/engine/docker.sock"}
    assert not [v for v in pod["volumes"] if v.get("hostPath", {}).get("type") == "Socket"]


def test_each_part_reads_its_own_url() -> None:
    keys = {}
    for labels, pod in pods(made(SETS["all"])):
        for each in pod["containers"][0].get("env", ()):
            if each["name"] == "TUNER_DATABASE_URL":
                part = labels["app.kubernetes.io/component"]
                keys[part] = each["valueFrom"]["secretKeyRef"]["key"]
    assert keys == {"migrate": "owner", "api": "api", "worker": "url"}


def test_only_several_apis_have_a_budget_of_disruptions() -> None:
    assert not named(made(SETS["api"]), "PodDisruptionBudget")
    assert named(made(SETS["all"]), "PodDisruptionBudget")


def test_tables_are_brought_up_to_date_before_anything_new_starts() -> None:
    (job,) = named(made(SETS["api"]), "Job").values()
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert not named(made(SETS["workers"]), "Job")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "name the image that you pushed"),
        ({"image": REQUIRED["image"]}, "database.secret"),
        ({**REQUIRED, "api": {}}, "api.keySecret"),
        ({**REQUIRED, "worker": {"pools": ["a"]}}, "worker.engine.group"),
        ({**REQUIRED, "worker": {"pools": ["a"], "engine": {"group": 1}}}, "worker.images.base"),
        ({**REQUIRED, "settings": {"TUNER_API_KEY": "secret"}}, "TUNER_API_KEY"),
        ({**REQUIRED, "settings": {"TUNER_LOGLEVEL": "DEBUG"}}, "TUNER_LOGLEVEL"),
        ({**REQUIRED, "settings": {"TUNER_JOBS_WAITING": 1000000}}, "string"),
        ({**REQUIRED, "api": {"keySecret": "key", "replica": 2}}, "replica"),
    ],
)
def test_values_that_cannot_be_right_are_refused(values: Mapping[str, Any], says: str) -> None:
    done = helm("template", "tuner", str(CHART), values=values)
    assert done.returncode != 0
    assert says in done.stdout
