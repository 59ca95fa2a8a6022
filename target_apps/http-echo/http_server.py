"""Python's own http.server: a thread for each connection."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from app import BODY


class Handler(BaseHTTPRequestHandler):
    """Answers every request alike."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_: object) -> None:
        """No log: the others write none."""


class Server(ThreadingHTTPServer):
    """With the queue that the box allows, not with 5."""

    request_queue_size = 4096


Server(("", 8000), Handler).serve_forever()
