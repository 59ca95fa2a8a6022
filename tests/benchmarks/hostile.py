"""What hostile requests cost the service and others: `make bench-hostile`.

First each input of the security review once, with what it did before it was mended. Then 50 of the
worst at once, sent by a key that only reads, beside polls of another key: their p99 beside that of
the quiet service, and the memory before and after. Then the same beside 20 files that take long to
lint. The API is one process on one core. Exit code 1 where a promise is not kept.
"""

import os
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests import builders
from tests.benchmarks import rig
from tests.benchmarks.polling import Server, api, apps, filled, latencies_of, polled, request
from tests.fuzz.growth import FAMILIES
from tests.postgres import fresh_database
from tuner.nouns.model import Scope
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

FILES = 20
CHARACTERS = 190_000
RATE = 50.0
SECONDS = 8.0  # the files that may wait take about as long
AT_ONCE = 50
P99_WITHIN_MS = 250.0
MEMORY_WITHIN = 1.10
SETTLES_S = 10.0
INPUT_WITHIN_S = 1.0
SLOW_BODIES = 150
FIRST, READ, SUBMIT = "the first key", "the key that reads", "the key that submits"
HOSTILE = ("keys without a value", "many unknown keys", "lines that join", "many blocks")
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One input of the review: what it did, and the statuses that are right now."""

    what: str
    before: str
    right: Sequence[int]
    send: Callable[[httpx.Client], httpx.Response]


def posted(path: str, document: Any, key: str) -> Callable[[httpx.Client], httpx.Response]:
    """A POST of JSON with a key."""
    return lambda http: http.post(path, json=document, headers={"X-API-Key": key})


def of_job(**fields: Any) -> dict[str, Any]:
    """A job that is right but for these fields."""
    target = {"image": "shop:1", **fields.pop("target", {})}
    return {"app": "shop", "target": target, "baseline": {"ini": builders.INI}, **fields}


WRONG_SYSCTLS = {"ini": "[uwsgi]", "limits": {"sysctls": {f"f{n}": {} for n in range(6_000)}}}
WRONG_ENV: dict[str, Any] = {f"E{number}": [] for number in range(6_000)}
LONG_COMMAND = ["uwsgi", *(f"--unknown-{n}=1" for n in range(2_879)), "--ini", "{ini}"]
DEEP = f"app=mixed&document={'[' * 25_000}{']' * 25_000}"
SLEEPS = [{"in": "app", "run": ["sleep", "3599"], "timeout_s": 3600}] * 20
SAID = {"checker": "gate", "job": 1, "holds": False, "said": "\0\x1b[2J"}

ENTRIES = (
    Entry(
        what="6 000 wrong sysctls, to lint",
        before="7.0 s",
        right=(422,),
        send=posted("/v1/lint", WRONG_SYSCTLS, READ),
    ),
    Entry(
        what="64 KB of wrong env, in a job",
        before="27.6 s",
        right=(422,),
        send=posted("/v1/jobs", of_job(target={"env": WRONG_ENV}), SUBMIT),
    ),
    Entry(
        what="25 000 nested lists, in a form",
        before="39.2 s",
        right=(200,),  # the form again, with what is wrong
        send=lambda http: http.post("/new", content=DEEP, headers={**FORM, "X-API-Key": SUBMIT}),
    ),
    Entry(
        what="2 879 unknown options, in a command",
        before="1.7 s",
        right=(201,),  # an image says by itself which options it knows
        send=posted("/v1/jobs", of_job(target={"command": LONG_COMMAND}), SUBMIT),
    ),
    Entry(
        what="20 steps of prepare, an hour each",
        before="accepted as about 1 s",
        right=(422,),
        send=posted("/v1/jobs", of_job(target={"prepare": SLEEPS}), SUBMIT),
    ),
    Entry(
        what="a key of till* asks for another target app",
        before="ran with its secret file",
        right=(403,),
        send=posted("/v1/jobs", {"app": "till-x", "target": {"target_app": "mixed"}}, "of till"),
    ),
    Entry(
        what="NUL in what a checker said",
        before="500",
        right=(201,),
        send=posted("/v1/apps/app-0/checks", SAID, SUBMIT),
    ),
    Entry(
        what="NUL in the name at sign-in",
        before="500",
        right=(303,),
        send=lambda http: http.post("/sign-in", data={"key": READ, "name": "a\0b"}, headers=FORM),
    ),
    Entry(
        what="a page of localhost:3000",
        before="answered",
        right=(403,),
        send=lambda http: http.get(
            "/v1/jobs", headers={"X-API-Key": READ, "Origin": "http://localhost:3000"}
        ),
    ),
    Entry(
        what="20 KB at sign-in, from a stranger",
        before="read whole",
        right=(413,),
        send=lambda http: http.post("/sign-in", data={"key": "x" * 20_000}, headers=FORM),
    ),
    Entry(
        what="the 61st wrong key of a minute",
        before="401, no log line",
        right=(429,),
        send=lambda http: [
            http.get("/v1/jobs", headers={"X-API-Key": "wrong"}, timeout=30) for _ in range(61)
        ][-1],
    ),
)


def main() -> int:
    """Run and print; 1 where a promise is not kept."""
    rig.begin()
    *others, core = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, others or {core})
    with fresh_database() as url:
        filled(url, 1_000, 8)
        _make_keys(url)
        settings = {"TUNER_API_KEY": FIRST, "TUNER_JOB_MINUTES": "600"}
        with api(url, core, **settings) as server:
            kept = [_entries(server), _in_parallel(server), _slow_bodies(server)]
            _files(server)
    return 0 if all(kept) else 1


def _make_keys(url: str) -> None:
    engine = make_engine(url)
    store = Store(engine, Queue())
    store.create_key("read", Scope.READ, READ, None, by="operator")
    store.create_key("submit", Scope.SUBMIT, SUBMIT, None, by="operator")
    store.create_key("till", Scope.SUBMIT, "of till", None, by="operator", apps=["till*"])
    engine.dispose()


def _entries(server: Server) -> bool:
    """A row for each input; whether all are right."""
    kept = []
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=120) as http:
        for entry in ENTRIES:
            used_s, began = server.cpu_s(), time.monotonic()
            http.cookies.clear()  # a sign-in of one entry must not count in the next
            status = entry.send(http).status_code
            took_s, used_s = time.monotonic() - began, server.cpu_s() - used_s
            is_right = status in entry.right and used_s <= INPUT_WITHIN_S
            kept.append(is_right)
            now = f"{status} in {took_s:.2f} s, {used_s:.2f} s of CPU{'' if is_right else ' WRONG'}"
            rig.row(entry.what, f"before: {entry.before}; now: {now}")
    return all(kept)


def _in_parallel(server: Server) -> bool:
    """The worst inputs at once, beside polls; whether p99 and memory keep their promises.

    As many harmless requests come before: threads and connections to PostgreSQL need memory too.
    """
    wanted = [request(server.port, "/v1/jobs/1", f"X-API-Key: {SUBMIT}\r\n")]
    polled(server.port, wanted, RATE, 3)
    quiet_ms = _p99(server.port, wanted, "/v1/jobs/1, alone")
    with _sending(server.port, [_harmless], AT_ONCE):
        time.sleep(SETTLES_S)
    before_mb = _memory_mb(server)
    entries = [entry for entry in ENTRIES if entry.before.endswith(" s") and "lint" in entry.what]
    with _sending(server.port, [entry.send for entry in entries], AT_ONCE) as answers:
        beside_ms = _p99(server.port, wanted, f"/v1/jobs/1, beside {AT_ONCE} hostile requests")
    rig.row("p99 beside / alone", f"{beside_ms / quiet_ms:.1f}")
    rig.row("answers to them", str(dict(sorted(Counter(answers).items()))))
    time.sleep(SETTLES_S)
    after_mb = _memory_mb(server)
    rig.row("memory before, after", f"{before_mb:.0f} MB, {after_mb:.0f} MB")
    kept = beside_ms <= P99_WITHIN_MS and after_mb <= MEMORY_WITHIN * before_mb
    promise = f"p99 within {P99_WITHIN_MS:g} ms, memory within {MEMORY_WITHIN - 1:.0%}"
    rig.row(promise, "kept" if kept else "NOT KEPT")
    return kept


def _harmless(http: httpx.Client) -> httpx.Response:
    return http.get("/v1/jobs/1", headers={"X-API-Key": SUBMIT})


@contextmanager
def _sending(
    port: int, sends: Sequence[Callable[[httpx.Client], httpx.Response]], at_once: int
) -> Iterator[list[int]]:
    """Send without a pause, so many side by side, until the context ends; the statuses."""
    answers: list[int] = []
    is_over = threading.Event()

    def send(number: int) -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as http:
            while not is_over.is_set():
                answers.append(sends[number % len(sends)](http).status_code)

    senders = [threading.Thread(target=send, args=(number,)) for number in range(at_once)]
    for sender in senders:
        sender.start()
    try:
        yield answers
    finally:
        is_over.set()
        for sender in senders:
            sender.join()


def _slow_bodies(server: Server) -> bool:
    """Strangers hold large bodies open at sign-in: memory before, while and after."""
    before_mb = _memory_mb(server)
    head = "POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\n"
    head += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 990000\r\n\r\n"
    connections = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(SLOW_BODIES)]
    for connection in connections:
        connection.sendall(head.encode() + b"a" * 15_000)
    time.sleep(2)
    held_mb = _memory_mb(server)
    for connection in connections:
        connection.close()
    what = f"{SLOW_BODIES} slow bodies at sign-in"
    grown = held_mb / before_mb
    kept = grown <= MEMORY_WITHIN
    now = f"{before_mb:.0f} MB to {held_mb:.0f} MB{'' if kept else ' WRONG'}"
    rig.row(what, f"before: 364 MB to 557 MB; now: {now}")
    return kept


def _files(server: Server) -> None:
    """Beside files that take long to lint."""
    health = [request(server.port, "/healthz")]
    newest = [_tagged(server.port, app) for app in apps()]
    for what, wanted in (("/healthz", health), ("304 of best", newest)):
        polled(server.port, wanted, RATE, 3)
        alone = _p99(server.port, wanted, f"{what}, alone")
        with _hostile(server.port) as answers:
            beside = _p99(server.port, wanted, f"{what}, beside {FILES} hostile files")
        rig.row("p99 beside / alone", f"{beside / alone:.1f}")
        rig.row("answers to the files", str(dict(sorted(Counter(answers).items()))))


def _tagged(port: int, app: str) -> bytes:
    path, key = f"/v1/apps/{app}/uwsgi.ini", {"X-API-Key": READ}
    answer = httpx.get(f"http://127.0.0.1:{port}{path}", headers=key).raise_for_status()
    headers = f"If-None-Match: {answer.headers['etag']}\r\nX-API-Key: {READ}\r\n"
    return request(port, path, headers)


def _memory_mb(server: Server) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def _p99(port: int, wanted: Sequence[bytes], what: str) -> float:
    return latencies_of(polled(port, wanted, RATE, SECONDS), what)


@contextmanager
def _hostile(port: int) -> Iterator[list[int]]:
    """Send every file once, all side by side; the statuses of their answers."""
    answers: list[int] = []

    def send(number: int) -> None:
        ini = FAMILIES[HOSTILE[number % len(HOSTILE)]](CHARACTERS)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as http:
            key = {"X-API-Key": READ}
            answers.append(http.post("/v1/lint", json={"ini": ini}, headers=key).status_code)

    senders = [threading.Thread(target=send, args=(number,)) for number in range(FILES)]
    for sender in senders:
        sender.start()
    try:
        yield answers
    finally:
        for sender in senders:
            sender.join()


if __name__ == "__main__":
    sys.exit(main())
