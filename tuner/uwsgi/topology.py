"""How requests reach uWSGI. The user's file decides, and the measurement uses the same way.

http-socket    client → worker processes; every answer closes its connection
http11-socket  client → worker processes, each tied to one kept-alive connection
http           client → uWSGI's http router → worker processes
other          client → a server that is not uWSGI
nginx          client → nginx → the file's `socket`, TCP or unix, in the uwsgi protocol
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tuner.uwsgi.ini import IniFile, effective

PROXY_PID = "/tmp/nginx.pid"  # noqa: S108  # in the load generator's container, which is ours
PROXY_LOG = "/dev/shm/nginx.log"  # noqa: S108  # a tmpfs: a line per request must not cost disk I/O
"""Tab separated: msec, status, request_time and upstream connect, header and response time, in s.

nginx writes a line when its request ends, unbuffered: all lines of a window are there when its load
ends. An upstream time is `-` when there is none, and `0.001, 0.002` after a retry.
"""

_PROXY_PORT = 61_716  # used when the socket itself uses the target's port
_UWSGI_SOCKETS = ("socket", "uwsgi-socket")
_HTTP_ROUTERS = ("http", "httprouter")


class Topology(StrEnum):
    """What is between the client and the worker processes."""

    HTTP_SOCKET = "http_socket"
    HTTP11_SOCKET = "http11_socket"
    HTTP_ROUTER = "http_router"
    NGINX = "nginx"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """The address of the load, and the way to uWSGI.

    `socket` is the address to which nginx passes requests, as in the file (`127.0.0.1:3031`,
    `:3031`, `/run/app.sock`, `@name`); None without nginx. `port` is the HTTP port inside the
    target's network namespace.
    """

    topology: Topology
    port: int
    socket: str | None = None


def front_of(ini: IniFile, port: int) -> Front:
    """The front of a file whose target serves HTTP on `port`.

    An HTTP address wins over `socket`, because it needs no proxy. A file without an address counts
    as http-socket: the command may set the address.
    """
    for topology, options in (
        (Topology.HTTP_SOCKET, ("http-socket",)),
        (Topology.HTTP11_SOCKET, ("http11-socket",)),
        (Topology.HTTP_ROUTER, _HTTP_ROUTERS),
    ):
        if any(ini.values(option) for option in options):
            return Front(topology=topology, port=port)
    sockets = [
        setting.value
        for setting in effective(ini)
        if setting.option in _UWSGI_SOCKETS and setting.value and not setting.is_conditional
    ]
    if not sockets:
        return Front(topology=Topology.HTTP_SOCKET, port=port)
    socket = sockets[0]
    taken = socket.rpartition(":")[2] == str(port) and not socket.startswith("/")
    return Front(
        topology=Topology.NGINX, port=_PROXY_PORT if taken else port, socket=_abstract(socket, ini)
    )


def _abstract(socket: str, ini: IniFile) -> str:
    """The address of an abstract unix socket, as uWSGI writes it."""
    return f"@{socket}" if socket.startswith("/") and ini.flag("abstract-socket") else socket


# ---- The JSON that uWSGI's stats socket sends on every connect (2.0.31): the fields that we use
#
# Left out: `listen_queue_errors`, which uWSGI never increments; `rss` and `vsz`, which are 0
# without memory-report; and `avg_rt`, a mean of only the last few requests.


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """uWSGI's counters since its start; they survive the respawn of a worker process."""

    cores: int  # slots that can hold a request: processes * threads (or * async cores)
    requests: int
    respawns: int  # process starts beyond the first of each
    running_us: int  # time spent in requests, summed over all processes


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What uWSGI does at one instant. A process that `cheaper` put to sleep counts nowhere."""

    counters: Stats
    exceptions: int  # that left the app, since the start
    processes: int
    slots: int
    requests: tuple[str, ...]  # those under way, as in `GET /shop/*`: a slot is busy with each
    queues: Mapping[str, tuple[int, int]]  # by socket: connections that wait, and that fit (TCP)
    master: int  # process ids, as uWSGI itself sees them
    workers: tuple[int, ...]


def parse(text: str) -> Stats:
    """Read one stats document. Raises `ValueError` when the text is none."""
    return activity_of(text).counters


def activity_of(text: str) -> Activity:
    """Read one stats document as a whole. Raises `ValueError` when the text is none."""
    try:
        return _activity(json.loads(text))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a uWSGI stats document: {error!r}") from error


def _activity(document: Mapping[str, Any]) -> Activity:
    workers = document["workers"]
    awake = [worker for worker in workers if worker.get("status") != "cheap"]
    cores = [core for worker in awake for core in worker["cores"]]
    return Activity(
        counters=Stats(
            cores=sum(len(worker["cores"]) for worker in workers),
            requests=sum(worker["requests"] for worker in workers),
            respawns=sum(max(0, worker["respawn_count"] - 1) for worker in workers),
            running_us=sum(worker["running_time"] for worker in workers),
        ),
        exceptions=sum(worker.get("exceptions", 0) for worker in workers),
        processes=len(awake),
        slots=len(cores),
        requests=tuple(_request(core.get("vars", ())) for core in cores if core.get("in_request")),
        queues={
            each["name"]: (each.get("queue", 0), each.get("max_queue", 0))
            for each in document.get("sockets", ())
        },
        master=document.get("pid", 0),
        workers=tuple(worker.get("pid", 0) for worker in awake),
    )


_MAY_BE_SECRET = re.compile(r"[\d@%]|.{25}")


def _request(variables: Sequence[str]) -> str:
    """Method and first part of the path; what looks like an id or a name is left out."""
    named = dict(each.partition("=")[::2] for each in variables)
    first, _, rest = named.get("PATH_INFO", "/").lstrip("/").partition("/")
    shown = "*" if _MAY_BE_SECRET.search(first) else first
    return f"{named.get('REQUEST_METHOD', '?')} /{shown}{'/*' if rest else ''}"
