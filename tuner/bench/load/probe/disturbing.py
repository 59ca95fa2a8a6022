"""What goes wrong in a scene. The verbs that signal run as the user of the process.

Every process that a verb stops goes on at its end, whatever happens meanwhile.
"""

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from tuner.bench.load.probe import counters

LOOK_S = 0.1
BYTE = b"x"
FIRST_TO_DIE = "1000"
BEGINNING = b"GET / HTTP/1.1\r\nHost: slow\r\nX-Slow: "


def owners(task: dict[str, Any]) -> dict[str, int]:
    """The users of uWSGI's master and of the busiest worker, by number. Raises `StatsGone`.

    `file` owns the worker's files in /proc: root, if the worker has changed its user.
    """
    text = counters.insist(task["stats"])
    pid = busiest(workers(text))
    return {
        "master": owner(int(json.loads(text)["pid"])),
        "worker": owner(pid),
        "file": os.stat(score_of(pid)).st_uid,
    }


def hang(task: dict[str, Any]) -> dict[str, Any]:
    """Stop the busiest worker for `seconds`. Raises `StatsGone`, or `OSError` without the right."""
    pid = busiest(workers(counters.insist(task["stats"])))
    began = time.time()
    with stopped(pid):
        time.sleep(task["seconds"])
    return {"began": began, "slots_back_s": None}


def kill(task: dict[str, Any]) -> dict[str, Any]:
    """Kill the busiest worker and wait until all accept again, `seconds` at most."""
    before = workers(counters.insist(task["stats"]))
    pid = busiest(before)
    return signalled(
        task, pid, signal.SIGKILL, lambda now: pid not in now and len(now) >= len(before)
    )


def doom(task: dict[str, Any]) -> dict[str, Any]:
    """Make the busiest worker the first that the kernel kills when the cgroup's memory is full."""
    with open(score_of(busiest(workers(counters.insist(task["stats"])))), "w") as file:
        file.write(FIRST_TO_DIE)
    return {"began": time.time(), "slots_back_s": None}


def reload(task: dict[str, Any]) -> dict[str, Any]:
    """Reload uWSGI as SIGHUP to its master does, and wait until all workers are new."""
    text = counters.insist(task["stats"])
    before = workers(text)
    return signalled(
        task,
        int(json.loads(text)["pid"]),
        signal.SIGHUP,
        lambda now: not now.keys() & before.keys() and len(now) >= len(before),
    )


def slow_clients(task: dict[str, Any]) -> dict[str, Any]:
    """`connections` that send a byte each `pause_s`, for `seconds`; it needs no right."""
    began, opened = time.time(), []
    ends = time.monotonic() + task["seconds"]
    with contextlib.ExitStack() as stack:
        for _ in range(task["connections"]):
            with contextlib.suppress(OSError):
                client = socket.create_connection(("127.0.0.1", task["port"]), timeout=1.0)
                opened.append(stack.enter_context(client))
        for client in opened:
            with contextlib.suppress(OSError):
                client.sendall(BEGINNING)
        while time.monotonic() < ends:
            time.sleep(task["pause_s"])
            for client in opened:
                with contextlib.suppress(OSError):  # the server may close it
                    client.sendall(BYTE)
    return {"began": began, "slots_back_s": None}


def signalled(
    task: dict[str, Any], pid: int, number: int, is_back: Callable[[dict[int, int]], bool]
) -> dict[str, Any]:
    """Send a signal, and look how long it takes until `is_back` for the workers that accept."""
    began, start = time.time(), time.monotonic()
    os.kill(pid, number)
    while (passed := time.monotonic() - start) < task["seconds"]:
        time.sleep(LOOK_S)
        text = counters.read_stats(task["stats"], counters.STATS_TIMEOUT_S)
        if text is not None and is_back(workers(text)):
            break
    return {"began": began, "slots_back_s": passed}


def score_of(pid: int) -> str:
    """The file by which a process is made more likely to be killed. It needs no capability."""
    return f"/proc/{pid}/oom_score_adj"


def owner(pid: int) -> int:
    """The real user of a process: it may be signalled by that user."""
    (line,) = (
        line for line in counters.slurp(f"/proc/{pid}/status").splitlines() if line[:4] == "Uid:"
    )
    return int(line.split()[1])


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process does not run in this context; uWSGI may kill it meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def workers(stats: str) -> dict[int, int]:
    """The requests of each worker that accepts, by pid; cheaped ones do not run."""
    return {
        worker["pid"]: worker["requests"]
        for worker in json.loads(stats)["workers"]
        if worker["accepting"] and worker["status"] != "cheap" and worker["pid"] > 0
    }


def busiest(found: dict[int, int]) -> int:
    """The worker with the most requests. Raises `StatsGone` without any."""
    if not found:
        raise counters.StatsGone("no worker of uWSGI accepts")
    return max(found, key=found.__getitem__)
