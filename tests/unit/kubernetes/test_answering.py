"""The answer goes back to where a manifest has the options, and is found there again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tuner.nouns.errors import InvalidInput
from tuner.targets.answers import Answer, Recommended
from tuner.targets.compose import Wanted
from tuner.targets.kubernetes import Asked, Choice, Manifest, draft, is_manifest
from tuner.uwsgi.derived import semantic_diff
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.places import Change, Places
from tuner.uwsgi.stopping import Stop

PROCESSES = Change("processes", "6", "2")
THREADS = Change("threads", "3")
CHANGES = (PROCESSES, THREADS)
INI = "[uwsgi]\nmodule = shop\nprocesses = 2\n"
BOTH = INI.replace("2", "6") + "threads = 3\n"

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: ini}
data:
  other: text
  uwsgi_conf: |
    [uwsgi]
    module = shop
    processes = 2
"""
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      containers:
        - {name: nginx, image: nginx}
        - name: app
          image: shop
"""
MOUNTED = """\
          command: [uwsgi, --ini, /srv/uwsgi.ini]
          volumeMounts: [{name: ini, mountPath: /srv/uwsgi.ini, subPath: u.ini}]
      volumes:
        - {name: ini, configMap: {name: ini, items: [{key: uwsgi_conf, path: u.ini}]}}
"""
IN_CONFIG_MAP = f"{CONFIG}---{WEB}{MOUNTED}"


def manifest(text: str) -> Manifest:
    return Manifest.read("all.yaml", text, Choice())


def recommended(
    changes: Sequence[Change] = CHANGES, ini: str = BOTH, places: str = ""
) -> Recommended:
    texts = [places] if places else []
    return Recommended(IniFile.parse(ini), changes, places=Places.parse(texts, "--values-map"))


def answered(text: str, given: Recommended | None = None, *, kustomize: bool = False) -> Answer:
    return manifest(text).answer(given or recommended(), kustomize=kustomize)


def documents(text: str) -> list[Any]:
    return list(yaml.safe_load_all(text))


def container_of(patch: Any) -> Any:
    (found,) = patch["spec"]["template"]["spec"]["containers"]
    return found


def test_the_config_map_has_its_one_key_changed_and_new_pods_start() -> None:
    answer = answered(IN_CONFIG_MAP)
    config, rolled_out = answer.text.split("---\n")
    new = CONFIG.lstrip().replace("    processes = 2\n", "    processes = 6\n    threads = 3\n")
    assert config == new
    patch = yaml.safe_load(rolled_out)
    assert (patch["kind"], patch["metadata"]) == (
        "Deployment",
        {"name": "web", "namespace": "shop"},
    )
    assert list(patch["spec"]["template"]["metadata"]["annotations"]) == ["checksum/uwsgi-ini"]
    assert not answer.homeless


def test_the_answer_in_its_place_is_found_again() -> None:
    config = answered(IN_CONFIG_MAP).text.split("---\n")[0]
    again = manifest(f"{config}---{WEB}{MOUNTED}")
    assert again.ini == BOTH
    repeated = again.answer(recommended(), kustomize=False)
    assert repeated.text.split("---\n")[0] == config


def initiated(folder: Path, text: str) -> str:
    """The uwsgi.ini that `tuner app init --kubernetes` makes of a manifest."""
    file = folder / "web.yaml"
    file.write_text(text)
    made = draft(Wanted(folder=folder / "shop"), Asked(files=(file,)))
    return made.texts["uwsgi.ini"]


def test_app_init_finds_exactly_the_new_options_in_a_config_map(tmp_path: Path) -> None:
    before = initiated(tmp_path, IN_CONFIG_MAP)
    config = answered(IN_CONFIG_MAP).text.split("---\n")[0]
    after = initiated(tmp_path, f"{config}---{WEB}{MOUNTED}")
    assert differences(before, after) == {"processes": ("6",), "threads": ("3",)}


def test_app_init_finds_exactly_the_new_options_in_a_command(tmp_path: Path) -> None:
    text = f"{WEB}          command: [uwsgi, --module, shop, -p, '2']\n"
    (web,) = documents(text)
    before = initiated(tmp_path, text)
    container = web["spec"]["template"]["spec"]["containers"][1]
    container |= container_of(documents(answered(text).text)[0])
    after = initiated(tmp_path, yaml.safe_dump(web))
    assert differences(before, after) == {"processes": ("6",), "threads": ("3",)}


def differences(first: str, second: str) -> dict[str, tuple[str, ...]]:
    found = semantic_diff(IniFile.parse(first), IniFile.parse(second))
    return {each.option: each.second for each in found}


def test_the_annotation_changes_with_the_file_only() -> None:
    first, again = answered(IN_CONFIG_MAP).text, answered(IN_CONFIG_MAP).text
    other = answered(IN_CONFIG_MAP, recommended([PROCESSES])).text
    assert first == again
    assert first.split("---\n")[1] != other.split("---\n")[1]


def test_nothing_rolls_out_where_nothing_changes() -> None:
    assert answered(IN_CONFIG_MAP, recommended([], INI)).text == CONFIG.lstrip()


def test_notes_and_header_of_the_job_go_along() -> None:
    given = Recommended(
        IniFile.parse(f"; uwsgi-tuner: job 7\n{BOTH}"), CHANGES, {"processes": "processes was 2"}
    )
    (config, _) = documents(answered(IN_CONFIG_MAP, given).text)
    lines = config["data"]["uwsgi_conf"].splitlines()
    assert lines[0] == "; uwsgi-tuner: job 7"
    assert lines[3:5] == ["; uwsgi-tuner: processes was 2", "processes = 6"]


def test_what_the_job_did_not_measure_stays_and_is_named() -> None:
    text = IN_CONFIG_MAP.replace("module = shop", "module = shop\n    harakiri = 60")
    answer = answered(text)
    assert "harakiri = 60" in answer.text
    assert any("differs from the job's file in harakiri" in each for each in answer.remarks)
    assert not answered(IN_CONFIG_MAP).remarks


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            IN_CONFIG_MAP.replace("/srv/uwsgi.ini]", "/srv/uwsgi.ini, -p, '9']", 1),
            "the command of web/app sets -p 9 too, and may win",
        ),
        (
            IN_CONFIG_MAP.replace(
                "image: shop", "image: shop\n          env: [{name: UWSGI_WORKERS, value: '9'}]"
            ),
            "UWSGI_WORKERS of web/app sets the same, and may win",
        ),
    ],
)
def test_a_second_place_that_sets_the_option_is_named(text: str, told: str) -> None:
    assert any(told in each for each in answered(text).remarks)


def test_a_program_of_its_own_may_set_the_option_on_its_command_line() -> None:
    text = f"{WEB}          args: [shop-server, run, --workers, '9']\n"
    told = "the command of web/app sets --workers 9 too, and may win: change it there"
    manifest = Manifest.read("all.yaml", text, Choice(container="app"))
    assert told in manifest.answer(recommended(), kustomize=False).remarks


def test_kustomize_gets_patches_that_name_the_key_alone() -> None:
    config, patch = documents(answered(IN_CONFIG_MAP, kustomize=True).text)
    assert config == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "ini"},
        "data": {"uwsgi_conf": BOTH},
    }
    assert patch["kind"] == "Deployment"


def test_a_config_map_of_a_generator_is_its_file() -> None:
    text = IN_CONFIG_MAP.replace("name: ini}", "name: ini-7h2k9m4b6t}").replace(
        "configMap: {name: ini,", "configMap: {name: ini-7h2k9m4b6t,"
    )
    answer = answered(text, kustomize=True)
    assert answer.text == BOTH
    assert "configMapGenerator ini, key uwsgi_conf" in answer.remarks[-1]
    assert not answer.takes_comments
    with pytest.raises(InvalidInput, match="take --form kustomize"):
        answered(text)


def test_an_immutable_config_map_is_not_patched() -> None:
    text = IN_CONFIG_MAP.replace("kind: ConfigMap\n", "kind: ConfigMap\nimmutable: true\n")
    with pytest.raises(InvalidInput, match="is immutable: give it a new name"):
        answered(text)


def test_helm_undoes_a_patch_and_the_user_hears_of_it() -> None:
    labels = "{name: ini, labels: {app.kubernetes.io/managed-by: Helm, helm.sh/chart: shop-1.2}}"
    answer = answered(IN_CONFIG_MAP.replace("{name: ini}\n", f"{labels}\n"))
    assert "Helm renders ConfigMap ini (chart shop-1.2)" in answer.remarks[-1]


OWNED = IN_CONFIG_MAP.replace(
    "metadata: {name: ini}\n",
    "metadata:\n  name: ini\n  ownerReferences: [{apiVersion: x/v1, kind: Shop, name: prod}]\n",
)
SHOP = """---
apiVersion: x/v1
kind: Shop
metadata: {name: prod}
spec: {uwsgi_processes: 2, uwsgi: {threadsPerProcess: 1}, uwsgi_listen_queue_size: 100, debug: no}
"""


def test_an_operator_gets_its_fields_and_what_has_none_is_named() -> None:
    changes = [PROCESSES, Change("listen", "1024", "100"), Change("harakiri", "60")]
    answer = answered(OWNED + SHOP, recommended(changes))
    assert documents(answer.text) == [
        {
            "apiVersion": "x/v1",
            "kind": "Shop",
            "metadata": {"name": "prod"},
            "spec": {"uwsgi_processes": 6, "uwsgi_listen_queue_size": 1024},
        }
    ]
    assert answer.homeless == ["harakiri: cannot be set there (Shop prod has no field for it)"]


def test_a_field_that_only_looks_like_the_option_is_no_place() -> None:
    listen = Change("listen", "1024", "2048")  # the object has 100: something else
    assert len(answered(OWNED + SHOP, recommended([listen])).homeless) == 1
    placed = answered(
        OWNED + SHOP, recommended([THREADS], places="threads=uwsgi.threadsPerProcess")
    )
    assert documents(placed.text)[0]["spec"] == {"uwsgi": {"threadsPerProcess": 3}}


def test_without_the_object_of_the_operator_only_the_map_helps() -> None:
    answer = answered(OWNED, recommended(places="processes=uwsgi_processes"))
    assert documents(answer.text) == [{"spec": {"uwsgi_processes": 6}}]
    assert "not in the manifests" in answer.remarks[0]
    assert len(answer.homeless) == 1


def test_variables_are_patched_under_their_names() -> None:
    env = "          env: [{name: A, value: b}, {name: UWSGI_WORKERS, value: '2'}]\n"
    answer = answered(WEB + env, recommended([*CHANGES, Change("harakiri", None, "9")]))
    assert container_of(documents(answer.text)[0]) == {
        "name": "app",
        "env": [
            {"name": "UWSGI_WORKERS", "value": "6"},
            {"name": "UWSGI_THREADS", "value": "3"},
            {"name": "UWSGI_HARAKIRI", "$patch": "delete"},
        ],
    }


def test_a_variable_from_a_config_map_gets_a_value_of_its_own() -> None:
    key = "valueFrom: {configMapKeyRef: {name: c, key: k}}"
    env = f"          env: [{{name: UWSGI_PROCESSES, {key}}}]\n"
    (patch,) = documents(answered(WEB + env, recommended([PROCESSES])).text)
    entry = {"name": "UWSGI_PROCESSES", "value": "6", "valueFrom": None}
    assert container_of(patch)["env"] == [entry]


def test_the_names_of_a_script_come_from_the_map() -> None:
    env = "          env: [{name: DD_UWSGI_NUM_OF_PROCESSES, value: '2'}]\n"
    answer = answered(WEB + env, recommended(places="processes=DD_UWSGI_NUM_OF_PROCESSES"))
    assert container_of(documents(answer.text)[0])["env"] == [
        {"name": "DD_UWSGI_NUM_OF_PROCESSES", "value": "6"}
    ]
    assert [each.split(":")[0] for each in answer.homeless] == ["threads"]


def test_kubernetes_puts_no_variable_into_a_value_of_uwsgi() -> None:
    env = "          env: [{name: UWSGI_PROCESSES, value: '2'}]\n"
    answer = answered(WEB + env, recommended([Change("http-socket", ":$(PORT)")]))
    (entry,) = container_of(documents(answer.text)[0])["env"]
    assert entry["value"] == ":$$(PORT)"


@pytest.mark.parametrize(
    ("start", "changed"),
    [
        (
            "command: [uwsgi, --module, shop, -p, '2', --lazy-apps]",
            {"command": ["uwsgi", "--module", "shop", "--processes", "6", "--threads", "3"]},
        ),
        (
            'args: [env, uwsgi, --http, ":$$(PORT)", --workers=$(N), --lazy-apps]',
            {"args": ["env", "uwsgi", "--http", ":$$(PORT)", "--processes", "6", "--threads", "3"]},
        ),
        (
            "command: [uwsgi]\n          args: [--module, shop, --lazy-apps]",
            {"args": ["--module", "shop", "--processes", "6", "--threads", "3"]},
        ),
        (
            "command: [uwsgi, --module, shop]\n          args: [--lazy-apps, -p2]",
            {
                "command": ["uwsgi"],
                "args": ["--module", "shop", "--processes", "6", "--threads", "3"],
            },
        ),
    ],
)
def test_a_command_is_patched_word_by_word(start: str, changed: dict[str, Any]) -> None:
    changes = [*CHANGES, Change("lazy-apps", None, "true")]
    answer = answered(f"{WEB}          {start}\n", recommended(changes))
    assert container_of(documents(answer.text)[0]) == {"name": "app", **changed}


@pytest.mark.parametrize(
    "start",
    ["command: [sh, -c, 'sleep 1; uwsgi --processes 2']", "args: [shop-server, run]"],
)
def test_what_no_patch_can_reach_is_lines_for_an_image_or_settings(start: str) -> None:
    text = f"{WEB}          {start}\n".replace("        - {name: nginx, image: nginx}\n", "")
    answer = answered(text)
    assert answer.text == "processes = 6\nthreads = 3\n"
    assert "a new image, or into your settings" in answer.remarks[0]
    assert [each.split(":")[0] for each in answer.homeless] == ["processes", "threads"]


def test_a_sidecar_that_is_an_init_container_is_patched_as_one() -> None:
    text = WEB.replace("      containers:\n", "      initContainers:\n").replace(
        "        - {name: nginx, image: nginx}\n", ""
    )
    start = "          restartPolicy: Always\n          command: [uwsgi, --module, shop]\n"
    (patch,) = documents(answered(f"{text}{start}").text)
    assert list(patch["spec"]["template"]["spec"]) == ["initContainers"]


def test_a_cron_job_has_its_template_deeper() -> None:
    pod = {"containers": [{"name": "app", "command": ["uwsgi", "--module", "shop"]}]}
    job = {"spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}}
    text = yaml.safe_dump(
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, **job}
    )
    (patch,) = documents(answered(text).text)
    assert "containers" in patch["spec"]["jobTemplate"]["spec"]["template"]["spec"]


# ---- The manifest itself


@pytest.mark.parametrize(
    ("pod", "stop"),
    [
        ("", Stop("terminationGracePeriodSeconds", 30)),
        (
            "          lifecycle: {preStop: {sleep: {seconds: 7}}}\n",
            Stop("terminationGracePeriodSeconds", 30, 7),
        ),
        (
            "          lifecycle: {preStop: {exec: {command: [sleep, '5']}}}\n"
            "      terminationGracePeriodSeconds: 90\n",
            Stop("terminationGracePeriodSeconds", 90, 5),
        ),
        (
            "          lifecycle: {preStop: {exec: {command: [sh, -c, 'x; sleep 5s; y']}}}\n",
            Stop("terminationGracePeriodSeconds", 30, 5),
        ),
    ],
)
def test_the_time_of_a_stop_is_that_of_the_pod(pod: str, stop: Stop) -> None:
    assert manifest(f"{WEB}          command: [uwsgi]\n{pod}").stop == stop


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (IN_CONFIG_MAP, True),
        ('{"apiVersion": "v1", "kind": "List", "items": []}', True),
        ("- apiVersion: v1\n  kind: Pod\n", True),
        (INI, False),
        ("[uwsgi]\n; kind: small\n", False),
        ("web: {kind: x}\n", False),
        ("", False),
    ],
)
def test_a_manifest_is_known_by_what_is_in_it(text: str, is_one: bool) -> None:
    assert is_manifest(text) is is_one
