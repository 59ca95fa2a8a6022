"""nginx in front of a file's own `socket`: its configuration, and how it reaches the socket.

It runs in the load generator's container and on its CPUs: its cost is not the target's. nginx's
defaults stay unless a window needs another value.
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from tuner.bench.measurement import target_failed
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import MOST_CONNECTIONS, FailureCode
from tuner.uwsgi.topology import PROXY_LOG, PROXY_PID, Front

CONFIG = "/tuner/nginx.conf"
COMMAND = ("nginx", "-c", CONFIG)
SOCKET_MOUNT = "/tuner-socket"  # the folder of a unix socket, in the generator's container

_HERE = frozenset({"", "*", "0.0.0.0", "127.0.0.1", "localhost"})  # noqa: S104  # is read, not bound
_PATH = re.compile(r"(/[\w@+-][\w.@+-]*){2,}")
_PER_REQUEST = 2  # connections: one of the client, one to uWSGI
_SPARE_FILES = 64  # log, listening sockets, pipes between the processes

_PARAMETERS = {
    "QUERY_STRING": "$query_string",
    "REQUEST_METHOD": "$request_method",
    "CONTENT_TYPE": "$content_type",
    "CONTENT_LENGTH": "$content_length",
    "REQUEST_URI": "$request_uri",
    "PATH_INFO": "$document_uri",
    "DOCUMENT_ROOT": "$document_root",
    "SERVER_PROTOCOL": "$server_protocol",
    "REQUEST_SCHEME": "$scheme",
    "REMOTE_ADDR": "$remote_addr",
    "REMOTE_PORT": "$remote_port",
    "SERVER_PORT": "$server_port",
    "SERVER_NAME": "$server_name",
}
_LOGGED = "\t".join(
    (
        *("$msec", "$status", "$request_time"),
        *("$upstream_connect_time", "$upstream_header_time", "$upstream_response_time"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyFile:
    """A configuration, and whether nginx has to be root to reach the socket.

    The mode of a unix socket (`chmod-socket`) may admit one group only. Production's nginx is in
    that group. Ours does not know it, so it is root with one capability.
    """

    text: str
    as_root: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """One nginx: the port that it listens on, and the upstream."""

    port: int
    upstream: str  # in nginx's words
    folder: str | None = None  # of a unix socket, in the target

    def file(self, *, workers: int, nofile: int, backlog: int) -> ProxyFile:
        """Its file. No path is below /var or /run: the container's user owns no folder there."""
        connections = min(nofile - _SPARE_FILES, _PER_REQUEST * MOST_CONNECTIONS + _SPARE_FILES)
        temporary = [
            f"{kind}_temp_path /tmp/nginx-{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        ]
        text = "\n".join(
            (
                "daemon off;",
                *(["user root;"] if self.folder else []),
                f"worker_processes {workers};",
                f"pid {PROXY_PID};",
                "error_log /tmp/nginx-error.log;",
                f"events {{ worker_connections {connections}; }}",
                "http {",
                f"log_format times '{_LOGGED}';",
                f"access_log {PROXY_LOG} times;",
                *temporary,
                "client_max_body_size 16m;",
                "server {",
                f"listen 127.0.0.1:{self.port} backlog={backlog};",
                "location / {",
                *(f"uwsgi_param {name} {value};" for name, value in _PARAMETERS.items()),
                f"uwsgi_pass {self.upstream};",
                "}",
                "}",
                "}",
                "",
            )
        )
        return ProxyFile(text=text, as_root=self.folder is not None)


def proxy_of(front: Front) -> Proxy | None:
    """The nginx of a front; None if the front has none.

    Raises `TargetFailed` if nginx cannot reach the socket.
    """
    if front.socket is None:
        return None
    if _PATH.fullmatch(front.socket):
        path = PurePosixPath(front.socket)
        return Proxy(
            port=front.port,
            upstream=f"unix:{SOCKET_MOUNT}/{path.name}",
            folder=str(path.parent),
        )
    host, colon, port = front.socket.rpartition(":")
    if colon and host in _HERE and port.isascii() and port.isdigit() and 0 < int(port) <= 65_535:
        return Proxy(port=front.port, upstream=f"127.0.0.1:{int(port)}")
    raise _unreachable(front.socket)


def _unreachable(socket: str) -> TargetFailed:
    if socket.startswith("@"):
        why = "nginx cannot connect to an abstract socket; give a path such as /run/app/app.sock"
    else:
        why = (
            "it is neither a port of this machine such as 127.0.0.1:3031, nor the absolute path of"
            " a unix socket in its own folder such as /run/app/app.sock"
        )
    return target_failed(
        FailureCode.WORKLOAD_REFUSED,
        f"the file serves uwsgi's protocol on `socket = {socket}`, so the load goes through nginx,"
        f" but {why}",
    )
