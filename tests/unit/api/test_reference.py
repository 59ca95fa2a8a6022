"""/docs: every call on a page that loads nothing."""

import base64
import hashlib
import re

import pytest

from tests.unit.api.fakes import Api


def test_the_page_has_every_call_of_the_openapi_document() -> None:
    api = Api()
    page = api.get("/docs").text
    for path, calls in api.get("/openapi.json").json()["paths"].items():
        for method in calls:
            assert f"<code>{method.upper()} {path}</code>" in page
    assert "&#34;checkout&#34;" in page  # the example of a request


def test_it_loads_nothing_and_runs_nothing() -> None:
    answer = Api().get("/docs")
    assert not re.search(r"<script|src=|https?://", answer.text)
    style = re.search(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert "unsafe" not in policy


@pytest.mark.parametrize("path", ["/redoc", "/docs/oauth2-redirect"])
def test_pages_that_load_from_elsewhere_are_gone(path: str) -> None:
    assert Api().get(path).status_code == 404
