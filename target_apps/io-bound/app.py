"""Every request waits 20 ms for a backend and computes nothing: a worker that waits serves nobody."""

import time

BACKEND_WAIT_S = 0.020
BODY = b'{"status": "ok"}'


def application(environ, start_response):
    time.sleep(BACKEND_WAIT_S)
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]
    start_response("200 OK", headers)
    return [BODY]
