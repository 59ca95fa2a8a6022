"""Each worker holds 60 MB of its own: one worker too many, and the kernel kills one."""

import time

from uwsgidecorators import postfork

MODEL_MB = 60
BACKEND_WAIT_S = 0.015
PAGE = 4096
BODY = b'{"status": "ok"}'

model = None


@postfork
def load_model():
    """After the fork, and written to: before it, the workers would share the pages and cost nothing."""
    global model
    model = bytearray(b"\x01") * (MODEL_MB * 1024 * 1024)


def application(environ, start_response):
    time.sleep(BACKEND_WAIT_S)
    model[PAGE] = (model[PAGE] + 1) % 256
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]
    start_response("200 OK", headers)
    return [BODY]
