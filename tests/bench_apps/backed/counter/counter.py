"""A service with data: `/add` appends a row to a file of its volume, `/count` counts them.

`/fill` writes 40 MB there.
"""

import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROWS = Path("/data/rows")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/add":
            with ROWS.open("a") as file:
                file.write("row\n")
        elif self.path == "/fill":
            ROWS.with_name("large").write_bytes(bytes(40_000_000))
        body = str(len(ROWS.read_text().splitlines())).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


def work() -> None:
    while True:
        sum(range(10_000))


if sys.argv[1:] == ["--busy"]:
    threading.Thread(target=work, daemon=True).start()
elif sys.argv[1:]:
    sys.exit(2)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
ROWS.touch()
ThreadingHTTPServer(("", 9000), Handler).serve_forever()
