"""Sign-in by a real identity provider, in Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browsing import Reader, reader
from tests.postgres import fresh_database
from tests.provider import provider, write_settings
from tests.running_api import Running, running_api
from tests.service import free_port

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

PEOPLE = {"ada": ["ops", "others"], "bob": ["shop"], "eve": ["others"]}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Running]:
    port = free_port()
    with (
        provider(f"http://127.0.0.1:{port}/sign-in/back", PEOPLE) as issuer,
        fresh_database() as url,
    ):
        file = write_settings(tmp_path, issuer)
        with running_api(url, tmp_path, port=port, TUNER_OIDC_FILE=str(file)) as found:
            yield found


@pytest.fixture
def somebody() -> Iterator[Reader]:
    with reader(locale="en-GB") as found:
        yield found


def let_in(page: Page, name: str) -> None:
    """At the provider: name, password, consent."""
    page.get_by_role("link", name="Sign in with your Example account").click()
    page.locator("input[name=login]").fill(name)
    page.locator("input[name=password]").fill("any")
    page.locator("button[type=submit]").click()
    page.locator("button[type=submit]").click()


def test_somebody_of_a_group_gets_its_rights_and_the_page_that_was_asked_for(
    api: Running, somebody: Reader
) -> None:
    page = somebody.page()
    page.goto(f"{api.url}/jobs?state=queued")
    let_in(page, "ada")
    expect(page).to_have_url(f"{api.url}/jobs?state=queued")
    expect(page.locator("body")).to_contain_text("Signed in as ada@example.com")
    assert page.request.get(f"{api.url}/v1/audit").status == 200
    newest = page.request.get(f"{api.url}/v1/audit").json()["entries"][0]
    assert (newest["who"], newest["action"]) == ("ada@example.com", "sign_in")


def test_a_group_that_reads_its_own_apps_reads_no_more(api: Running, somebody: Reader) -> None:
    page = somebody.page()
    page.goto(f"{api.url}/")
    let_in(page, "bob")
    expect(page.locator("body")).to_contain_text("Signed in as bob@example.com")
    assert page.request.get(f"{api.url}/v1/audit").status == 403
    assert page.request.get(f"{api.url}/v1/target-apps").json() == {"target_apps": []}


def test_somebody_without_a_group_reads_what_to_ask_for(api: Running, somebody: Reader) -> None:
    page = somebody.page()
    page.goto(f"{api.url}/")
    let_in(page, "eve")
    warning = page.get_by_role("alert")
    expect(warning).to_contain_text("You are eve@example.com at")
    expect(warning).to_contain_text("your groups are others. None of them opens this service.")
    expect(warning).to_contain_text("to put you into one of: ops, shop")
    assert page.request.get(f"{api.url}/v1/jobs").status == 401
