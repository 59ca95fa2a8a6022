"""Every page over filled rows in Chromium: by axe-core's rules, in both colours and on a phone."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browsing import Reader, reader
from tests.filled_pages import ADDRESSES, SHAPES, served

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

PAST_THE_EDGE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture(scope="module", params=SHAPES)
def somebody(request: pytest.FixtureRequest) -> Iterator[Reader]:
    with reader(**SHAPES[request.param]) as found:
        yield found


@pytest.mark.parametrize("path", ADDRESSES)
def test_a_page_can_be_read(site: str, somebody: Reader, path: str) -> None:
    page = somebody.page()
    answer = page.goto(f"{site}{path}")
    assert answer is not None
    assert answer.status == (404 if path == "/nowhere" else 200)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate(PAST_THE_EDGE) <= 0, "the page is wider than the screen"
    page.close()
    assert [each for each in somebody.faults() if "404" not in each] == []
    assert somebody.hosts == {site.removeprefix("http://")}


KEEPS_THE_FOCUS = """() => document.addEventListener("htmx:afterSwap", () => {
  document.body.dataset.focus = document.activeElement.textContent;
})"""


def test_the_keyboard_reaches_what_the_mouse_does(site: str, somebody: Reader) -> None:
    page = somebody.page()
    page.goto(f"{site}/jobs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id || location.hash") in ("main", "#main")
    asked = page.locator("details.ask summary").first
    asked.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Cancel it now")
    page.evaluate(KEEPS_THE_FOCUS)
    page.evaluate("document.getElementById('live').dataset.old = 'yes'")
    expect(page.locator("#live[data-old]")).to_have_count(0)  # a block has ended
    expect(page.locator(":focus")).to_have_text("Cancel it now")
    assert page.evaluate("document.body.dataset.focus") == "Cancel it now", "a key would be lost"
    page.close()
