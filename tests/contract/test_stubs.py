"""A stub on the real engine, asked from the app's own container as its libraries would."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests import real_bench
from tests.bench_arms import ONE_CPU
from tests.real_bench import everything_of
from tuner.bench.engine.commands import execute
from tuner.bench.engine.target import DockerTarget
from tuner.bench.measurement import ArmSpec
from tuner.nouns.model import DEFAULT_COMMAND, Target

pytestmark = pytest.mark.docker

WANTED_MS = (40.0, 120.0)
"""p50 and p95."""
CHARGE = {"path": "/v1/charge", "method": "POST", "status": 201, "body": {"id": 1}}
ASK = """
import urllib.request as u
asked = u.Request('https://api.pay.example/v1/charge', b'x', method='POST')
print(u.urlopen(asked).status, u.urlopen('http://quick/now').read().decode())
"""
LOAD = """
import concurrent.futures as f, http.client as h, json, statistics, sys, time

def client(scheme):
    kind = h.HTTPSConnection if scheme == 'https' else h.HTTPConnection
    connection, times = kind('api.pay.example'), []
    connection.connect()
    opened = connection.sock
    for _ in range(50):
        began = time.perf_counter()
        connection.request('POST', '/v1/charge', b'x')
        answer = connection.getresponse()
        answer.read()
        times.append(1000 * (time.perf_counter() - began))
        assert answer.status == 201 and connection.sock is opened, 'not kept alive'
    return times

with f.ThreadPoolExecutor(8) as pool:
    found = statistics.quantiles(sum(pool.map(client, [sys.argv[1]] * 8), []), n=100)
print(json.dumps([found[49], found[94]]))
"""
AWAY = "import urllib.request as u; u.urlopen('http://api.pay.example/v2?token=abc')"


@contextmanager
def launched(wanted_ms: tuple[float, float] = WANTED_MS) -> Iterator[DockerTarget]:
    """An app that runs as a user and needs two stubs, one of them already in `prepare`."""
    payment = {
        "hosts": ["api.pay.example"],
        "latency_ms": dict(zip(("p50", "p95"), wanted_ms, strict=True)),
        "responses": [CHARGE],
    }
    quick = {"responses": [{"path": "/*", "body": "at once"}], "ports": {80: "http"}}
    target = Target.model_validate(
        {
            "target_app": "moody",
            "command": DEFAULT_COMMAND,
            "memory_per_process_mb": 12,
            "user": "1234:1235",
            "services": {"payment": {"stub": payment}, "quick": {"stub": quick}},
            "prepare": [{"in": "app", "run": ["python3", "-c", ASK]}],
        }
    )
    arm = ArmSpec(index=0, ini=real_bench.MOODY_INI, target=target, limits=ONE_CPU)
    with real_bench.engine() as engine:
        with engine.for_measurement("1", "7").launch(arm) as running:
            yield running
        engine.end_jobs(())
        assert everything_of(engine.instance) == []


def inside(running: DockerTarget, *words: str) -> Any:
    """What Python says in the app's container, as its user and in its environment."""
    return execute(
        running.connection,
        running.container,
        ["python3", "-c", *words],
        user="1234:1235",
        timeout_s=60,
        meanwhile=lambda: None,
    )


def test_an_app_meets_its_stubs_with_their_latency_over_http_and_https() -> None:
    with launched() as running:
        done = inside(running, ASK)
        assert (done.exit_code, done.stdout.strip()) == (0, "201 at once"), done.stderr
        for scheme in ("http", "https"):
            for measured_ms, wanted_ms in zip(latency_ms(running, scheme), WANTED_MS, strict=True):
                # A busy neighbour makes it slower. `make bench-round-trips` says how exact it is.
                assert 0.95 * wanted_ms < measured_ms < 2 * wanted_ms
        assert "HTTP Error 404" in inside(running, AWAY).stderr
        log = running.connection.log_tail(running.services["payment"], 10)
        assert log.strip() == "404: no response for GET /v2 (1 so far)"
        usage = running.service_usage()["payment"]
        assert usage.memory_peak_mb is not None
        assert usage.memory_peak_mb < 40


def latency_ms(running: DockerTarget, scheme: str) -> tuple[float, float]:
    """p50 and p95 of 400 requests to the stub, over 8 connections that stay open."""
    done = inside(running, LOAD, scheme)
    assert done.exit_code == 0, done.stderr
    p50, p95 = json.loads(done.stdout)
    return p50, p95
