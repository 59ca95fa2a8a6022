"""docs/monitoring on the real programs: a Prometheus that scrapes a service, and promtool."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests import builders, finished_jobs
from tests.service import Service, free_port, opened_store, running
from tuner.provision import for_tests
from tuner.provision.host import detect

pytestmark = pytest.mark.timeout(300)

MONITORING = Path(__file__).parents[2] / "docs" / "monitoring"
RULES = MONITORING / "alerts.yml"
KEY = "a-key-for-tests"
NOBODY = "nobody"  # a pool whose host does not measure what is put into the database
GRAFANA: Mapping[str, str] = {
    "$pool": ".*",
    "$__rate_interval": "10s",
    "$__range": "1m",
}
ANSWERS_WITHIN_S = 60.0


def program(name: str) -> str:
    found = for_tests.find(name, detect(os.environ).cache)
    assert found.is_file(), f"there is no {name}: `make test` downloads it"
    return str(found)


def promtool(*arguments: str, given: str = "") -> None:
    """Have promtool accept something."""
    done = subprocess.run(
        [program(for_tests.TOOL), *arguments],
        input=given,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


# ---- alerts


@dataclass(frozen=True, slots=True)
class Scene:
    """Series, one value a minute, and the minute in which the alert fires alone."""

    series: Mapping[str, str]
    minute: int


LIVE = {
    'tuner_host_live{pool="default", host="a"}': "1+0x400",
    'tuner_host_problem{pool="default", host="a"}': "0+0x400",
}
DRAINED = {
    'tuner_host_live{pool="default", host="drained"}': "1+0x3 0+0x397",
    'tuner_host_problem{pool="default", host="drained"}': "0+0x400",
    'tuner_host_drained{pool="default", host="drained"}': "1+0x400",
    'tuner_host_live{pool="unknown", host="drained too"}': "1+0x400",
    'tuner_host_problem{pool="unknown", host="drained too"}': "0+0x400",
    'tuner_host_drained{pool="unknown", host="drained too"}': "1+0x400",
}
WELL = {
    **LIVE,
    'up{job="uwsgi-tuner", instance="a"}': "1+0x400",
    'tuner_database_up{instance="a"}': "1+0x400",
    'tuner_jobs{pool="default", state="running"}': "1+0x400",
    'tuner_jobs{pool="default", state="queued"}': "2+0x400",
    'tuner_queue_oldest_seconds{pool="default"}': "600+1x400",
    'tuner_blocks_total{pool="default", phase="search", state="complete"}': "0+1x400",
    'tuner_host_faults_total{pool="default"}': "0+0x100 1+0x300",
    'tuner_windows_total{pool="default"}': "0+8x400",
    'tuner_doubts_total{pool="default", doubt="noisy_host"}': "0+1x400",
    'tuner_jobs_ended_total{pool="default", kind="tune", state="failed"}': "0+1x400",
    'tuner_jobs_ended_total{pool="default", kind="tune", state="succeeded"}': "0+5x400",
    'tuner_http_request_seconds_bucket{instance="a", method="GET", le="1.0"}': "0+60x400",
    'tuner_http_request_seconds_bucket{instance="a", method="GET", le="+Inf"}': "0+60x400",
    'tuner_http_request_seconds_count{instance="a", route="/v1/jobs", status="200"}': "0+60x400",
    'tuner_http_request_seconds_count{instance="a", route="/v1/jobs", status="503"}': "0+1x400",
    'tuner_http_request_seconds_count{instance="a", route="/readyz", status="503"}': "0+60x400",
}
SCENES: Mapping[str, Scene] = {
    "TunerDown": Scene({'up{job="uwsgi-tuner", instance="a"}': "0+0x9"}, 4),
    "TunerDatabaseAway": Scene({'tuner_database_up{instance="a"}': "0+0x9"}, 4),
    "TunerNoHost": Scene(
        {
            **LIVE,
            **DRAINED,
            'tuner_jobs{pool="unknown", state="queued", instance="a"}': "1+0x9",
            'tuner_jobs{pool="unknown", state="queued", instance="b"}': "1+0x9",
            'tuner_jobs{pool="default", state="queued", instance="a"}': "1+0x9",
        },
        8,
    ),
    "TunerHostProblem": Scene(
        {**LIVE, 'tuner_host_problem{pool="default", host="a"}': "1+0x30"}, 18
    ),
    "TunerHostGone": Scene(
        {
            **DRAINED,
            'tuner_host_live{pool="default", host="a"}': "1+0x5 0+0x20",
            'tuner_host_live{pool="default", host="gone for days"}': "0+0x25",
        },
        15,
    ),
    "TunerHostFaults": Scene({'tuner_host_faults_total{pool="default"}': "0+1x60"}, 10),
    "TunerJobStuck": Scene(
        {
            **LIVE,
            'tuner_jobs{pool="default", state="running"}': "1+0x90",
            'tuner_blocks_total{pool="default", phase="search", state="complete"}': "0+1x5 5+0x85",
            'tuner_blocks_total{pool="big", phase="search", state="complete"}': "0+1x90",
        },
        85,
    ),
    "TunerQueueOld": Scene({'tuner_queue_oldest_seconds{pool="default"}': "30000+60x9"}, 8),
    "TunerJobsFail": Scene(
        {
            'tuner_jobs_ended_total{pool="default", kind="tune", state="failed"}': "0+2x60",
            'tuner_jobs_ended_total{pool="default", kind="tune", state="succeeded"}': "0+1x60",
        },
        60,
    ),
    "TunerNoisyHosts": Scene(
        {
            'tuner_windows_total{pool="default"}': "0+8x60",
            'tuner_doubts_total{pool="default", doubt="noisy_host"}': "0+6x60",
            'tuner_doubts_total{pool="default", doubt="throttled"}': "0+8x60",
        },
        60,
    ),
    "TunerSlowAnswers": Scene(
        {
            'tuner_http_request_seconds_bucket{instance="a", method="GET", le="1.0"}': "0+50x40",
            'tuner_http_request_seconds_bucket{instance="a", method="GET", le="2.5"}': "0+60x40",
            'tuner_http_request_seconds_bucket{instance="a", method="GET", le="+Inf"}': "0+60x40",
        },
        25,
    ),
    "TunerFailedAnswers": Scene(
        {
            'tuner_http_request_seconds_count{instance="a", status="200"}': "0+60x40",
            'tuner_http_request_seconds_count{instance="a", status="503"}': "0+10x40",
        },
        25,
    ),
}


def scene_of(series: Mapping[str, str], minute: int, *firing: str) -> dict[str, Any]:
    """A test for promtool: exactly these alerts fire in that minute, each once."""
    expected = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in firing]
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{minute}m",
                "exp_samples": expected,
            }
        ],
    }


def holds(test: dict[str, Any], folder: Path) -> None:
    """Have promtool run a test of the rules."""
    document = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    path = folder / "scene.yml"
    path.write_text(yaml.safe_dump(document))
    promtool("test", "rules", str(path))


def test_promtool_accepts_the_rules() -> None:
    promtool("check", "rules", str(RULES))


def test_every_rule_has_a_scene() -> None:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    assert [rule["alert"] for rule in group["rules"]] == list(SCENES)


@pytest.mark.parametrize("alert", SCENES)
def test_an_alert_fires_in_its_scene_alone_and_once(alert: str, tmp_path: Path) -> None:
    holds(scene_of(SCENES[alert].series, SCENES[alert].minute, alert), tmp_path)


def test_none_fires_while_all_is_well(tmp_path: Path) -> None:
    for minute in (5, 30, 130, 390):
        holds(scene_of(WELL, minute), tmp_path)


# ---- a Prometheus that scrapes a service


@dataclass(frozen=True, slots=True)
class Watched:
    """A service with some work done, and the Prometheus that watches it."""

    service: Service
    http: httpx.Client

    def asked(self, query: str) -> list[dict[str, Any]]:
        answer = self.http.get("/api/v1/query", params={"query": query})
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["data"]["result"]
        return found

    def answered(self, query: str) -> list[dict[str, Any]]:
        """What it answers once there is something; rates need several scrapes."""
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while not (found := self.asked(query)):
            assert time.monotonic() < deadline, f"nothing: {query}\n{self.service.log()}"
            time.sleep(0.2)
        return found


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with running(until="/healthz", TUNER_API_KEY=KEY, TUNER_LOG_FORMAT="json") as service:
        with opened_store(service) as store:
            store.see_host("bench-1", NOBODY)
            finished_jobs.stored(store, finished_jobs.recommendation(), pool=NOBODY)
            spec = builders.spec(pool=NOBODY)
            made, _ = store.create_job(spec, idempotency_key=None, request_sha256="")
            finished_jobs.measured(store, made.job.id, blocks=3)
        yield from _watching(service, tmp_path_factory.mktemp("prometheus"))


def _watching(service: Service, folder: Path) -> Iterator[Watched]:
    port = free_port()
    (folder / "prometheus.yml").write_text(yaml.safe_dump(_configuration(service, folder)))
    argv = [
        program(for_tests.SERVER),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10) as http,
    ):
        try:
            _wait_until_ready(http, process, folder / "log")
            yield Watched(service, http)
        finally:
            process.terminate()


def _configuration(service: Service, folder: Path) -> dict[str, Any]:
    """The configuration of the docs, with this service's address and short intervals."""
    found: dict[str, Any] = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
    (scrape,) = found["scrape_configs"]
    (folder / scrape["authorization"]["credentials_file"]).write_text(KEY)
    scrape["static_configs"] = [{"targets": [f"127.0.0.1:{service.port}"]}]
    every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    rules = [str(MONITORING / name) for name in found["rule_files"]]
    return {**found, "global": every, "rule_files": rules}


def _wait_until_ready(http: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + ANSWERS_WITHIN_S
    while True:
        try:
            if http.get("/-/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        is_over = process.poll() is not None or time.monotonic() > deadline
        assert not is_over, log.read_text(errors="replace")
        time.sleep(0.1)


def queries() -> Iterator[Any]:
    """Every query of the dashboard, as Grafana would send it."""
    for panel in json.loads((MONITORING / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            query = target["expr"]
            for variable, text in GRAFANA.items():
                query = query.replace(variable, text)
            assert "$" not in query
            yield pytest.param(query, id=f"{panel['title']} {target['refId']}")


@pytest.mark.parametrize("query", list(queries()))
def test_prometheus_has_an_answer_to_a_query_of_the_dashboard(watched: Watched, query: str) -> None:
    assert watched.answered(query)


def test_what_was_measured_is_what_prometheus_has(watched: Watched) -> None:
    blocks = f'tuner_blocks_total{{pool="{NOBODY}", phase="search", state="complete"}}'
    (found,) = watched.answered(blocks)
    assert float(found["value"][1]) == 3
    ended = f'tuner_jobs_ended_total{{pool="{NOBODY}", verdict="better"}}'
    (found,) = watched.answered(ended)
    assert float(found["value"][1]) == 1
    (up,) = watched.answered('up{job="uwsgi-tuner"}')
    assert up["value"][1] == "1"


def test_prometheus_can_evaluate_every_rule(watched: Watched) -> None:
    watched.answered("tuner_database_up")
    deadline = time.monotonic() + ANSWERS_WITHIN_S
    health: dict[str, str] = {}
    while set(health.values()) != {"ok"}:
        assert time.monotonic() < deadline, health
        (group,) = watched.http.get("/api/v1/rules").json()["data"]["groups"]
        health = {rule["name"]: rule["health"] for rule in group["rules"]}
        time.sleep(0.2)
    assert list(health) == list(SCENES)


def test_promtool_finds_no_fault_in_the_metrics(watched: Watched) -> None:
    answer = watched.service.http.get("/metrics", headers={"X-API-Key": KEY})
    assert answer.status_code == 200
    promtool("check", "metrics", given=answer.text)


def test_the_log_of_a_whole_service_is_json_line_by_line(watched: Watched) -> None:
    lines = (watched.service.home / "serve.log").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert {"time", "level", "process", "logger", "message"} <= set(records[0])
    assert any("tuner serves http://" in record["message"] for record in records)
