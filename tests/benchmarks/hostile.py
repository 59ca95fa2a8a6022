"""What hostile files cost others: `make bench-hostile`, or `python -m tests.benchmarks.hostile`.

/healthz and conditional polls of the newest uwsgi.ini are timed, first alone, then while 20 files
that take long are sent to be linted. The API is one process on one core.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import httpx

from tests.benchmarks import rig
from tests.benchmarks.polling import api, apps, filled, latencies_of, polled, request, tagged
from tests.fuzz.growth import FAMILIES
from tests.postgres import fresh_database

FILES = 20
CHARACTERS = 190_000
RATE = 50.0
SECONDS = 8.0  # the files that may wait take about as long
HOSTILE = ("keys without a value", "many unknown keys", "lines that join", "many blocks")


def main() -> None:
    """Run and print."""
    rig.begin()
    *others, core = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, others or {core})
    with fresh_database() as url:
        filled(url, 1_000, 8)
        with api(url, core) as server:
            health = [request(server.port, "/healthz")]
            newest = [tagged(server.port, app) for app in apps()]
            for what, wanted in (("/healthz", health), ("304 of best", newest)):
                polled(server.port, wanted, RATE, 3)
                alone = _p99(server.port, wanted, f"{what}, alone")
                with _hostile(server.port) as answers:
                    beside = _p99(server.port, wanted, f"{what}, beside {FILES} hostile files")
                rig.row("p99 beside / alone", f"{beside / alone:.1f}")
                rig.row("answers to the files", str(dict(sorted(Counter(answers).items()))))


def _p99(port: int, wanted: Sequence[bytes], what: str) -> float:
    return latencies_of(polled(port, wanted, RATE, SECONDS), what)


@contextmanager
def _hostile(port: int) -> Iterator[list[int]]:
    """Send every file once, all side by side; the statuses of their answers."""
    answers: list[int] = []

    def send(number: int) -> None:
        ini = FAMILIES[HOSTILE[number % len(HOSTILE)]](CHARACTERS)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as http:
            answers.append(http.post("/v1/lint", json={"ini": ini}).status_code)

    senders = [threading.Thread(target=send, args=(number,)) for number in range(FILES)]
    for sender in senders:
        sender.start()
    try:
        yield answers
    finally:
        for sender in senders:
            sender.join()


if __name__ == "__main__":
    main()
