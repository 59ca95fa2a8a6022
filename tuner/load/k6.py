"""`tuner.measurement.LoadGenerator` with k6 1.8: bursts, journeys and mixes of unlike requests.

Chosen because each of its users runs a script and keeps its own cookies, as a person's browser
does, which oha's connections do not. It takes three times oha's CPU for a request, and is in an
image of its own: only a job that asks for such a load needs it.

To start a user takes 0.1 ms of CPU, so that five hundred begin within some 60 ms, and a connect
time holds what the request waited for the generator's CPU: the first few hundredths of a second
of a burst are k6's own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from tuner.errors import Infrastructure
from tuner.load import checks
from tuner.load.findings import WINDOW, WindowFindings
from tuner.load.oha import errors_only, head_s, nothing_succeeded
from tuner.load.probing import ask_probe
from tuner.load.readiness import SLACK_S, host_header
from tuner.load.results import reading_of
from tuner.measurement import LoadReading, RunningTarget
from tuner.model import (
    BYTES_PER_MB,
    Burst,
    ClosedLoop,
    HttpRequest,
    Journey,
    Ladder,
    Target,
    connections,
)

REQUEST_TIMEOUT_S = 10.0
BEYOND_LIMIT_S = 5.0  # a request is waited for so long after its limit, so that its time is known
SHORT_S = 10.0
BASE_MB = 160  # k6 itself, the probe, and a run's rows in /dev/shm
USER_MB = 0.3  # 0.17 while it waits to begin, 0.25 in the middle of a request
UNLIMITED_MB = 1_000_000

SCRIPT = "load.js"
MANY_USERS = 600
SELDOM = "GOGC=400"  # collecting garbage so much less often saves a fifth of the CPU
OFTEN = "GOGC=100"  # and memory, which many users need themselves
COMMAND = (
    *("k6", "run", "--quiet", "--no-color", "--no-usage-report", "--address="),
    *("--no-thresholds", "--summary-mode=disabled"),
    # The rows go to a file of their own; of its log only what is an error: it warns for every
    # request that fails.
    *("--console-output=rows", "--log-format=raw", "--log-output=file=k6.log,level=error"),
    SCRIPT,
)
ABOUT = "k6 version 2>/dev/null || echo none"
MEMORY = (
    "cat /sys/fs/cgroup/memory.max 2>/dev/null"
    " || cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || echo max"
)

K6Load = Burst | Journey | ClosedLoop


class K6:
    """Drives what takes a script; stateless, so usable from many threads.

    `stats_address` is where the launcher makes uWSGI serve its stats, inside the namespace.
    """

    def __init__(self, *, stats_address: str) -> None:
        self._stats_address = stats_address

    def check(self, running: RunningTarget, target: Target, workload: K6Load | Ladder) -> None:
        """Refuse what cannot be measured. Raises `TargetFailed` with `WORKLOAD_REFUSED`.

        One user goes through a journey once, as all will.
        """
        checks.check_open_files(running, workload)
        _check_generator(running, connections(workload))
        if isinstance(workload, Burst | Journey):
            self._check_journey(running, target, workload)
            return
        checks.check_answers(running, target, workload.requests)
        if workload.keep_alive:
            checks.check_keep_alive(running, target, workload.requests)

    def drive(
        self, running: RunningTarget, target: Target, load: K6Load, duration_s: float
    ) -> LoadReading:
        """Send load for that long, and until the last answer; a burst lasts as long as it lasts.

        Raises `TargetFailed` when nothing at all is answered as expected, or the target ends.
        """
        found = self._run(running, target, load, duration_s)
        reading = reading_of(found, "k6")
        if nothing_succeeded(reading):
            raise errors_only(reading, running.log_tail())
        return reading

    def _check_journey(
        self, running: RunningTarget, target: Target, workload: Burst | Journey
    ) -> None:
        one = Burst(kind="burst", users=1, requests=workload.requests, limit_s=workload.limit_s)
        found = self._run(running, target, one, 0)
        reading_of(found, "k6")  # raises where k6 did not come to its end
        failed = found.client.first_failed if found.client else None
        if failed is not None:
            request = workload.requests[failed.request]
            raise checks.refused(
                f"one user alone goes through the requests, and {request.method} {request.path} is"
                f" answered with {failed.answer}, not with {request.expect or '2xx'}: mend the"
                " request or those before it, or say which status to `expect`",
                running.log_tail(),
            )

    def _run(
        self, running: RunningTarget, target: Target, load: K6Load, duration_s: float
    ) -> WindowFindings:
        """What the probe found around one run."""
        length_s = None if isinstance(load, Burst) else duration_s
        task = {
            "argv": ["env", OFTEN if connections(load) > MANY_USERS else SELDOM, *COMMAND],
            "files": {SCRIPT: script(load, duration_s, running, target)},
            "summary": "k6",
            "connections": None if isinstance(load, Burst) else connections(load),
            "length_s": length_s,
            "head_s": 0.0 if length_s is None else head_s(length_s),
            "limit_s": None if isinstance(load, ClosedLoop) else load.limit_s,
            "stats": self._stats_address,
            "front": asdict(running.front),
        }
        return ask_probe(running, "window", task, longest_s(load, duration_s) + SLACK_S, WINDOW)


def request_timeout_s(load: K6Load) -> float:
    """How long a single request is waited for."""
    if isinstance(load, ClosedLoop):
        return REQUEST_TIMEOUT_S
    return max(REQUEST_TIMEOUT_S, load.limit_s + BEYOND_LIMIT_S)


def longest_s(load: K6Load, duration_s: float) -> float:
    """How long a run lasts where every request is as slow as it may be."""
    timeout_s = request_timeout_s(load)
    if isinstance(load, Burst):
        return timeout_s * len(load.requests) + SHORT_S
    return duration_s + timeout_s + SHORT_S


def script(load: K6Load, duration_s: float, running: RunningTarget, target: Target) -> str:
    """The whole of it: the workload as one constant, and the code that sends it.

    A constant in the script is there once for all users, a file that it reads once for each.
    """
    workload = {
        "options": options(load, duration_s),
        "order": "mix" if isinstance(load, ClosedLoop) else "journey",
        "length_ms": None if isinstance(load, Burst) else 1000 * duration_s,
        "timeout": _ms(request_timeout_s(load)),
        "weights": list(accumulate(request.weight for request in load.requests)),
        **_requests(load.requests, running.front.port, target),
    }
    return f"const LOAD = {json.dumps(workload)};\n\n{_code()}"


def options(load: K6Load, duration_s: float) -> dict[str, Any]:
    """k6's own: who sends when, one connection a request unless it is to be kept."""
    rest_s = longest_s(load, duration_s) - duration_s
    if isinstance(load, Burst):
        sending: dict[str, Any] = {
            "executor": "per-vu-iterations",
            "vus": load.users,
            "iterations": 1,
            "maxDuration": _ms(longest_s(load, 0)),
            "gracefulStop": "0s",
        }
    else:
        users = connections(load)
        sending = {
            # As many from the beginning to the end: `constant-vus` refuses less than a second.
            "executor": "ramping-vus",
            "startVUs": users,
            "stages": [{"duration": _ms(duration_s), "target": users}],
            "gracefulStop": _ms(rest_s),  # to the answer of what is in flight then
        }
    return {
        "scenarios": {"load": sending},
        "noConnectionReuse": not (isinstance(load, ClosedLoop) and load.keep_alive),
        "discardResponseBodies": True,
        "systemTags": [],  # of metrics that nobody reads
    }


def _requests(requests: Sequence[HttpRequest], port: int, target: Target) -> dict[str, list[Any]]:
    """Column by column, for a thousand objects in each of a thousand users would be a gigabyte."""
    headers = [_headers(request, port, target) for request in requests]
    shapes: list[Mapping[str, str]] = []
    for one in headers:
        if one not in shapes:
            shapes.append(one)
    return {
        "urls": [f"http://127.0.0.1:{port}{request.path}" for request in requests],
        "methods": [request.method for request in requests],
        "bodies": [request.body for request in requests],
        "expects": [request.expect for request in requests],
        "shapes": [shapes.index(one) for one in headers],
        "headers": [dict(shape) for shape in shapes],
    }


def _headers(request: HttpRequest, port: int, target: Target) -> Mapping[str, str]:
    if port == target.port or "host" in map(str.lower, request.headers):
        return request.headers
    return {**request.headers, "Host": host_header(target)}


def _check_generator(running: RunningTarget, users: int) -> None:
    """Refuse if k6 is missing, or if its memory is too small for the users."""
    answer = running.run_beside(["sh", "-c", f"{ABOUT}; {MEMORY}"], timeout_s=SLACK_S)
    version, _, limit = answer.partition("\n")
    if not version.startswith("k6 "):
        raise checks.refused(
            "this host has no k6, which bursts, journeys and mixes of unlike requests take:"
            " run `make journeys` on it"
        )
    limit_mb = _limit_mb(limit.strip())
    most = int((limit_mb - BASE_MB) / USER_MB)
    if users > most:
        raise checks.refused(
            f"{users} users need {round(BASE_MB + users * USER_MB)} MB in the load generator, which"
            f" has {limit_mb}: ask for at most {max(0, most)}"
        )


def _limit_mb(words: str) -> int:
    """What a cgroup says of its memory, in MB; version 2 says `max` where there is no limit."""
    if words == "max":
        return UNLIMITED_MB
    try:
        return int(words) // BYTES_PER_MB
    except ValueError as error:
        raise Infrastructure(f"the load generator's memory is {words!r}") from error


@cache
def _code() -> str:
    return files("tuner.load").joinpath("script.js").read_text(encoding="utf-8")


def _ms(seconds: float) -> str:
    return f"{round(1000 * seconds)}ms"
