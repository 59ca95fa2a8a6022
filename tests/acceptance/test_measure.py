"""An honest benchmark without tuning, on real containers: over HTTP, from request to raw data."""

from collections.abc import Iterator

import pytest

from tests import plants
from tests.patience import TEST_ENDS_WITHIN_S
from tests.service import Service, running

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

GOOD = """\
[uwsgi]
http-socket = :8000
chdir = /app
wsgi-file = app.py
master = true
processes = {}
"""
BROKEN = GOOD.replace("app.py", "nowhere.py") + "need-app = true\n"


CPU_BOUND = GOOD.replace("master = true\n", "master = true\ndisable-logging = true\n")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running() as service:
        yield service


def test_each_file_of_a_grid_runs_in_its_box_and_a_curve_says_where_more_stops_helping(
    service: Service,
) -> None:
    request = {
        "kind": "compare",
        "target": {"target_app": "cpu-bound"},
        "arms": [
            {
                "name": f"cpus-{cpus:g}-processes-{processes}",
                "ini": CPU_BOUND.format(processes),
                "limits": {"cpus": cpus, "memory_mb": 256},
            }
            for cpus in (0.25, 1.0)
            for processes in (1, 4)
        ],
        "vary": ["cpus", "processes"],
        "blocks": 6,
        "cycles": 1,
        "window_s": 1.0,
        "warmup_s": 0.5,
    }
    report = service.finish(service.submit(**request)["id"])["report"]
    small, large = report["curves"]
    assert (small["at"], large["at"]) == ({"cpus": "0.25"}, {"cpus": "1"})
    # A quarter of a core is full with one process.
    assert small["sentence"].startswith("more than 1 process ")
    assert "the box's CPU is full" in small["sentence"]
    rates = {
        arm["name"]: figure["value"]
        for arm in report["arms"]
        for figure in arm["figures"]
        if figure["metric"] == "throughput_rps"
    }
    assert rates["cpus-1-processes-1"] > 1.5 * rates["cpus-0.25-processes-1"]
    assert report["arms"][1]["step"]["after"] == "cpus-0.25-processes-1"


def test_files_are_compared_and_one_that_does_not_start_is_a_result(service: Service) -> None:
    request = {
        "kind": "compare",
        "target": {"target_app": "mixed"},
        "arms": [
            {"name": "two.ini", "ini": GOOD.format(2)},
            {"name": "broken.ini", "ini": BROKEN.format(2)},
            {"name": "eight.ini", "ini": GOOD.format(8)},
        ],
        "blocks": 4,
        "cycles": 1,
        "window_s": 1.0,
        "warmup_s": 0.5,
    }
    found = service.finish(service.submit(**request)["id"])
    assert found["state"] == "succeeded", found["failure"]
    two, broken, eight = found["report"]["arms"]
    assert broken["failure"]["code"] == "app_failed"
    assert (two["blocks"], broken["blocks"], eight["blocks"]) == (4, 0, 4)
    effects = {effect["metric"]: effect["estimate"] for effect in eight["effects"]}
    assert effects["throughput_rps"] > 0  # 10 ms of waiting and 2 of CPU: 2 slots are too few
    windows = service.get(f"/v1/jobs/{found['id']}/windows").json()["windows"]
    assert len(windows) == 8
    assert {window["trial"] for window in windows} == {0, 2}
    assert all(sum(window["histogram"]["counts"].values()) > 0 for window in windows)
    assert service.containers() == []


ANSWERS = """\
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"status": "ok"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
ThreadingHTTPServer(("", 8000), Handler).serve_forever()
"""
"""The reply of the app `planted`, without its work."""


def test_another_server_is_compared_with_a_file_under_the_same_app() -> None:
    with running(TUNER_TARGET_APPS=str(plants.TARGET_APPS)) as service:
        job = service.submit(
            kind="compare",
            target={"target_app": "planted"},
            arms=[
                {"name": "uwsgi", "ini": plants.NOTHING.baseline_ini},
                {"name": "threads", "command": ["python3", "-c", ANSWERS]},
                {"name": "folder", "command": ["python3", "-m", "http.server", "8000"]},
            ],
            blocks=4,
            cycles=1,
            window_s=1.0,
            warmup_s=0.5,
        )
        ended = service.finish(job["id"])
        assert ended["state"] == "succeeded", ended["failure"]
        uwsgi, threads, folder = ended["report"]["arms"]
        assert threads["failure"] is None
        shown = [{row["metric"] for row in arm["figures"]} for arm in (uwsgi, threads)]
        shown = [metrics - {"latency_p99_ms"} for metrics in shown]  # shown from 5 000 requests on
        assert shown[0] == shown[1]
        assert {"throughput_rps", "latency_p95_ms", "memory_mb", "target_cpu"} <= shown[0]
        assert not {"uncounted", "counter_mismatch"} & {*threads["doubts"]}
        assert "they do not serve the same" in folder["failure"]["message"]
        rows = service.get(f"/v1/jobs/{job['id']}/report?format=csv").text.splitlines()
        assert {row.split(",")[2] for row in rows[1:]} >= {"uwsgi", "threads"}
        page = service.get(f"/v1/jobs/{job['id']}/report?format=html").text
        assert "ThreadingHTTPServer" in page
        assert service.containers() == []
