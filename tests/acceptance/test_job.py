"""POST in, uwsgi.ini out: real HTTP, PostgreSQL, Docker, uWSGI and load, nothing replaced."""

import configparser
import time
from collections.abc import Iterator

import pytest

from tests import misbehaving
from tests.patience import TEST_ENDS_WITHIN_S, quickest
from tests.service import Service, running

pytestmark = [pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

SHORT = {
    "preset": "demo",
    "trials": 4,
    "calibrate_blocks": 2,
    "confirm_blocks": 5,
    "cycles": 1,
    "window_s": 1.0,
    "warmup_s": 0.3,
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    apps = tmp_path_factory.mktemp("apps")
    misbehaving.write_app(apps, "no-import", misbehaving.IMPORT_ERROR)
    misbehaving.write_app(apps, "only-500", misbehaving.ONLY_500)
    misbehaving.write_app(apps, "never-ready", misbehaving.NEVER_READY)
    with running(TUNER_TARGET_APPS=str(apps), TUNER_READY_TIMEOUT_S="4") as service:
        yield service
        assert service.containers() == []


def options(ini: str) -> dict[str, str]:
    """A second opinion on the file: Python's own parser, which reads simple ones alike."""
    parser = configparser.ConfigParser(strict=False, allow_no_value=True, interpolation=None)
    parser.read_string(ini)
    return {key: value or "true" for key, value in parser["uwsgi"].items()}


def test_an_app_that_waits_gets_a_file_that_serves_five_times_as_much(service: Service) -> None:
    early = service.submit(app="shop", target={"target_app": "io-bound"}, budget=SHORT)
    assert service.http.get(f"/v1/jobs/{early['id']}/uwsgi.ini").status_code == 409
    service.http.post(f"/v1/jobs/{early['id']}/cancel")
    job = service.succeed(app="shop", target={"target_app": "io-bound"}, budget=SHORT)
    answer = service.get(f"/v1/jobs/{job['id']}/recommendation").json()
    assert answer["verdict"] == "better", answer
    assert answer["effect"]["ci_low"] > 4.0, answer["effect"]  # five times = +400 %
    ini = service.get("/v1/apps/shop/uwsgi.ini")
    tuned = options(ini.text)
    assert int(tuned["processes"]) * int(tuned.get("threads", "1")) >= 5
    assert tuned["http-socket"] == ":8000"
    again = service.http.get(
        "/v1/apps/shop/uwsgi.ini", headers={"If-None-Match": ini.headers["ETag"]}
    )
    assert again.status_code == 304


def test_a_second_job_waits_for_the_first_and_says_so(service: Service) -> None:
    first = service.submit(app="first", target={"target_app": "cpu-bound"}, budget=SHORT)
    second = service.submit(app="second", target={"target_app": "cpu-bound"}, budget=SHORT)
    assert service.job(second["id"])["state"] == "queued"
    assert service.job(second["id"])["queue_position"] == 1
    for job in (second, first):
        assert service.http.post(f"/v1/jobs/{job['id']}/cancel").status_code == 200
    service.wait_for(lambda: not service.containers(), 30, "nothing is left running")


def test_a_cancel_stops_a_running_measurement_within_two_seconds(service: Service) -> None:
    long = SHORT | {"window_s": 30.0}

    def cancel_took() -> float:
        job = service.submit(app="shop", target={"target_app": "mixed"}, budget=long)
        service.wait_for(
            lambda: (
                service.job(job["id"])["phase"] == "calibrate" and len(service.containers()) == 4
            ),
            180,
            "two arms are running",
        )
        time.sleep(1.0)  # in the middle of a window
        began = time.monotonic()
        assert service.http.post(f"/v1/jobs/{job['id']}/cancel").json()["state"] == "cancelled"
        service.wait_for(lambda: not service.containers(), 10, "the containers are gone")
        return time.monotonic() - began

    assert quickest(2.0, cancel_took) < 2.0


@pytest.mark.parametrize(
    ("target", "code", "words"),
    [
        ("no-import", "app_failed", "there_is_no_such_module"),
        ("only-500", "errors_only", "500"),
        ("never-ready", "not_ready", ""),
    ],
)
def test_a_target_that_does_not_work_fails_the_job_within_seconds(
    service: Service, target: str, code: str, words: str
) -> None:
    job = service.submit(app="shop", target={"target_app": target}, budget=SHORT)
    ended = service.finish(job["id"])
    assert ended["state"] == "failed"
    assert ended["failure"]["code"] == code, ended["failure"]
    assert words in str(ended["failure"])
    assert ended["failure"]["log_tail"]
    assert service.containers() == []


def test_an_image_that_does_not_exist_fails_the_job_with_its_name(service: Service) -> None:
    job = service.submit(
        app="shop",
        target={"image": "no-such-image:1"},
        baseline={"ini": "[uwsgi]\nhttp-socket = :8000\n"},
        budget=SHORT,
    )
    ended = service.finish(job["id"])
    assert ended["failure"]["code"] == "image_missing"
    assert "no-such-image:1" in ended["failure"]["message"]


@pytest.mark.full
def test_an_image_by_name_is_tuned_from_the_file_that_comes_with_the_request(
    service: Service,
) -> None:
    job = service.submit(
        app="by-image",
        target={"image": "uwsgi-tuner/base:2.0.31", "port": 9000},
        baseline={"ini": "[uwsgi]\nhttp-socket = :9000\nmodule = wsgiref.simple_server:demo_app\n"},
        workload={
            "kind": "open_loop",
            "rate_rps": 200,
            "requests": [{"path": "/a"}, {"path": "/b"}],
        },
        objective={"minimize": "latency_p95_ms"},
        budget=SHORT | {"trials": 1, "confirm_blocks": 4, "window_s": 0.5},
    )
    ended = service.finish(job["id"])
    assert ended["state"] == "succeeded", ended
    trial = service.get(f"/v1/jobs/{job['id']}/trials/1?raw=1").json()
    assert trial["windows"]
    assert all(window["served"] == window["sent"] for window in trial["windows"])


def test_every_mistake_of_a_request_comes_at_once(service: Service) -> None:
    answer = service.http.post(
        "/v1/jobs",
        json={
            "app": "shop",
            "target": {"target_app": "nowhere"},
            "limits": {"cpus": 1, "memory_mb": 20, "somaxconn": 128},
            "baseline": {"ini": "[uwsgi]\nlisten = 1024\n"},
            "search_space": "nowhere",
        },
    )
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    paths = {mistake["path"] for mistake in answer.json()["mistakes"]}
    assert paths == {
        "target.target_app",
        "limits.memory_mb",
        "baseline.ini:2",
        "search_space",
    }
