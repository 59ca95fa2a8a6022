"""A job from its form to its verdict in Chromium, before the real service with a real worker."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

from tests.browsing import Reader, reader
from tests.patience import JOB_ENDS_WITHIN_S, TEST_ENDS_WITHIN_S
from tests.service import Service, running

pytestmark = [
    pytest.mark.docker,
    pytest.mark.full,
    pytest.mark.timeout(TEST_ENDS_WITHIN_S),
]

KEY = "correct horse battery staple"
BUDGET = """
budget:
  {trials: 4, calibrate_blocks: 2, confirm_blocks: 5, cycles: 1, window_s: 1.0, warmup_s: 0.3}
"""


@pytest.fixture
def service() -> Iterator[Service]:
    with running(measures=False, TUNER_API_KEY=KEY) as service:
        service.http.headers["X-API-Key"] = KEY
        yield service
        assert service.containers() == []


@pytest.fixture
def ada() -> Iterator[Reader]:
    with reader(locale="en-GB", timezone_id="Europe/Berlin") as found:
        yield found


def test_a_job_from_its_form_to_its_verdict_without_a_reload(service: Service, ada: Reader) -> None:
    page, at = ada.page(), f"http://127.0.0.1:{service.port}"
    page.goto(f"{at}/new")
    sign_in(page)
    expect(page).to_have_url(f"{at}/new")
    start(page)
    expect(page.locator("h1")).to_contain_text("tune of shop")
    page.evaluate("window.isTheSame = true")
    expect(page.locator("#live")).to_be_visible(timeout=1000 * JOB_ENDS_WITHIN_S)
    for part in ("api", "postgres"):
        with without(service, part):
            expect(page.locator("#away")).to_be_visible()
        expect(page.locator("#away")).to_be_hidden()
    expect(page.locator(".hero .pill")).to_have_text("better", timeout=1000 * JOB_ENDS_WITHIN_S)
    assert page.evaluate("window.isTheSame"), "the page was loaded again"
    expect(page.locator("main")).to_contain_text("processes")

    other = service.submit(app="other", target={"target_app": "io-bound"})["id"]
    page.goto(f"{at}/jobs")
    page.locator(f"#cancels-{other}").click()
    page.locator(f"#cancel-now-{other}").click()
    expect(page.locator("#job")).to_contain_text("cancelled")

    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{at}/jobs")
    expect(page.locator("#key")).to_be_visible()
    unsigned = [
        f"{at}{path}" for path in ("/new", "/sign-in", "/jobs")
    ]  # their pages ask for a key
    assert [each.rpartition(" at ")[2] for each in ada.faults(was_away=True)] == unsigned
    assert all("401" in each for each in ada.faults(was_away=True))
    assert ada.hosts == {f"127.0.0.1:{service.port}"}


def sign_in(page: Page) -> None:
    """With a wrong key first."""
    page.locator("#key").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.locator("#key").fill(KEY)
    page.locator("#name").fill("Ada")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".who")).to_contain_text("Ada")


def start(page: Page) -> None:
    """Fill in the form by what it shows, and send it."""
    page.locator("#target-target_app").select_option("io-bound")
    expect(page.locator("#baseline-ini")).to_have_value(re.compile(r"\[uwsgi\]"))
    page.locator("#app").fill("shop")
    page.locator("#budget-preset").select_option("demo")
    page.locator("#document").fill("budget: {trials: none}")
    expect(page.locator("#wrong-document")).to_contain_text("trials")
    page.locator("#document").fill(BUDGET)
    expect(page.locator("#checked")).to_contain_text("4 trials")
    page.get_by_role("button", name="Start the job").click()


@contextmanager
def without(service: Service, part: str) -> Iterator[None]:
    """A part is killed, and the supervisor, which would start it again, stands still."""
    os.kill(service.process.pid, signal.SIGSTOP)
    try:
        service.kill(part)
        yield
    finally:
        os.kill(service.process.pid, signal.SIGCONT)
