"""A registry on loopback that serves one small image, as slowly or as badly as a test wants."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def digest_of(content: bytes) -> str:
    """As a registry names content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Registry:
    """What it serves under any name, and what was asked of it.

    With a `secret`, it answers every question with that, as another service on the network would.
    With `is_stuck`, a layer never ends; `gave_up` is set once the engine hangs up on it.
    """

    address: str = ""
    secret: bytes = b""
    is_stuck: bool = False
    gave_up: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, bytes] = field(default_factory=dict)  # by tag and by digest

    def is_asked(self) -> bool:
        """Whether the engine wants content."""
        return any("/blobs/" in path for path in self.asked)

    def put(self, tag: str, text: str) -> str:
        """Serve an image of one file under a tag; returns the digest of its manifest.

        No other registry has its layer: the engine would pull both at once from one of the two.
        """
        layer = _tar(f"{self.address} {text}".encode())
        packed = gzip.compress(layer, mtime=0)
        config = json.dumps(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": {"Cmd": ["/text"]},
                "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]},
            }
        ).encode()
        self.blobs |= {digest_of(config): config, digest_of(packed): packed}
        described = {"schemaVersion": 2, "mediaType": _MANIFEST}
        described |= {"config": _described(config, _CONFIG), "layers": [_described(packed, _LAYER)]}
        manifest = json.dumps(described).encode()
        self.manifests |= {tag: manifest, digest_of(manifest): manifest}
        return digest_of(manifest)


@contextmanager
def registry() -> Iterator[Registry]:
    """It serves until the context ends."""
    served = Registry()
    server = _Server(served)
    served.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _tar(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo("text")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _described(content: bytes, kind: str) -> dict[str, object]:
    return {"mediaType": kind, "size": len(content), "digest": digest_of(content)}


class _Server(ThreadingHTTPServer):
    def __init__(self, served: Registry) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.served = served
        self.stopped = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        served, last = self.server.served, self.path.rpartition("/")[2]
        served.asked.append(self.path)
        if served.secret:
            self._send(403, served.secret, "text/plain")
        elif self.path == "/v2/":
            self._send(200, b"{}", "application/json")
        elif last in served.manifests:
            self._send(200, served.manifests[last], _MANIFEST)
        elif last not in served.blobs:
            self._send(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}', "application/json")
        elif served.is_stuck:
            self._trickle()
        else:
            self._send(200, served.blobs[last], "application/octet-stream")

    do_HEAD = do_GET

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Docker-Content-Digest", digest_of(content))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def _trickle(self) -> None:
        """A blob without an end, until the engine hangs up."""
        self.send_response(200)
        self.send_header("Content-Length", "1000000000")
        self.end_headers()
        try:
            while not self.server.stopped.wait(0.05):
                self.wfile.write(b"\0")
        except OSError:
            self.server.served.gave_up.set()
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Nothing: a test reads `asked`."""
