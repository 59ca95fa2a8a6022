"""Runs in the target's network namespace: waits for it, or brackets one run of oha with counters.

    python3 -I -S -c <this file> ready|window <JSON>     prints one line of JSON

`ready` asks uWSGI's stats first and sends its first request once every process accepts: nothing
of the waiting is then left in the listen queue, or uncounted, when the load begins.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

POLL_S = 0.02
ANSWER_TIMEOUT_S = 5.0  # for one health request
ERRORS_FOR_S = 2.0  # an app that has answered badly for so long will not get better
RESPAWNS_BORNE = 3  # and one of each process
STATS_TIMEOUT_S = 2.0
STATS_TRIES = 3  # the master answers, and may be busy replacing a process
EXIT_NO_STATS = 3


def main(arguments: list[str]) -> int:
    """Run one of the two commands; the exit code."""
    task = json.loads(arguments[1])
    try:
        found = {"ready": ready, "window": window}[arguments[0]](task)
    except LookupError as error:
        sys.stderr.write(f"{error.args[0]}\n")
        return EXIT_NO_STATS
    sys.stdout.write(json.dumps(found) + "\n")
    return 0


def ready(task: dict[str, Any]) -> dict[str, Any]:
    """Poll until ready; the outcome says what was seen last."""
    deadline = time.monotonic() + task["timeout_s"]
    bad_since = None
    seen: dict[str, Any] = {"stats": None, "answer": None}
    while time.monotonic() < deadline:
        seen["stats"] = census(read_stats(task["stats"], STATS_TIMEOUT_S))
        if keeps_dying(seen["stats"]):
            return {"outcome": "crash_loop", **seen}
        if accepts(seen["stats"]):
            left_s = max(0.1, deadline - time.monotonic())
            seen["answer"] = ask(task["port"], task["path"], min(ANSWER_TIMEOUT_S, left_s))
            if isinstance(seen["answer"], int):
                if 200 <= seen["answer"] < 300:
                    return {"outcome": "ready", **seen}
                bad_since = bad_since or time.monotonic()
                if time.monotonic() - bad_since > ERRORS_FOR_S:
                    return {"outcome": "errors_only", **seen}
        time.sleep(POLL_S)
    return {"outcome": "timeout", **seen}


def window(task: dict[str, Any]) -> dict[str, Any]:
    """Counters, oha, counters again. Raises `LookupError` where uWSGI's are gone."""
    with tempfile.TemporaryDirectory() as folder:
        argv = with_urls(task["argv"], task["urls"], folder)
        before = counters(task["stats"])
        started_at, began = time.time(), time.monotonic()
        cpu_before = children_cpu_s()
        client = subprocess.run(argv, capture_output=True, text=True, check=False)
        wall_s, cpu_s = time.monotonic() - began, children_cpu_s() - cpu_before
    after = counters(task["stats"])
    return {
        "before": before,
        "after": after,
        "exit_code": client.returncode,
        "client": client.stdout,
        "client_error": client.stderr[-2000:],
        "client_cpu_s": cpu_s,
        "started_at": started_at,
        "wall_s": wall_s,
    }


def with_urls(argv: list[str], urls: list[str], folder: str) -> list[str]:
    """oha takes one URL as it is, several from a file."""
    if len(urls) == 1:
        return [*argv, urls[0]]
    path = os.path.join(folder, "urls")
    with open(path, "w") as file:
        file.write("\n".join(urls) + "\n")
    return [*argv, "--urls-from-file", path]


def counters(stats: str) -> dict[str, Any]:
    """uWSGI's and the kernel's, as they stand. Raises `LookupError` where uWSGI's are gone."""
    for _ in range(STATS_TRIES):
        text = read_stats(stats, STATS_TIMEOUT_S)
        if text is not None:
            break
        time.sleep(POLL_S)
    else:
        raise LookupError(f"uWSGI's stats do not answer on {stats}")
    return {
        "stats": text,
        "listen_overflows": listen_overflows(slurp("/proc/net/netstat")),
        "time_wait": time_wait(slurp("/proc/net/sockstat")),
    }


def read_stats(address: str, timeout_s: float) -> str | None:
    """The JSON that uWSGI sends on every connect; None where nobody answers."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=timeout_s) as connection:
            return receive_all(connection) or None
    except OSError:
        return None


def census(stats: str | None) -> dict[str, int] | None:
    """How many processes there are, take requests, sleep and were replaced; None without stats."""
    if stats is None:
        return None
    try:
        workers = json.loads(stats)["workers"]
    except (ValueError, KeyError):
        return None
    cheap = sum(worker["status"] == "cheap" for worker in workers)
    accepting = sum(bool(w["accepting"]) and w["status"] != "cheap" for w in workers)
    return {
        "processes": len(workers),
        "accepting": accepting,
        "cheap": cheap,
        "respawns": sum(max(0, worker["respawn_count"] - 1) for worker in workers),
    }


def accepts(found: dict[str, int] | None) -> bool:
    """Whether every process that should take requests does; those put to sleep need not."""
    if found is None:
        return False
    return found["accepting"] > 0 and found["accepting"] + found["cheap"] >= found["processes"]


def keeps_dying(found: dict[str, int] | None) -> bool:
    """Whether so many processes were replaced that waiting longer is no use."""
    return found is not None and found["respawns"] > RESPAWNS_BORNE + found["processes"]


def ask(port: int, path: str, timeout_s: float) -> int | str:
    """Status of one GET, read to its end; a few words where there was none."""
    request = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        "User-Agent: uwsgi-tuner\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
            connection.sendall(request.encode())
            answer = receive_all(connection)
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except ConnectionRefusedError:
        return f"nothing listens on port {port}"
    except OSError as error:
        return str(error)
    words = answer.split(None, 2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        return "the answer is not HTTP"
    return int(words[1])


def receive_all(connection: socket.socket) -> str:
    """Until the other end closes; what came before a time out counts where there was something."""
    received = bytearray()
    try:
        while piece := connection.recv(65536):
            received += piece
    except TimeoutError:
        if not received:
            raise
    return received.decode(errors="replace")


def listen_overflows(netstat: str) -> int:
    """From /proc/net/netstat: lines in pairs, names above values."""
    lines = [line.split() for line in netstat.splitlines()]
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        if names[0] == "TcpExt:":
            return int(dict(zip(names, values, strict=False)).get("ListenOverflows", 0))
    return 0


def time_wait(sockstat: str) -> int:
    """From /proc/net/sockstat: `TCP: inuse 5 orphan 0 tw 7 alloc 9 mem 1`."""
    for line in sockstat.splitlines():
        words = line.split()
        if words[:1] == ["TCP:"] and "tw" in words:
            return int(words[words.index("tw") + 1])
    return 0


def slurp(path: str) -> str:
    """A file of /proc as text."""
    with open(path) as file:
        return file.read()


def children_cpu_s() -> float:
    """CPU time of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
