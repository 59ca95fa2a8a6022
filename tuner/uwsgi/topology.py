"""How requests reach uWSGI: the user's own file decides, and the harness measures through that.

http-socket    client → worker processes; every answer closes its connection
http11-socket  client → worker processes, which keep connections alive (and are kept by them)
http           client → uWSGI's http router → worker processes
nginx          client → nginx → the file's own `socket`, TCP or unix, in uwsgi's protocol
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from tuner.uwsgi.ini import IniFile

PROXY_PID = "/tmp/nginx.pid"  # noqa: S108  # in the load generator's container, which is ours
PROXY_LOG = "/dev/shm/nginx.log"  # noqa: S108  # a tmpfs: one line a request must cost no disk
"""Tab separated: msec, status, request_time and upstream connect, header and response time, in s.

A line is written when its request is done, unbuffered, so that a window's lines are all there when
its load has ended. An upstream time is `-` where there was none, `0.001, 0.002` after a retry.
"""

_PROXY_PORT = 61_716  # where the socket itself has taken the target's port
_UWSGI_SOCKETS = ("socket", "uwsgi-socket")
_HTTP_ROUTERS = ("http", "httprouter")
_REFERENCE = re.compile(r"%\(([\w.-]+)\)")
_MOST_REFERENCES = 10  # uWSGI itself goes round a few times and gives up


class Topology(StrEnum):
    """What stands between the client and uWSGI's worker processes."""

    HTTP_SOCKET = "http_socket"
    HTTP11_SOCKET = "http11_socket"
    HTTP_ROUTER = "http_router"
    NGINX = "nginx"


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """Where the load is sent, and through what.

    `socket` is the address that nginx passes requests to, as the file has it (`127.0.0.1:3031`,
    `:3031`, `/run/app.sock`, `@name`); None where there is no nginx. `port` is where HTTP is
    spoken inside the target's network namespace.
    """

    topology: Topology
    port: int
    socket: str | None = None


def front_of(ini: IniFile, port: int) -> Front:
    """The front of a file whose HTTP is expected on `port` of the target.

    An HTTP address wins over `socket`: it needs nothing in front of it. A file without any address
    is taken for http-socket, for the command may name it.
    """
    for topology, options in (
        (Topology.HTTP_SOCKET, ("http-socket",)),
        (Topology.HTTP11_SOCKET, ("http11-socket",)),
        (Topology.HTTP_ROUTER, _HTTP_ROUTERS),
    ):
        if any(ini.values(option) for option in options):
            return Front(topology=topology, port=port)
    sockets = [value for option in _UWSGI_SOCKETS for value in ini.values(option) if value]
    if not sockets:
        return Front(topology=Topology.HTTP_SOCKET, port=port)
    socket = _resolved(sockets[0], ini)
    taken = socket.rpartition(":")[2] == str(port) and not socket.startswith("/")
    return Front(
        topology=Topology.NGINX, port=_PROXY_PORT if taken else port, socket=_abstract(socket, ini)
    )


def _resolved(text: str, ini: IniFile) -> str:
    """`text` with the file's own options in place of `%(option)`; the rest stays as it is."""
    for _ in range(_MOST_REFERENCES):
        found = _REFERENCE.search(text)
        value = ini.get(found.group(1)) if found else None
        if found is None or value is None:
            return text
        text = text[: found.start()] + value + text[found.end() :]
    return text


def _abstract(socket: str, ini: IniFile) -> str:
    """uWSGI's own sign for a unix socket that is in no folder."""
    return f"@{socket}" if socket.startswith("/") and ini.flag("abstract-socket") else socket
