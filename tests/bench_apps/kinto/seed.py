"""Fill Kinto with a collection of articles that everybody may read, through the app itself."""

import json
import os
from base64 import b64encode
from typing import Any

from pyramid.paster import get_app  # type: ignore[import-not-found]  # in the image only
from webob import Request  # type: ignore[import-untyped]

RECORDS = 1000
DRAFTS = 4  # collections that are written to: Kinto answers 409 to two writes to one at once
ARTICLES = "/v1/buckets/blog/collections/articles"
HEADERS = {
    "Authorization": "Basic " + b64encode(b"admin:only-for-measuring").decode(),
    "Content-Type": "application/json",
}

app = get_app(os.environ["KINTO_INI"])


def put(path: str, body: dict[str, Any]) -> None:
    """Make one object. Raises `SystemExit` where Kinto refuses it."""
    sent = json.dumps(body).encode()
    answer = Request.blank(path, method="PUT", body=sent, headers=HEADERS).get_response(app)
    if answer.status_int != 201:
        raise SystemExit(f"{path}: {answer.status} {answer.text}")


put("/v1/buckets/blog", {"permissions": {"read": ["system.Everyone"]}})
put(ARTICLES, {})
for number in range(DRAFTS):
    put(f"/v1/buckets/blog/collections/drafts-{number}", {})
for number in range(RECORDS):
    text = f"What was written on day {number}. " * 20
    put(f"{ARTICLES}/records/article-{number}", {"data": {"title": f"Day {number}", "text": text}})
