"""Apps with a database, as users bring them: their images built, their data filled, a verdict."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.patience import TEST_ENDS_WITHIN_S
from tests.service import Json, Service, is_refused_as_busy, running
from tuner.model import Verdict

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
UNREACHABLE = ("connection broken by", "Unable to locate package")
"""What pip and apt-get say on a machine without a package index."""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running(TUNER_READY_TIMEOUT_S="60") as service:
        yield service
        assert service.containers() == []


def finished(service: Service, **request: Any) -> Json:
    """The job's end; skips where the images cannot be built for want of packages."""
    ended = service.finish(service.submit(budget=SHORT, max_slots=16, **request)["id"])
    if is_refused_as_busy(ended):
        return service.succeed(budget=SHORT, max_slots=16, **request)
    failure = ended.get("failure") or {}
    if any(words in str(failure.get("log_tail")) for words in UNREACHABLE):
        pytest.skip(f"needs package indexes to build the images: {failure['message']}")
    assert ended["state"] == "succeeded", (ended, service.log())
    return ended


@pytest.mark.parametrize(
    ("app", "module"), [("django-shop", "shop.wsgi"), ("wagtail-site", "website.wsgi")]
)
def test_an_app_with_its_database_gets_a_verdict(service: Service, app: str, module: str) -> None:
    ended = finished(service, app=app, target={"target_app": app})
    of_job = f"/v1/jobs/{ended['id']}"
    answer = service.get(f"{of_job}/recommendation").json()
    assert answer["verdict"] in {*Verdict}
    assert f"module = {module}:application" in service.get(f"/v1/apps/{app}/uwsgi.ini").text
    # The baseline answered every request as expected: pages from the data, and orders by 302.
    windows = service.get(f"{of_job}/trials/0?raw=1").json()["windows"]
    assert windows
    for window in windows:
        assert window["errors"] == 0, window["errors_by_class"]
        assert window["requests"] > 0
