"""All computing, behind a file that leaves nothing to gain: the right answer is "keep your file"."""

import hashlib
import json

# About 2 ms to serialise. Not a loop of arithmetic: one took 2.13 ms where uWSGI forks after loading the app and 1.93 ms
# with threads = 2 or lazy-apps, again and again. That is a real effect, but not one that this app is meant to show.
ROWS = [
    {"id": number, "name": f"article {number}", "price": number * 1.25, "tags": ["new", "sale"]}
    for number in range(3_000)
]


def application(environ, start_response):
    report = json.dumps(ROWS).encode()
    body = json.dumps({"etag": hashlib.sha256(report).hexdigest()}).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response("200 OK", headers)
    return [body]
