"""`python -m tuner.bench.engine.fetcher`: one pull or one build, as a process that can be killed.

The engine ends its work when its client goes away. A thread that waits for the engine's answer
cannot be stopped, a process can.
"""

import json
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

from tuner.bench.engine.connection import Connection
from tuner.nouns.errors import Infrastructure, Unavailable

LOG_LINES = 30
_MOST_OF_A_LINE = 2000


def main() -> None:
    """Read from the arguments what to do, and write one JSON document about its end."""
    what, options = sys.argv[1], json.loads(sys.argv[2])
    _end_with(os.getppid())
    try:
        end = _end_of(what, options)
    except Infrastructure as error:
        end = {"error": str(error)}
    except Unavailable as error:
        end = {"away": error.detail}
    json.dump(end, sys.stdout)


def _end_with(worker: int) -> None:
    """End within a second of the worker, also after its `kill -9`."""

    def look(number: int, frame: object) -> None:
        if os.getppid() != worker:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)


def _end_of(what: str, options: dict[str, Any]) -> dict[str, Any]:
    """The last lines that the engine wrote, and its last error."""
    log: deque[str] = deque(maxlen=LOG_LINES)
    error = None
    with Connection().api() as api:
        options |= {"stream": True} if what == "pull" else {"fileobj": sys.stdin.buffer}
        answers: Iterator[dict[str, Any]] = getattr(api, what)(decode=True, **options)
        for answer in answers:
            lines = str(answer.get("stream", "")).splitlines()
            log.extend(line[:_MOST_OF_A_LINE] for line in lines if line.strip())
            error = answer.get("error", error)
    return {"error": error, "log": "\n".join(log)}


if __name__ == "__main__":
    main()
