"""Pages in Chromium, as a reader has them."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect, sync_playwright

CHANGES_WITHIN_MS = 30_000
LOADS_WITHIN_MS = 120_000  # beside other tests; how fast pages are is for the benchmarks
AWAY = ("net::ERR_", "status of 503", "Code 503", "htmx:sendError", "htmx:afterRequest")


@dataclass
class Reader:
    """One browser, with what went wrong in it and the hosts that it asked."""

    context: BrowserContext
    errors: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def page(self) -> Page:
        """A new tab."""
        page = self.context.new_page()
        page.set_default_timeout(CHANGES_WITHIN_MS)
        page.set_default_navigation_timeout(LOADS_WITHIN_MS)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        return page

    def hear(self, said: ConsoleMessage) -> None:
        """Keep an error of the console with its address."""
        if said.type == "error":
            self.errors.append(f"{said.text} at {said.location['url']}")

    def faults(self, *, was_away: bool = False) -> list[str]:
        """Errors; with `was_away` without what browser and htmx write of a service that is away."""
        known = AWAY if was_away else ()
        return [error for error in self.errors if not any(word in error for word in known)]


@contextmanager
def reader(**shape: Any) -> Iterator[Reader]:
    """A browser of its own; `shape` is of Playwright's `new_context`, such as `color_scheme`."""
    expect.set_options(timeout=CHANGES_WITHIN_MS)
    program = shutil.which("chromium")
    assert program, "Chromium is not on PATH: `make setup` does not need it, `make test-all` does"
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=as_root)
        found = Reader(browser.new_context(**shape))
        found.context.on("console", found.hear)
        found.context.on("request", lambda sent: found.hosts.add(urlsplit(sent.url).netloc))
        yield found
        browser.close()
