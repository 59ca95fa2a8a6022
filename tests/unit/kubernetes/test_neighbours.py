"""What an app needs beside it: Services, sidecars, steps, hosts outside, and the way back."""

import pytest

from tests.unit.kubernetes.conftest import INI, Cluster, config, pod, service
from tuner.nouns.model import FromWorker
from tuner.nouns.model.services import HealthCheck, PrepareStep

DB = pod(
    "ports: [{name: pg, containerPort: 5432}], resources: {limits: {memory: 1Gi}}",
    name="db",
    kind="StatefulSet",
    image="postgres:17",
    start="",
)


def step(name: str, command: str, weight: str = "", hook: str = "", more: str = "") -> str:
    """A Job of the app's image."""
    notes = f"annotations: {{helm.sh/hook: '{hook}', helm.sh/hook-weight: '{weight}'}}"
    container = f"{{name: it, image: 'shop:1', command: {command}, {more}}}"
    return (
        "apiVersion: batch/v1\nkind: Job\n"
        f"metadata: {{name: {name}, namespace: prod, {notes if hook else ''}}}\n"
        f"spec: {{template: {{spec: {{containers: [{container}]}}}}}}\n"
    )


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("postgres://u@shop-db:5432/d", "postgres://u@shop-db:5432/d"),
        ("postgres://u@shop-db.prod/d", "postgres://u@shop-db/d"),
        ("postgres://shop-db.prod.svc/d", "postgres://shop-db/d"),
        ("postgres://shop-db.prod.svc.cluster.local.:5432/d", "postgres://shop-db:5432/d"),
        ("postgres://db-0.shop-db:5432/d", "postgres://shop-db:5432/d"),
        ("postgres://db-0.shop-db.prod.svc.cluster.local/d", "postgres://shop-db/d"),
        ("postgres://shop-db-ro:5432/shop-db-ro", "postgres://shop-db:5432/shop-db-ro"),
        ("postgres://shop-db.example.com/d", None),
    ],
)
def test_names_of_a_service(cluster: Cluster, value: str, found: str | None) -> None:
    both = (service("shop-db", "db", port="pg"), service("shop-db-ro", "db", port="pg"))
    made = cluster.made(
        *both,
        DB,
        pod(f"env: [{{name: URL, value: '{value}'}}, {{name: B, value: 'http://shop-db/'}}]"),
    )
    assert {*made.app.services} == {"shop-db"}
    assert made.app.env["URL"] == found or value
    if found is None:
        assert "shop-db.example.com: nothing in the manifests" in made.notes["shop.env.URL"]
    else:
        assert (found == value) or "one name for each service" in made.notes["shop.env.URL"]


def test_the_variable_of_a_host_gets_the_one_name(cluster: Cluster) -> None:
    both = (service("shop-db", "db"), service("shop-db-hl", "db"))
    env = "env: [{name: A_URL, value: 'tcp://shop-db:1'}, {name: DB_HOST, value: shop-db-hl},"
    made = cluster.made(*both, DB, pod(f"{env} {{name: NAME, value: shop-db-hl}}]"))
    assert made.app.env["DB_HOST"] == "shop-db"
    assert made.app.env["NAME"] == "shop-db-hl"


def test_a_database(cluster: Cluster) -> None:
    spec = (
        "volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 128Mi}}],"
        " initContainers: [{name: rights, image: b, command: [chown, a, /b]}]"
    )
    claims = "  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [a]}}]\n"
    text = pod(
        "readinessProbe: {exec: {command: [pg_isready]}, timeoutSeconds: 3},"
        " env: [{name: POSTGRES_PASSWORD, valueFrom: {secretKeyRef: {name: db, key: pw}}}],"
        " resources: {limits: {cpu: '2', memory: 1Gi}}, volumeMounts: [{name: data,"
        " mountPath: /var/lib}, {name: shm, mountPath: /dev/shm}]",
        **{"name": "db", "kind": "StatefulSet", "image": "postgres:17", "start": ""},
        spec=spec,
    )
    env = "env: [{name: PW, valueFrom: {secretKeyRef: {name: db, key: pw}}},"
    made = cluster.made(text + claims, pod(f"{env} {{name: DB_HOST, value: db}}]"))
    db = made.app.services["db"]
    assert db.env == {"POSTGRES_PASSWORD": FromWorker(from_worker="PW")}
    assert (db.cpus, db.memory_mb, db.shm_mb) == (2.0, 1024, 128)
    assert db.volumes == ("db-data:/var/lib",)
    assert db.healthcheck == HealthCheck(test=("CMD", "pg_isready"), timeout=3)
    assert "no init containers" in made.notes["db container rights"]


def test_a_service_with_an_http_probe(cluster: Cluster) -> None:
    search = pod(
        "readinessProbe: {httpGet: {path: /up, port: web}}, ports: [{name: web, containerPort: 9}]",
        **{"name": "search", "image": "search:1", "start": ""},
    )
    made = cluster.made(search, pod("env: [{name: URL, value: 'http://search/'}]"))
    check = made.app.services["search"].healthcheck
    assert check is not None
    assert "curl -fsko /dev/null 'http://127.0.0.1:9/up' || wget" in check.test[1]


def test_a_worker_and_what_nobody_names_are_left_out(cluster: Cluster) -> None:
    other = pod("", name="other", image="other:1", start="")
    made = cluster.made(other, pod("args: [celery]", name="worker", start=""), pod(""))
    assert made.app.services == {}
    assert "another process" in made.notes["service worker"]
    assert "does not name it" in made.notes["service other"]


def test_a_cache_in_the_pod_is_a_service_with_a_name(cluster: Cluster) -> None:
    mount = "volumeMounts: [{name: s, mountPath: /run/redis}]"
    sidecars = (
        f"{{name: redis, image: 'redis:7', {mount}}}, {{name: r, image: 'redis_exporter:1'}}, "
    )
    text = pod(mount, spec="volumes: [{name: s, emptyDir: {}}]")
    made = cluster.made(text.replace("containers: [", f"containers: [{sidecars}"))
    assert made.app.services["redis"].volumes == ("shop-s:/run/redis",)
    assert made.app.volumes == ("shop-s:/run/redis",)
    assert "in the place of 127.0.0.1" in made.notes["service redis"]
    assert "reads figures" in made.notes["container r"]


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("istio/proxyv2:1", "a mesh"),
        ("gcr/cloud-sql-proxy:2", "a database outside"),
        ("shop:1", "another process"),
        ("fluent-bit:1", "moves logs"),
        ("thing:1", "make it a service"),
    ],
)
def test_other_containers_of_the_pod(cluster: Cluster, image: str, why: str) -> None:
    side = f"containers: [{{name: side, image: '{image}'}}, "
    made = cluster.made(pod("").replace("containers: [", side))
    assert why in made.notes["container side"]


def test_steps_in_the_order_of_hooks(cluster: Cluster) -> None:
    inits = (
        "initContainers: [{name: wait, image: busybox, command: [sh, -c, 'until nc -z db 1; do"
        " sleep 1; done']}, {name: migrate, image: 'shop:1', args: [migrate]},"
        " {name: assets, image: 'shop:1', command: [cp, -R, /a, /b]},"
        " {name: mesh, image: istio, restartPolicy: Always}]"
    )
    made = cluster.made(
        step("second", "[two]", "5", "post-install,post-upgrade"),
        step("first", "[one]", "-5", "post-install"),
        step("before", "[zero]", "9", "pre-install"),
        step("gone", "[gone]", "1", "pre-delete"),
        DB,
        pod("", spec=inits),
    )
    runs = [step.run for step in made.app.prepare]
    assert runs == [("zero",), ("migrate",), ("one",), ("two",)]
    assert {*made.app.services} == {"db"}
    assert "it waits" in made.notes["shop-wait"]
    assert "copies files" in made.notes["shop-assets"]
    assert "fills no data" in made.notes["Job gone"]
    assert "a mesh" in made.notes["container mesh"]


def test_a_step_has_its_own_variables(cluster: Cluster) -> None:
    env = (
        "env: [{name: A, value: app}, {name: B, value: own},"
        " {name: PW, valueFrom: {secretKeyRef: {name: s, key: pw}}}],"
        " securityContext: {runAsUser: 0}"
    )
    made = cluster.made(step("fill", "[fill, $(B)]", more=env), pod("env: [{name: A, value: app}]"))
    assert made.app.prepare == (
        PrepareStep.model_validate({"in": "app", "run": ["env", "B=own", "fill", "own"]}),
    )
    assert made.app.env == {"A": "app", "PW": FromWorker(from_worker="PW")}
    assert "only fill has it" in made.notes["shop.env.PW"]
    assert "it runs as 0 there" in made.notes["prepare fill"]


def test_hosts_outside(cluster: Cluster) -> None:
    mail = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: mail, namespace: prod}\n"
        "spec: {type: ExternalName, externalName: smtp.example}\n"
    )
    env = (
        "env: [{name: MAIL, value: mail}, {name: API, value: 'https://api.example/v1'},"
        " {name: ALLOWED_HOSTS, value: shop.example}, {name: BIND, value: '127.0.0.1:80'},"
        " {name: MODE, value: production}]"
    )
    alias = "hostAliases: [{ip: 192.0.2.7, hostnames: [auth.example]}]"
    made = cluster.made(mail, pod(env, spec=alias))
    assert made.app.env["MAIL"] == "mail"
    todo = {what: why for what, why in made.notes.items() if "cannot reach it" in why}
    assert {*todo} == {"shop.env.MAIL", "shop.env.API", "shop.hostAliases"}
    assert "an ExternalName for smtp.example" in todo["shop.env.MAIL"]
    assert "{api-example: {stub: {hosts: [api.example]" in todo["shop.env.API"]


def test_what_a_needed_service_names_is_there_too(cluster: Cluster) -> None:
    env = "env: [{name: URL, value: 'http://%s/'}]"
    first = pod(env % "second", name="first", image="first:1", start="")
    second = pod("", name="second", image="second:1", start="")
    made = cluster.made(first, second, pod(env % "first"))
    assert {*made.app.services} == {"first", "second"}


def test_an_app_of_a_whole_cluster_is_refused(cluster: Cluster) -> None:
    others = [pod("", name=f"s{n}", image=f"s:{n}", start="") for n in range(60)]
    urls = " ".join(f"http://s{n}/" for n in range(60))
    told = cluster.refused(*others, pod(f"env: [{{name: URLS, value: '{urls}'}}]"))
    assert "names more than 50 workloads, such as s0, s1" in told


def test_one_pod_of_several(cluster: Cluster) -> None:
    hpa = (
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n"
        "spec: {scaleTargetRef: {kind: Deployment, name: shop}, maxReplicas: 9}\n"
    )
    made = cluster.made(hpa, pod("").replace("spec:\n", "spec:\n  replicas: 3\n", 1))
    what = "shop: replicas 3, HorizontalPodAutoscaler h: at most 9"
    assert "the answer is for one pod" in made.notes[what]


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ("labels: {app.kubernetes.io/managed-by: Helm, helm.sh/chart: c-1}", "a chart (c-1) makes"),
        ("ownerReferences: [{kind: Shop, name: a}]", "Shop a makes it and undoes changes"),
        ("labels: {x: y}", None),
    ],
)
def test_the_way_back(cluster: Cluster, metadata: str, told: str | None) -> None:
    ini = config("ini", **{"uwsgi.ini": INI}).replace("{name: ini}", f"{{name: ini, {metadata}}}")
    made = cluster.made(
        ini,
        pod(
            "command: [uwsgi, /etc/u/uwsgi.ini], volumeMounts: [{name: ini, mountPath: /etc/u}]",
            spec="volumes: [{name: ini, configMap: {name: ini}}]",
            start="",
        ),
    )
    found = made.notes.get("ConfigMap ini: the way back")
    assert (told in found) if told and found else (found is told)


def test_the_origin_is_in_the_file(cluster: Cluster) -> None:
    made = cluster.made(pod(""))
    assert f"# From Deployment shop, container main, of {cluster.folder}/all.yaml, by" in made.text
