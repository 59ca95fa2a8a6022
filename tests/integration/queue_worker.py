"""A worker as a process of its own, to be killed: `queue_worker.py URL HOST`.

It prints a line for each thing that it does. A measurement lasts until it is called off, where
its id is even; else 50 ms.
"""

import sys
import time
from collections.abc import Callable

from tuner.nouns.errors import Aborted, Conflict, Unavailable
from tuner.nouns.model import JobId, MeasurementId
from tuner.store.db import Store, host_alive, make_engine
from tuner.store.queue import Queue, run_worker


class Talking:
    def __init__(self, store: Store) -> None:
        self._store = store

    def advance(self, job_id: JobId) -> None:
        say("advance", job_id)

    def measure(self, measurement_id: MeasurementId, should_abort: Callable[[], bool]) -> None:
        say("measure", measurement_id)
        until = time.monotonic() + (3600 if measurement_id % 2 == 0 else 0.05)
        while time.monotonic() < until:
            if should_abort():
                say("aborted", measurement_id)
                raise Aborted("called off")
            time.sleep(0.02)
        say("measured", measurement_id)

    def prune(self) -> None:
        say("prune", 0)

    def submit_due(self) -> None:
        say("submit_due", 0)

    def sweep(self) -> None:
        self._store.recover("default")
        say("sweep", 0)


def say(what: str, id_: int) -> None:
    sys.stdout.write(f"{what} {id_}\n")  # in one write: two threads say something
    sys.stdout.flush()


def main() -> int:
    url, host = sys.argv[1:]
    try:
        with host_alive(url, host, "default") as liveness:
            store = Store(make_engine(url), Queue())
            store.recover("default")
            run_worker(Talking(store), liveness, conninfo=url, pool="default", host=host)
    except Conflict:
        return 4
    except Unavailable:
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
