"""An app for which options matter that do nothing to uWSGI: what each does is planted in its ini.

    env = UNITS=2000
    env = PLANTS=[{"option": "vacuum", "value": "true", "work": 0.95}]

UNITS   CPU work per request, about 1.5 us each
PLANTS  a list of `Plant`: what becomes of the app where uWSGI was given that option and value

The app asks uWSGI for the options it runs with, so that it behaves as the tried file says.
"""

import json
import os
import socket
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

ITERATIONS_PER_UNIT = 100
BODY = b'{"status": "ok"}'
HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]
CHUNK = b"\x01" * 1024 * 1024

Start = Callable[[str, list[tuple[str, str]]], Any]


@dataclass(frozen=True)
class Plant:
    """What one value of one option does to the app.

    `work` is a factor on the work of every request. In `unlucky_share` of the starts, as long as
    the app lives, it is `unlucky_work` instead. `slow_share` of the requests wait for `slow_ms`
    besides. Every process keeps `hold_mb` for itself, 1 MiB more with each request.
    """

    option: str
    value: str
    work: float = 1.0
    unlucky_share: float = 0.0
    unlucky_work: float = 1.0
    slow_share: float = 0.0
    slow_ms: float = 0.0
    hold_mb: int = 0


@dataclass
class App:
    """The app as one process runs it: the plants that its file has brought to life."""

    iterations: int
    slow_share: float = 0.0
    slow_s: float = 0.0
    hold_mb: int = 0
    count: int = 0

    def __post_init__(self) -> None:
        self.held: list[bytearray] = []

    def __call__(self, environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        """Hold, wait, compute, answer."""
        self.count += 1
        if len(self.held) < self.hold_mb:
            self.held.append(bytearray(CHUNK))
        if self.is_slow():
            time.sleep(self.slow_s)
        compute(self.iterations)
        start_response("200 OK", HEADERS)
        return [BODY]

    def is_slow(self) -> bool:
        """Evenly spread over the requests of a process: chance would add noise."""
        return int(self.count * self.slow_share) > int((self.count - 1) * self.slow_share)


def compute(iterations: int) -> int:
    """Numbers below 256 only, which CPython keeps ready: allocating would add noise."""
    total = 0
    for _ in repeat(None, iterations):
        total = (total + 7) & 127
    return total


def text_of(value: Any) -> str:
    """An option's value as `uwsgi.opt` has it: bytes; True where none was written; a list of them.

    Of a list the last one counts, as it does for uWSGI.
    """
    if isinstance(value, list):
        return text_of(value[-1])
    return value.decode() if isinstance(value, bytes) else str(value).lower()


def luck(start: str) -> float:
    """A number from 0 to 1 that is the same in all processes of one start."""
    return zlib.crc32(start.encode()) / 2**32


def grown(units: int, plants: Iterable[Plant], options: Mapping[str, Any], start: str) -> App:
    """The app with those plants whose option has their value; `start` names this start."""
    work, app = 1.0, App(iterations=0)
    for plant in plants:
        if plant.option not in options or text_of(options[plant.option]) != plant.value:
            continue
        is_unlucky = luck(f"{start} {plant.option}") < plant.unlucky_share
        work *= plant.unlucky_work if is_unlucky else plant.work
        app.slow_share = max(app.slow_share, plant.slow_share)
        app.slow_s = max(app.slow_s, plant.slow_ms / 1000)
        app.hold_mb += plant.hold_mb
    app.iterations = round(units * work * ITERATIONS_PER_UNIT)
    return app


def started() -> App:
    """The app that this file asks for. A container's random id is its host name."""
    import uwsgi  # type: ignore[import-untyped]  # there is one inside uWSGI only

    plants = [Plant(**planted) for planted in json.loads(os.environ.get("PLANTS", "[]"))]
    return grown(int(os.environ["UNITS"]), plants, uwsgi.opt, socket.gethostname())


application = started()
