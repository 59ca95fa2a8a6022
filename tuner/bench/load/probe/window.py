"""One run of load, bracketed by everything that this container can see of target and host."""

import importlib
import os
import re
import subprocess
import time
from collections import Counter
from typing import Any, NamedTuple

from tuner.bench.load.probe import counters, queues, rows, usage
from tuner.bench.load.probe.rows import SERIES_STEP_S

# ---- What nginx in front of uWSGI's socket logged of one run
#
# One line a request, tab separated: time, status, request time, and the upstream's connect, header
# and response times, all in seconds with three digits. A time is `-` where it did not come to it,
# and several with commas where nginx tried again.

LOG = "/dev/shm/nginx.log"  # noqa: S108  # the engine's nginx writes it there
COLUMNS = 6
BETWEEN = re.compile("[,:]")


def log_size() -> int | None:
    """Where the log ends now; None where there is none."""
    try:
        return os.stat(LOG).st_size
    except OSError:
        return None


def read(offset: int | None) -> dict[str, Any] | None:
    """What was logged from `offset` on; None where there was no log, or nothing in it."""
    if offset is None:
        return None
    with open(LOG) as file:
        file.seek(offset)
        return figures(file.read())


def figures(text: str) -> dict[str, Any] | None:
    """The times of all requests in ms; None where there was none."""
    lines = [fields for line in text.splitlines() if len(fields := line.split("\t")) == COLUMNS]
    if not lines:
        return None
    _, statuses, request, connect, header, response = zip(*lines, strict=True)
    return {
        "requests": len(lines),
        "by_status": dict(Counter(statuses)),
        "connect": spread(connect),
        "header": spread(header),
        "response": spread(response),
        "request": spread(request),
    }


def spread(column: tuple[str, ...]) -> dict[str, float | None]:
    """Percentiles of one column in ms, 0 where it has no times."""
    times_ms: list[float] = []
    for words, number in Counter(column).items():  # equal words are read once
        times = [float(part) for part in BETWEEN.split(words) if part.strip() not in ("-", "")]
        if times:
            times_ms += number * [1000 * sum(times)]
    return rows.spread(times_ms) or {"p50_ms": 0.0, "p95_ms": 0.0, "max_ms": 0.0}


# ---- One run of load, bracketed by everything that this container can see of target and host
#
# The task:
#
#     argv         the client's words; its working directory is a folder of this run's own
#     files        written into that folder first: name to text
#     summary      who reads what the client left there: "oha" or "k6"
#     connections  those of a closed loop, null for any other load
#     head_s       what is discarded of the run's beginning
#     length_s     how long requests are sent; null where that is until the last is answered
#     paths        path and query of every request of the workload, in its order
#     stats        the address of uWSGI's stats, null for another server
#     front        topology, port and socket of `tuner.uwsgi.topology.Front`
#     late_s       from when on an answer is late; optional: `client` then has a `course`
#     cgroups      where the cgroups of the app and of its services are mounted, by name
#
# A summary is a module with `summarise(folder, output, task)`, which returns what `window` hands on
# as `client`, or raises `ValueError` saying why there is nothing to return:
#
#     rows        `rows.summary` of the requests that were answered, with `by_request`
#     sent        how many requests were sent in the whole run, failed ones included
#     errors      how many were not answered as expected, by class ("http_502") or message
#     over_limit  share of all requests not answered within the limit, or null
#     connect     p50_ms, p95_ms and max_ms of the client's connects, or null
#     started_at  when the load began (Unix time), where the client knows better; optional

SUMMARIES = {"oha": "tuner.bench.load.probe.oha", "k6": "tuner.bench.load.probe.k6"}
FOLDERS = ("/dev/shm", "/tmp")  # noqa: S108  # the container's own; memory where it may be used
STDERR_KEPT = 2000
COUNTED_WITHIN_S = 0.3
IDLE_WITHIN_S = 15.0
IDLE_LOOK_S = 0.2


class Watched(NamedTuple):
    """What was looked at while the client ran, which began at `began_s` of the monotonic clock."""

    began_s: float
    queue: queues.Watch
    used: usage.Watch


def window(task: dict[str, Any]) -> dict[str, Any]:
    """Counters, the client, counters again. Raises `StatsGone`."""
    folder = make_folder(task["files"])
    try:
        found, output, watched = run(task, folder)
        try:
            summary = importlib.import_module(SUMMARIES[task["summary"]])
            found["client"] = summary.summarise(folder, output, task)
            found["over_time"] = over_time(found, watched)
            if task["stats"] is not None:
                await_count(found, task["stats"])
                await_idle(found["client"]["errors"], task["stats"])
        except ValueError as error:
            found["client_error"] = f"{found['client_error']}\n{error}".strip()
        return found
    finally:
        remove_folder(folder)


def run(task: dict[str, Any], folder: str) -> tuple[dict[str, Any], str, Watched]:
    """What was seen around one run of the client, the client's own output, and what was watched."""
    router = task["front"]["topology"] == "http_router"
    logged = log_size()
    before = counters.read(task["stats"])
    sockets = queues.watched(task["front"], before["stats"])
    watch, used = queues.Watch(sockets), usage.Watch(task["cgroups"])
    processes_before = counters.snapshot(before["stats"], router=router)
    host_before = usage.snapshot()
    with watch, used:
        began, started_at, accepted = time.monotonic(), time.time(), counters.accepted()
        client = subprocess.run(
            task["argv"], cwd=folder, capture_output=True, text=True, check=False
        )
        wall_s, accepted = time.monotonic() - began, counters.accepted() - accepted
    host_after = usage.snapshot()
    after = counters.read(task["stats"])
    processes_after = counters.snapshot(after["stats"], router=router)
    found = {
        "before": before,
        "after": after,
        "exit_code": client.returncode,
        "client": None,
        "client_error": client.stderr[-STDERR_KEPT:],
        "started_at": started_at,
        "accepted": accepted,
        "is_relayed": queues.is_relayed(sockets, task["front"]),
        "host": {**usage.difference(host_before, host_after), "wall_s": wall_s},
        "processes": counters.difference(processes_before, processes_after),
        "queue": watch.reading(),
        "proxy": read(logged),
        "over_time": {},
    }
    return found, client.stdout, Watched(began, watch, used)


def over_time(found: dict[str, Any], watched: Watched) -> dict[str, Any]:
    """`tuner.nouns.model.OverTime`: the whole steps from the first request to the last answer.

    k6 says when it sent the first one, which is up to a second after its start.
    """
    client = found["client"]
    late_s = max(0.0, client.get("started_at", found["started_at"]) - found["started_at"])
    began_s, steps = watched.began_s + late_s, int(client["rows"]["loaded_s"] / SERIES_STEP_S)
    return {
        "queue": watched.queue.series(began_s, steps),
        "usage": watched.used.series(began_s, steps),
    }


def await_count(found: dict[str, Any], address: str) -> None:
    """Read uWSGI's stats again until every request that was answered is counted.

    uWSGI counts a request after its answer has left: the client may be done before the counter
    is. An error is an answer where it has a status. Requests without one may never be counted, and
    a proxy may answer some by itself: there is no wait for those beyond `COUNTED_WITHIN_S`.
    """
    sent, errors = found["client"]["sent"], found["client"]["errors"]
    unanswered = sum(count for name, count in errors.items() if not name.startswith("http_"))
    wanted = counters.requests(found["before"]["stats"]) + sent - unanswered
    ends = time.monotonic() + COUNTED_WITHIN_S
    while counters.requests(found["after"]["stats"]) < wanted and time.monotonic() < ends:
        time.sleep(counters.PAUSE_S)
        text = counters.read_stats(address, counters.STATS_TIMEOUT_S)
        found["after"]["stats"] = text or found["after"]["stats"]


def await_idle(errors: dict[str, int], address: str) -> None:
    """Wait while uWSGI works on requests that clients gave up: the next run must not meet them.

    Beyond `IDLE_WITHIN_S` there is no wait: a request may hang for ever.
    """
    if not any("timeout" in name for name in errors):
        return
    ends = time.monotonic() + IDLE_WITHIN_S
    while time.monotonic() < ends:
        text = counters.read_stats(address, counters.STATS_TIMEOUT_S)
        if text is None or counters.is_idle(text):
            return
        time.sleep(IDLE_LOOK_S)


def make_folder(files: dict[str, str]) -> str:
    """A folder of this run's own, with the client's files in it."""
    parent = next((folder for folder in FOLDERS if os.access(folder, os.W_OK)), FOLDERS[-1])
    folder = os.path.join(parent, f"window-{os.getpid()}-{time.monotonic_ns()}")
    os.mkdir(folder)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
    return folder


def remove_folder(folder: str) -> None:
    """With the files in it; the client makes no folders."""
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)
