"""One look at a uWSGI in production. Everything is read, nothing is changed."""

import ctypes
import os
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.bench.load.probe import counters, queues, usage
from tuner.bench.measurement import Usage, cgroups
from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.nouns.plain import BYTES_PER_MB
from tuner.uwsgi.topology import Activity, activity_of

STATS_TIMEOUT_S = 2.0
CGROUPS = Path("/sys/fs/cgroup")
PROC = Path("/proc")

_CLONE_NEWNET = 0x40000000


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """All CPUs of the host together, in seconds since its start."""

    cpus: int
    busy_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """uWSGI at one instant. None: it was not to be seen, as on another machine."""

    at_s: float  # of the monotonic clock
    activity: Activity
    queue: tuple[int, int] | None  # the fullest: connections that wait, and that fit
    overflows: int | None  # connections that the kernel dropped at a full queue, so far
    usage: Usage | None
    processes: counters.Snapshot | None
    waited_s: Mapping[int, float] | None  # for a CPU, by worker process, so far
    machine: Machine | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What the app may use. None: nothing is known, or there is no limit of memory.

    Without a limit a cgroup may hold other programs too: its figures are not the app's then.
    """

    cpus: float | None = None
    has_quota: bool = False
    memory_mb: float | None = None


class Watcher:
    """Looks at one uWSGI through its stats server and, on the same machine, at its processes.

    `pid` is of the master or of a parent of it, as this process sees it. None: it is found where
    uWSGI runs in no other PID namespace.
    """

    def __init__(self, address: str, pid: int | None = None) -> None:
        self.address = address
        self.pid = pid
        if pid is not None and not (PROC / str(pid)).exists():
            raise InvalidInput.at("--pid", f"there is no process {pid}")
        activity = self._activity()
        if self.pid is None and _processes(activity.master, activity) is not None:
            self.pid = activity.master
        self.places = {} if self.pid is None else places_of(_text(f"{self.pid}/cgroup"))
        self.box = Box() if self.pid is None else box_of(self.pid, self.places)

    def look(self) -> Look:
        """Raises `Unavailable` if uWSGI's stats do not answer."""
        activity, pid = self._activity(), self.pid
        processes = None if pid is None else _processes(pid, activity)
        return Look(
            at_s=time.monotonic(),
            activity=activity,
            queue=_queue(pid, activity),
            overflows=None if pid is None else _overflows(pid),
            usage=None if pid is None else _usage(self.places),
            processes=processes,
            waited_s=processes and {each: _waited_s(each) for each in processes.workers},
            machine=None if pid is None else _machine(),
        )

    def _activity(self) -> Activity:
        try:
            return activity_of(read_stats(self.address))
        except OSError as error:
            raise Unavailable(f"uWSGI's stats server {self.address}", str(error)) from error
        except ValueError as error:
            raise InvalidInput.at(self.address, f"is no stats server of uWSGI: {error}") from error


# ---- The stats server: it sends one JSON document on each connect


def read_stats(address: str) -> str:
    """The document from `HOST:PORT`, `http://HOST:PORT`, a path or `@name`. Raises `OSError`."""
    scheme, slashes, rest = address.rpartition("://")
    is_http = scheme == "http"
    with _connect(rest.rstrip("/") if is_http else rest or slashes) as connection:
        # uWSGI with stats-http reads a request first. Another would close with it unread.
        if is_http and not select.select([connection], [], [], 0.2)[0]:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        text = counters.receive_all(connection)
    return text.partition("\r\n\r\n")[2] if text.startswith("HTTP/") else text


def _connect(address: str) -> socket.socket:
    target = queues.parse(address)
    if isinstance(target, int):
        host = address.rpartition(":")[0].strip("[]") or "127.0.0.1"
        return socket.create_connection((host, target), timeout=STATS_TIMEOUT_S)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(STATS_TIMEOUT_S)
    try:
        connection.connect(target)
    except OSError:
        connection.close()
        raise
    return connection


# ---- The listen queue, from the kernel of the network namespace in which uWSGI listens


def _queue(pid: int | None, activity: Activity) -> tuple[int, int] | None:
    """The fullest queue; as uWSGI itself says where the kernel does not let us look."""
    own = {queues.parse(name): queue for name, queue in activity.queues.items()}
    asked = {} if pid is None else _within(pid, list(own))
    seen = [queue for queue in {**own, **asked}.values() if queue[1] > 0]
    return max(seen, key=lambda queue: queue[0] / queue[1], default=None)


def _within(pid: int, sockets: list[queues.Socket]) -> Mapping[queues.Socket, queues.Queue]:
    """The queues as the network namespace of a process has them; none where we may not enter it.

    A thread enters it: a namespace is of one thread, and a thread that ends need not come back.
    """
    found: dict[queues.Socket, queues.Queue] = {}

    def enter_and_look() -> None:
        try:
            with (PROC / str(pid) / "ns/net").open() as namespace:
                if not _is_ours(pid) and ctypes.CDLL(None).setns(namespace.fileno(), _CLONE_NEWNET):
                    return
            found.update(queues.look(sockets))
        except OSError:
            return

    thread = threading.Thread(target=enter_and_look)
    thread.start()
    thread.join()
    return found


def _is_ours(pid: int) -> bool:
    """Whether a process is in our network namespace."""
    return (PROC / str(pid) / "ns/net").readlink() == (PROC / "self/ns/net").readlink()


def _overflows(pid: int) -> int | None:
    try:
        return counters.paired(_text(f"{pid}/net/netstat"), "TcpExt:").get("ListenOverflows")
    except OSError:
        return None


# ---- The processes


def _processes(pid: int, activity: Activity) -> counters.Snapshot | None:
    """CPU time of uWSGI's processes in the family of `pid`; None if they are not there.

    uWSGI names them as its own PID namespace does.
    """
    family = {_pid_inside(each): each for each in _family(pid)}
    master = family.get(activity.master)
    itself = None if master is None else counters.read_process(master)
    if master is None or itself is None:
        return None
    workers, routers = {}, {}
    for each in _family(master):
        process = counters.read_process(each)
        if process is None or process.parent != master:
            continue
        if _pid_inside(each) in activity.workers:
            workers[each] = process.cpu_s
        elif process.name == itself.name:
            routers[each] = process.cpu_s
    switches = {each: counters.switches(each) for each in workers}
    return counters.Snapshot(workers, switches, itself.cpu_s, routers) if workers else None


def _waited_s(pid: int) -> float:
    """How long its threads were ready and had no CPU; 0 where it has just ended."""
    try:
        threads = list((PROC / str(pid) / "task").iterdir())
        return sum(int((each / "schedstat").read_text().split()[1]) for each in threads) / 1e9
    except OSError:
        return 0.0


def _family(pid: int) -> Iterator[int]:
    """A process and all that come from it."""
    yield pid
    try:
        children = _text(f"{pid}/task/{pid}/children").split()
    except OSError:  # it has just ended
        return
    for child in children:
        yield from _family(int(child))


def _pid_inside(pid: int) -> int | None:
    """The number of a process in its own PID namespace."""
    try:
        lines = _text(f"{pid}/status").splitlines()
    except OSError:
        return None
    return next((int(line.split()[-1]) for line in lines if line.startswith("NSpid:")), pid)


def _text(name: str) -> str:
    return (PROC / name).read_text()


# ---- The cgroup, and the host around it


def _usage(places: Mapping[str, str]) -> Usage | None:
    """None for a cgroup that this process does not see, or one that has no figures."""
    texts = {}
    for file in cgroups.files_of(places):
        try:
            texts[file] = (CGROUPS / file).read_text()
        except OSError:  # memory.peak is not everywhere, `usage_of` misses the others
            continue
    try:
        return cgroups.usage_of(texts)
    except (KeyError, ValueError):
        return None


def places_of(text: str, root: Path = CGROUPS) -> dict[str, str]:
    """Where the cgroup of a process is below `root`, by controller, from its /proc/<pid>/cgroup.

    Version 2 has one place, under "". A container sees its own cgroup as the root.
    """
    lines = [line.split(":", 2) for line in text.splitlines()]
    is_v2 = (root / "cgroup.controllers").exists()
    found = {}
    for _, controllers, place in lines:
        if is_v2 == (controllers == ""):
            for each in controllers.split(","):
                below = place.strip("/")
                found[each] = below if (root / each / below).is_dir() else ""
    return found


def box_of(pid: int, places: Mapping[str, str]) -> Box:
    """The CPUs and the memory that a process may use."""
    may_run_on = float(len(os.sched_getaffinity(pid)))
    quotas = [quota for texts in limits_up(places, "cpu") if (quota := cgroups.quota_of(texts))]
    whole = int(_text("meminfo").split()[1]) * 1024
    limits = [limit for texts in limits_up(places, "memory") if (limit := cgroups.memory_of(texts))]
    memory = min([whole, *limits])
    return Box(
        cpus=min([may_run_on, *quotas]),
        has_quota=bool(quotas),
        memory_mb=memory / BYTES_PER_MB if memory < whole else None,
    )


def limits_up(
    places: Mapping[str, str], controller: str, root: Path = CGROUPS
) -> Iterator[dict[str, str]]:
    """The limits of a cgroup, then of those above it: the texts by file name."""
    kind = controller if controller in places else ""
    folder = root / kind / places.get(kind, "")
    while folder.is_relative_to(root / kind):
        yield {
            name: (folder / name).read_text()
            for name in cgroups.LIMIT_FILES
            if (folder / name).is_file()
        }
        folder = folder.parent


def _machine() -> Machine:
    times = usage.cpu_times(_text("stat"))
    return Machine(cpus=times["cpus"], busy_s=times["busy_s"])
