"""The usual web app: ask a backend, compute a little, answer with JSON."""

import json
import time

BACKEND_WAIT_S = 0.010
BASKET_LINES = 34_000  # about 2 ms of pure Python


def application(environ, start_response):
    time.sleep(BACKEND_WAIT_S)  # the database's answer
    body = json.dumps({"bytes": len(render(BASKET_LINES)), "currency": "EUR"}).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response("200 OK", headers)
    return [body]


def render(lines):
    return "".join([f"<td>{number & 127}</td>" for number in range(lines)])
