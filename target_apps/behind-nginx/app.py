"""A 10 ms wait for a backend and a small JSON reply; nginx passes the requests on."""

import time

BACKEND_WAIT_S = 0.010
BODY = b'{"status": "ok"}'


def application(environ, start_response):
    time.sleep(BACKEND_WAIT_S)
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]
    start_response("200 OK", headers)
    return [BODY]
