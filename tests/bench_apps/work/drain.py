"""Reads the request log slower than the app could write it, as a stalled log driver does."""

import sys
import time

LINES_PER_S = float(sys.argv[1])
BATCH = 20
LINE_BYTES = 250  # roughly what uWSGI writes per request

with open("/app/requests.fifo", "rb", buffering=0) as log:
    while log.read(BATCH * LINE_BYTES):
        time.sleep(BATCH / LINES_PER_S)
