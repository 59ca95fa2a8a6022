"""The pages over any store, and a browser that only reads and sends forms."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import httpx

from tests.unit.api.fakes import catalogue
from tuner.nouns.model import JobSpec, Request
from tuner.service import pages
from tuner.service.api import Services, create_app
from tuner.study import resolve

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "accept-encoding": "gzip"}
OF_FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}


class Site:
    """A service with its pages."""

    def __init__(
        self,
        store: Any,
        *,
        api_key: str | None = None,
        root_path: str = "",
        wrong_key_takes_s: float = 0,
    ) -> None:
        known = catalogue()

        def real_resolve(request: Request) -> JobSpec:
            return resolve(request, known)

        services = Services(
            store=store,
            catalogue=known,
            resolve=real_resolve,
            api_key=api_key,
            wrong_key_takes_s=wrong_key_takes_s,
            now=lambda: datetime.now(UTC),
        )
        self.app = pages.install(create_app(services))
        self._root_path = root_path

    def get(self, path: str, **headers: str) -> httpx.Response:
        """As a browser asks."""
        return self.send("GET", path, headers={**BROWSER, **headers})

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> httpx.Response:
        """A form, as a browser sends it."""
        content = urlencode(fields).encode()
        return self.send("POST", path, content, {**BROWSER, **OF_FORM, **headers})

    def send(
        self, method: str, path: str, content: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Any request."""
        return asyncio.run(self.sending(method, path, content, headers))

    async def sending(
        self, method: str, path: str, content: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """The same beside others. A server puts the base path before the path, as uvicorn does."""
        transport = httpx.ASGITransport(
            self.app, raise_app_exceptions=False, root_path=self._root_path
        )
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            address = f"{self._root_path}{path}"
            return await client.request(method, address, content=content, headers=headers)


@dataclass
class Visitor:
    """A browser that keeps the cookie of a session, and sends the token of its pages."""

    site: Site
    cookie: str = ""

    def sign_in(self, key: str, **fields: str) -> httpx.Response:
        """Send the form, and keep the cookie of the answer."""
        answer = self.site.post("/sign-in", {"key": key, **fields})
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        return answer

    def get(self, path: str, **headers: str) -> httpx.Response:
        """As a browser asks."""
        return self.site.get(path, cookie=self.cookie, **headers)

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> httpx.Response:
        """A form, with nothing besides its fields."""
        return self.site.post(path, fields, cookie=self.cookie, **headers)

    @property
    def token(self) -> str:
        """What the forms of its pages hold."""
        return token_in(self.get("/lint").text)


def token_in(page: str) -> str:
    """The token in the forms of a page; empty for none."""
    found = {*re.findall(r'name="token" value="([^"]+)"', page)}
    assert len(found) <= 1
    return "".join(found)
