"""Apps with a database, as users bring them: their images built, their data filled, a verdict."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.patience import TEST_ENDS_WITHIN_S
from tests.service import Json, Service, is_refused_as_busy, running
from tests.variants import SHOP, write_variant
from tuner.nouns.model import Verdict

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

SHORT = {
    "preset": "demo",
    "trials": 3,
    "calibrate_blocks": 2,
    "confirm_blocks": 5,
    "cycles": 1,
    "window_s": 2.0,
    "warmup_s": 1.0,
}
OWN_INI = (SHOP / "uwsgi.ini").read_text()
UNREACHABLE = ("connection broken by", "Unable to locate package")
"""What pip and apt-get say on a machine without a package index."""


SLOW = {"postgres": {"cpus": 0.2}}
FEW = {"postgres": {"command": ["postgres", "-c", "max_connections=8"]}}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    apps = tmp_path_factory.mktemp("apps")
    for name, services in (("slow-postgres", SLOW), ("few-connections", FEW)):
        write_variant(apps, name, SHOP, services=services)
    with running(TUNER_TARGET_APPS=str(apps), TUNER_READY_TIMEOUT_S="60") as service:
        yield service
        service.wait_for(lambda: not service.leftovers(), 30, "nothing is left over")


def finished(service: Service, **request: Any) -> Json:
    """The job's end; skips where the images cannot be built for want of packages."""
    ended = service.finish(service.submit(**request)["id"])
    if is_refused_as_busy(ended):
        return service.succeed(**request)
    failure = ended.get("failure") or {}
    if any(words in str(failure.get("log_tail")) for words in UNREACHABLE):
        pytest.skip(f"needs package indexes to build the images: {failure['message']}")
    assert ended["state"] == "succeeded", (ended, service.log())
    return ended


def test_an_app_with_its_database_gets_a_verdict(service: Service) -> None:
    app = "django-shop"
    ended = finished(service, app=app, target={"target_app": app}, budget=SHORT, max_slots=16)
    of_job = f"/v1/jobs/{ended['id']}"
    answer = service.get(f"{of_job}/recommendation").json()
    assert answer["verdict"] in {*Verdict}
    assert "module = shop.wsgi:application" in service.get(f"/v1/apps/{app}/uwsgi.ini").text
    # The baseline answered every request as expected: pages from the data, and orders by 302.
    windows = service.get(f"{of_job}/trials/0?raw=1").json()["windows"]
    assert windows
    for window in windows:
        assert window["errors"] == 0, window["errors_by_class"]
        assert window["requests"] > 0


def test_a_database_that_is_too_slow_is_the_bottleneck(service: Service) -> None:
    ended = finished(service, kind="compare", target={"target_app": "slow-postgres"}, blocks=1)
    (arm,) = ended["report"]["arms"]
    assert arm["diagnosis"]["bottleneck"] == "backing_service", arm["diagnosis"]
    assert arm["diagnosis"]["sentence"].startswith("postgres ")
    assert arm["services"]["postgres"]["cores"] <= 0.25


def test_a_database_that_allows_too_few_connections_is_the_cause_of_errors(
    service: Service,
) -> None:
    inis = [{"name": f"{each}-threads", "ini": f"{OWN_INI}threads = {each}\n"} for each in (1, 8)]
    target = {"target_app": "few-connections"}
    ended = finished(service, kind="compare", target=target, arms=inis, blocks=1)
    fits, exceeds = ended["report"]["arms"]
    assert "service_refused" not in fits["doubts"]
    assert "service_refused" in exceeds["doubts"]
    found = exceeds["diagnosis"]
    assert found["bottleneck"] == "backing_service", found
    assert "too many clients" in found["sentence"]
    assert "16 slots" in found["sentence"]
    raw = service.get(f"/v1/jobs/{ended['id']}/windows").json()["windows"]
    refusals = [one["surroundings"]["refusal"] for one in raw if one["trial"] == 1]
    assert refusals
    assert all("too many clients" in line for line in refusals)
