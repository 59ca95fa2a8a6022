"""A container of a pod as the app of an arm: variables, limits, volumes, probes."""

import pytest

from tests.unit.kubernetes.conftest import INI, Cluster, config, pod
from tuner.nouns.model import FromWorker

STORED = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {KEY: c2VjcmV0LXZhbHVl}\n"


def test_variables_in_the_order_of_kubernetes(cluster: Cluster) -> None:
    made = cluster.made(
        config("one", A="1", B="1"),
        config("two", B="2", C="2"),
        pod(
            "envFrom: [{configMapRef: {name: one}}, {configMapRef: {name: two}},"
            " {configMapRef: {name: one}, prefix: X_},"
            " {configMapRef: {name: gone, optional: true}}],"
            " env: [{name: C, value: '3'}, {name: D, value: $(B)-$(LATER)-$$(C)},"
            " {name: LATER, value: x}, {name: E, value: $(D)},"
            " {name: F, valueFrom: {configMapKeyRef: {name: one, key: A}}},"
            " {name: G, valueFrom: {configMapKeyRef: {name: one, key: Z, optional: true}}}]"
        ),
    )
    assert made.app.env == {
        **{"A": "1", "B": "2", "C": "3", "X_A": "1", "X_B": "1"},
        **{"D": "2-$(LATER)-$(C)", "LATER": "x", "E": "2-$(LATER)-$(C)", "F": "1"},
    }
    assert not [what for what in made.notes if ".env" in what]


def test_a_config_map_that_is_not_there_is_named(cluster: Cluster) -> None:
    made = cluster.made(pod("envFrom: [{configMapRef: {name: gone}}]"))
    assert "ConfigMap gone is not in the manifests" in made.notes["shop"]


def test_fields_of_the_pod_and_of_the_limits(cluster: Cluster) -> None:
    ref = "valueFrom: {resourceFieldRef: {resource: "
    made = cluster.made(
        pod(
            "resources: {requests: {cpu: 100m}, limits: {cpu: 1500m, memory: 1Gi}},"
            " env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}},"
            " {name: SPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}},"
            " {name: LABEL, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}},"
            " {name: UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}},"
            f" {{name: CPUS, {ref}limits.cpu}}}}}},"
            f" {{name: MB, {ref}limits.memory, divisor: 1Mi}}}}}},"
            f" {{name: MILLI, {ref}requests.cpu, divisor: 1m}}}}}},"
            f" {{name: DISK, {ref}limits.ephemeral-storage}}}}}}]"
        )
    )
    assert made.app.env == {
        **{"IP": "127.0.0.1", "SPACE": "prod", "LABEL": "shop"},
        **{"CPUS": "2", "MB": "1024", "MILLI": "100"},
    }
    assert made.notes["shop.env.UID"].startswith("to do: ")
    assert made.notes["shop.env.DISK"].startswith("to do: ")


def test_a_secret_stays_with_the_worker(cluster: Cluster) -> None:
    made = cluster.made(
        STORED,
        pod(
            "envFrom: [{secretRef: {name: s}}, {secretRef: {name: unknown}}], env: ["
            "{name: OTHER, valueFrom: {secretKeyRef: {name: s, key: KEY}}},"
            " {name: KIND, valueFrom: {secretKeyRef: {name: t, key: k}}},"
            " {name: URL, value: 'amqp://u:$(KIND)@mq/'}, {name: PLAIN, value: text}]"
        ),
    )
    assert made.app.env == {
        "KEY": FromWorker(from_worker="KEY"),
        "OTHER": FromWorker(from_worker="KEY"),
        "KIND": FromWorker(from_worker="KIND"),
        "URL": FromWorker(from_worker="URL"),
        "PLAIN": "text",
    }
    assert "do not name its keys" in made.notes["shop.envFrom of Secret unknown"]
    assert "as a whole" in made.notes["shop.env.URL: amqp://u:$(KIND)@mq/"]
    assert "secret-value" not in made.text
    assert "c2VjcmV0" not in made.text


def test_two_secrets_under_one_variable_have_two_names(cluster: Cluster) -> None:
    env = "env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: %s, key: pw}}}]"
    made = cluster.made(
        pod(env % "app", spec="", name="shop"),
        pod(env % "store", name="db", image="postgres:17", start=""),
        config("urls", URL="http://db/"),
        pod("", name="other", image="other"),
        deployment="shop",
    )
    assert made.app.env == {"PASSWORD": FromWorker(from_worker="PASSWORD")}
    linked = Cluster(cluster.folder / "linked")
    linked.folder.mkdir()
    env = env.replace("[", "[{name: DB_HOST, value: db}, ")
    made = linked.made(
        pod(env % "app"), pod(env % "store", name="db", image="postgres:17", start="")
    )
    password = made.app.services["db"].env["PASSWORD"]
    assert password == FromWorker(from_worker="STORE_PW")


@pytest.mark.parametrize("kind", ["ExternalSecret", "SealedSecret"])
def test_keys_of_a_secret_that_an_operator_makes(cluster: Cluster, kind: str) -> None:
    spec = {
        "ExternalSecret": "target: {name: s}, data: [{secretKey: KEY}]",
        "SealedSecret": "encryptedData: {KEY: AgBy}",
    }[kind]
    made = cluster.made(
        f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: s}}\nspec: {{{spec}}}\n",
        pod("envFrom: [{secretRef: {name: s}, prefix: SHOP_}]"),
    )
    assert made.app.env == {"SHOP_KEY": FromWorker(from_worker="SHOP_KEY")}


def test_a_secret_in_a_command_is_not_replaced(cluster: Cluster) -> None:
    made = cluster.made(
        pod(
            "args: ['--set', 'a=$(PW)'],"
            " env: [{name: PW, valueFrom: {secretKeyRef: {name: s, key: k}}}]"
        )
    )
    assert "set = a=$(PW)" in made.ini
    assert "start a shell" in made.notes["shop.args a=$(PW)"]


def test_words_of_a_command(cluster: Cluster) -> None:
    made = cluster.made(
        pod(
            "args: [uwsgi, --http-socket, ':$$(PORT)', -p, $(N), --threads, $(GONE)],"
            " env: [{name: PORT, value: '8080'}, {name: N, value: '4'}]",
            start="",
        )
    )
    assert made.ini.splitlines() == [
        "[uwsgi]",
        "http-socket = :$(PORT)",
        "processes = 4",
        "threads = $(GONE)",
    ]
    assert made.app.port == 8080


@pytest.mark.parametrize(
    ("cpu", "memory", "cpus", "memory_mb"),
    [
        ("1500m", "512M", 1.5, 488),
        ("'2'", "1.5Gi", 2.0, 1536),
        ("0.5", "128e6", 0.5, 122),
        ("100m", "8704M", 0.1, 8300),
        ("2.5e0", "536870912", 2.5, 512),
    ],
)
def test_limits(cluster: Cluster, cpu: str, memory: str, cpus: float, memory_mb: int) -> None:
    limits = f"limits: {{cpu: {cpu}, memory: {memory}}}"
    made = cluster.made(pod(f"resources: {{requests: {{cpu: '9', memory: 9Gi}}, {limits}}}"))
    assert (made.app.limits.cpus, made.app.limits.memory_mb) == (cpus, memory_mb)


def test_a_request_is_no_limit(cluster: Cluster) -> None:
    made = cluster.made(pod("resources: {requests: {cpu: '9', memory: 9Gi}}"))
    assert {"limits.cpus", "limits.memory_mb"} <= {*made.notes}
    assert made.app.limits.cpus == 1.0


def test_the_limits_of_a_namespace(cluster: Cluster) -> None:
    ranges = (
        "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: prod}\n"
        "spec: {limits: [{type: Container, default: {cpu: 750m, memory: 256Mi}}]}\n"
    )
    made = cluster.made(ranges, pod("resources: {}"))
    assert (made.app.limits.cpus, made.app.limits.memory_mb) == (0.75, 256)


def test_rights_and_kernel_settings(cluster: Cluster) -> None:
    made = cluster.made(
        pod(
            "workingDir: /srv, securityContext: {runAsUser: 7, readOnlyRootFilesystem: true}",
            spec="securityContext: {runAsUser: 5, runAsGroup: 6, fsGroup: 6,"
            " sysctls: [{name: net.core.somaxconn, value: '2048'}]},"
            " serviceAccountName: reader, terminationGracePeriodSeconds: 60",
        )
    )
    assert (made.app.user, made.app.working_dir) == ("7:6", "/srv")
    assert made.app.limits.somaxconn == 2048
    assert "root that can be written" in made.notes["shop.securityContext.readOnlyRootFilesystem"]
    assert "no API of Kubernetes" in made.notes["shop.serviceAccountName reader"]
    assert "harakiri" in made.notes["shop.terminationGracePeriodSeconds"]


def test_files_of_config_maps(cluster: Cluster) -> None:
    made = cluster.made(
        config("c", **{"a.txt": "text a", "b.txt": "text b"}),
        pod(
            "volumeMounts: [{name: all, mountPath: /all}, {name: one, mountPath: /one.txt,"
            " subPath: x/b}, {name: gone, mountPath: /gone}]",
            spec="volumes: [{name: all, configMap: {name: c}}, {name: one, projected: {sources: ["
            "{configMap: {name: c, items: [{key: b.txt, path: x/b}]}}, {downwardAPI: {}}]}},"
            " {name: gone, configMap: {name: gone}}]",
        ),
    )
    assert made.app.files == {"/all/a.txt": "text a", "/all/b.txt": "text b", "/one.txt": "text b"}
    assert "ConfigMap gone is not in" in made.notes["shop.volumes /gone"]
    assert "nothing like it" in made.notes["shop.volumes /one.txt downwardAPI"]


def test_other_volumes(cluster: Cluster) -> None:
    made = cluster.made(
        pod(
            "volumeMounts: [{name: tmp, mountPath: /tmp}, {name: shm, mountPath: /dev/shm},"
            " {name: run, mountPath: /run/app}, {name: media, mountPath: /media, subPath: a/b},"
            " {name: host, mountPath: /host}, {name: key, mountPath: /etc/key, subPath: KEY}]",
            spec="volumes: [{name: tmp, emptyDir: {medium: Memory, sizeLimit: 64Mi}},"
            " {name: shm, emptyDir: {medium: Memory, sizeLimit: 256Mi}}, {name: run, emptyDir: {}},"
            " {name: media, persistentVolumeClaim: {claimName: m}},"
            " {name: host, hostPath: {path: /}}, {name: key, secret: {secretName: s}}]",
        )
    )
    assert made.app.tmpfs == ("/tmp:size=64m",)
    assert made.app.shm_mb == 256
    assert made.app.volumes == ("shop-run:/run/app", "m-a-b:/media")
    assert made.app.secrets == {"KEY": FromWorker(from_worker="KEY")}
    assert "/run/secrets/KEY" in made.notes["shop /etc/key"]
    assert "a folder of a node" in made.notes["shop.volumes /host"]


@pytest.mark.parametrize(
    ("probe", "path", "host"),
    [
        (
            "livenessProbe: {httpGet: {path: '/login?a&next=/', port: web,"
            " httpHeaders: [{name: host, value: shop.example}]}}",
            "/login?a&next=/",
            "shop.example",
        ),
        (
            "readinessProbe: {exec: {command: [bash, -c, \"uwsgi_curl -X HEAD -H 'Host: a.b'"
            ' $(hostname):5000 /ping"]}}, livenessProbe: {httpGet: {path: /other, port: 80}}',
            "/ping",
            "a.b",
        ),
        (
            "startupProbe: {exec: {command: [curl, -f, 'http://localhost:8000/up?x=1&y=2']}}",
            "/up?x=1&y=2",
            None,
        ),
        ("livenessProbe: {tcpSocket: {port: 80}}", "/", None),
    ],
)
def test_probes(cluster: Cluster, probe: str, path: str, host: str | None) -> None:
    made = cluster.made(pod(probe))
    assert (made.app.health_path, made.app.host_header) == (path, host)
    assert ("shop.health_path" in made.notes) is (path == "/")


def test_the_probe_of_a_proxy_is_not_taken(cluster: Cluster) -> None:
    proxy = (
        "{name: web, image: 'nginx:1', readinessProbe: {httpGet: {path: /nginx, port: 80}},"
        " volumeMounts: [{name: conf, mountPath: /etc/nginx/conf.d}]}"
    )
    text = "location /static { alias /a; } location / { uwsgi_pass unix:/run/s; }"
    made = cluster.made(
        config("conf", **{"a.conf": f"client_max_body_size 800m; {text}"}),
        pod("", spec="volumes: [{name: conf, configMap: {name: conf}}]").replace(
            "containers: [", f"containers: [{proxy}, "
        ),
    )
    assert made.app.health_path == "/"
    assert "asks web, and not the app" in made.notes["web.readinessProbe /nginx"]
    assert "a proxy in front" in made.notes["container web"]
    assert "larger bodies never reach" in made.notes["web a.conf: client_max_body_size 800m"]
    assert "these paths never reach" in made.notes["web a.conf: location /static"]
    assert not [what for what in made.notes if "location / " in what]


def test_the_ini_of_a_config_map(cluster: Cluster) -> None:
    ini = "[uwsgi]\nsocket = /run/app/s.sock\n"
    mounts = "volumeMounts: [{name: ini, mountPath: /etc/uwsgi}, {name: run, mountPath: /run/app}]"
    spec = "volumes: [{name: ini, configMap: {name: ini}}, {name: run, emptyDir: {}}]"
    made = cluster.made(
        config("ini", **{"a.ini": ini}), pod(f"args: [/start], {mounts}", spec=spec, start="")
    )
    assert made.ini == ini
    assert made.app.files == {}
    assert "the uwsgi protocol" in made.notes["shop socket /run/app/s.sock"]
    assert "is not done" in made.notes["command (/start) -> uwsgi --ini /etc/uwsgi/a.ini"]


IN_PYTHON = (
    config("c", **{"app.py": 'X = {"workers": 3, "thunder-lock": True}'}),
    pod(
        "args: [run], volumeMounts: [{name: c, mountPath: /etc/app}]",
        spec="volumes: [{name: c, configMap: {name: c}}]",
        start="",
    ),
)


def test_options_in_python_are_refused(cluster: Cluster) -> None:
    told = cluster.refused(*IN_PYTHON)
    assert "all.yaml:5: ConfigMap c has the options of uWSGI in Python, as /etc/app/app.py" in told
    assert "--ini FILE or --command 'uwsgi ...'" in told


def test_a_command_of_the_user_counts_where_the_options_are_in_python(cluster: Cluster) -> None:
    made = cluster.made(*IN_PYTHON, command="uwsgi --http-socket :8000 --processes 3")
    assert made.ini.splitlines() == ["[uwsgi]", "http-socket = :8000", "processes = 3"]


def test_a_file_of_the_user_counts(cluster: Cluster) -> None:
    made = cluster.made(pod("args: [/start.sh]", start=""), ini=INI)
    assert made.ini == INI
