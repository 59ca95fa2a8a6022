"""All computing, behind a file that leaves nothing to gain: the right answer is "keep your file"."""

import hashlib
import json

# About 2 ms to serialise. Not a loop of arithmetic: the time of such a loop depends on where CPython's memory allocator
# happens to stand, which differs by 10 % from one uwsgi.ini to the next, and would be taken for an effect of the file.
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
