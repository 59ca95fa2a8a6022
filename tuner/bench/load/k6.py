"""A `LoadGenerator` with k6 1.8: bursts, journeys and mixes of unlike requests."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from tuner.bench.load import checks, contents
from tuner.bench.load.oha import answered, head_s
from tuner.bench.load.probing import SLACK_S, WINDOW_SLACK_S, ask_probe, headers_of, watched
from tuner.bench.load.results import WINDOW, WindowFindings, course_of, reading_of
from tuner.bench.measurement import Course, LoadReading, RunningTarget
from tuner.nouns.errors import Infrastructure
from tuner.nouns.model import (
    BYTES_PER_MB,
    Burst,
    Capacity,
    ClosedLoop,
    HttpRequest,
    Journey,
    Ladder,
    OpenLoop,
    Paths,
    Take,
    Target,
    UserData,
    connections,
)

# ---- What k6 is to do: the script of a load, k6's options, and how long a run may take

REQUEST_TIMEOUT_S = 10.0
BEYOND_LIMIT_S = 5.0  # a user of a journey waits this long beyond the limit
SHORT_S = 10.0

HEAD_SHARE = 0.2  # of Poisson arrivals: the queue begins empty

K6Load = Burst | Journey | ClosedLoop | OpenLoop
"""An open loop has Poisson arrivals here: oha sends those of an even rate."""


def request_timeout_s(load: K6Load) -> float:
    """The time-out of one request: in a burst, each user gives up at the limit."""
    match load:
        case Burst():
            return load.limit_s
        case Journey():
            return max(REQUEST_TIMEOUT_S, load.limit_s + BEYOND_LIMIT_S)
        case ClosedLoop() | OpenLoop():
            return REQUEST_TIMEOUT_S


def longest_s(load: K6Load, duration_s: float) -> float:
    """The length of a run in which every request is as slow as its time-out allows."""
    timeout_s = request_timeout_s(load)
    if isinstance(load, Burst):
        return timeout_s * len(load.requests) + SHORT_S
    return duration_s + timeout_s + SHORT_S


def script(load: K6Load, duration_s: float, running: RunningTarget, target: Target) -> str:
    """The whole script: the workload as one constant, and the code that sends it.

    All users share a constant of the script; each user would have its own copy of a file.
    """
    workload = {
        "options": options(load, duration_s),
        "order": "mix" if isinstance(load, ClosedLoop | OpenLoop) else "journey",
        "arrivals": _arrivals(load),
        "length_ms": None if isinstance(load, Burst) else 1000 * duration_s,
        "timeout": _ms(request_timeout_s(load)),
        "weights": list(accumulate(request.weight for request in load.requests)),
        "rows": None if isinstance(load, ClosedLoop | OpenLoop) else _rows(load.user_data),
        **_requests(load.requests, running.front.port, target),
    }
    return f"const LOAD = {json.dumps(workload)};\n\n{_code()}"


def options(load: K6Load, duration_s: float) -> dict[str, Any]:
    """k6's options: when users send. Each request has its own connection unless kept alive."""
    rest_s = longest_s(load, duration_s) - duration_s
    if isinstance(load, Burst):
        sending: dict[str, Any] = {
            "executor": "per-vu-iterations",
            "vus": load.users,
            "iterations": 1,
            "maxDuration": _ms(longest_s(load, 0)),
            "gracefulStop": "0s",
        }
    elif isinstance(load, OpenLoop):  # each user takes its turn of the requests that fall due
        sending = {
            "executor": "per-vu-iterations",
            "vus": load.concurrency,
            "iterations": 1,
            "maxDuration": _ms(longest_s(load, duration_s)),
            "gracefulStop": "0s",
        }
    else:
        users = connections(load)
        sending = {
            # A constant number of users: `constant-vus` refuses less than a second.
            "executor": "ramping-vus",
            "startVUs": users,
            "stages": [{"duration": _ms(duration_s), "target": users}],
            "gracefulStop": _ms(rest_s),  # until the requests in flight are answered
        }
    return {
        "scenarios": {"load": sending},
        "noConnectionReuse": not (isinstance(load, ClosedLoop | OpenLoop) and load.keep_alive),
        "discardResponseBodies": True,
        "systemTags": [],  # no metric is used
    }


def _arrivals(load: K6Load) -> dict[str, Any] | None:
    """What the times are drawn from at which requests fall due; None: users send when they can."""
    if not isinstance(load, OpenLoop):
        return None
    return {"rate_rps": load.rate_rps, "seed": load.seed, "users": load.concurrency}


def _requests(requests: Sequence[HttpRequest], port: int, target: Target) -> dict[str, list[Any]]:
    """Column by column: a thousand objects for each of a thousand users would take a gigabyte."""
    shapes: list[tuple[Mapping[str, str], bool]] = []
    of_requests = []
    for request in requests:
        reads_body = any(take.json_ or take.regex for take in request.take.values())
        shape = headers_of(request, port, target), reads_body
        if shape not in shapes:
            shapes.append(shape)
        of_requests.append(shapes.index(shape))
    origin = f"http://127.0.0.1:{port}"
    paths = [contents.path_of(request) for request in requests]
    return {
        "urls": [origin + path if isinstance(path, str) else [origin, *path] for path in paths],
        "methods": [request.method for request in requests],
        "bodies": [contents.body_of(request) for request in requests],
        "expects": [request.expect for request in requests],
        "takes": [_takes(request) for request in requests],
        "shapes": of_requests,
        "headers": [
            {name: contents.header_of(value) for name, value in headers.items()}
            for headers, _ in shapes
        ],
        "reads": [reads_body for _, reads_body in shapes],
    }


def _takes(request: HttpRequest) -> list[list[Any]] | None:
    """Name, kind of place and place of each value; None: the request takes nothing."""
    return [[name, *_place(take)] for name, take in request.take.items()] or None


def _place(take: Take) -> tuple[str, Any]:
    if take.json_ is not None:
        return "json", re.findall(r"[^.\[\]]+", take.json_.removeprefix("$"))
    if take.header is not None:  # Go writes the names of headers in this way
        return "header", "-".join(part.capitalize() for part in take.header.split("-"))
    return ("regex", take.regex) if take.regex is not None else ("cookie", take.cookie)


def _rows(data: UserData | None) -> str | None:
    """The rows as one text: a constant that all users share."""
    if data is None:
        return None
    return json.dumps([dict(zip(data.names, row, strict=True)) for row in data.rows])


@cache
def _code() -> str:
    return files("tuner.bench.load").joinpath("script.js").read_text(encoding="utf-8")


def _ms(seconds: float) -> str:
    return f"{round(1000 * seconds)}ms"


# ---- A `LoadGenerator` with k6 1.8: bursts, journeys and mixes of unlike requests
#
# Each of its users runs a script and keeps its own cookies, as a browser does; oha's connections do
# not. k6 takes three times oha's CPU for a request. It has an image of its own, because only a job
# with such a load needs it.
#
# Starting a user takes 0.1 ms of CPU, so five hundred users start within about 60 ms. Connect times
# include the wait for the generator's CPU: k6 itself causes the first hundredths of a second of a
# burst.

BASE_MB = 160  # k6 itself, the probe, and a run's rows in /dev/shm
USER_MB = 0.3  # 0.17 before its start, 0.25 during a request
COPIES = 4  # of an upload while it is sent
UNLIMITED_MB = 1_000_000

SCRIPT = "load.js"
MANY_USERS = 600
SELDOM = "GOGC=400"  # less frequent garbage collection saves a fifth of the CPU
OFTEN = "GOGC=100"  # saves the memory that many users need
COMMAND = (
    *("k6", "run", "--quiet", "--no-color", "--no-usage-report", "--address="),
    *("--no-thresholds", "--summary-mode=disabled"),
    # Rows go to their own file. The log keeps errors only: k6 warns about every failed request.
    *("--console-output=rows", "--log-format=raw", "--log-output=file=k6.log,level=error"),
    SCRIPT,
)
ABOUT = "k6 version 2>/dev/null || echo none"
MEMORY = (
    "cat /sys/fs/cgroup/memory.max 2>/dev/null"
    " || cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || echo max"
)


class K6:
    """Sends loads that need a script. It has no state, so threads may share one.

    `stats_address` is where the launcher makes uWSGI serve its stats, inside the namespace.
    """

    def __init__(self, *, stats_address: str) -> None:
        self._stats_address = stats_address

    def check(
        self,
        running: RunningTarget,
        target: Target,
        workload: K6Load | Capacity | Ladder | Paths,
    ) -> None:
        """Refuse what cannot be measured. Raises `TargetFailed` with `WORKLOAD_REFUSED`.

        One user goes through a journey once before all users do.
        """
        checks.check_open_files(running, workload)
        _check_generator(running, connections(workload), _user_mb(workload.requests))
        if isinstance(workload, Burst | Journey):
            self._check_journey(running, target, workload)
            return
        checks.check_answers(running, target, workload.requests)

    def drive(
        self, running: RunningTarget, target: Target, load: K6Load, duration_s: float
    ) -> LoadReading:
        """Send load for `duration_s` and wait for the last answer; a burst has its own length.

        Raises `TargetFailed` if no request is answered as expected, or the target ends.
        """
        found = self._run(running, target, load, duration_s)
        return answered(reading_of(found, "k6"), running)

    def course(
        self,
        running: RunningTarget,
        target: Target,
        load: K6Load,
        duration_s: float,
        *,
        late_s: float,
    ) -> Course:
        """Send load while something goes wrong; its failures are figures. A burst has no course."""
        more = {"late_s": late_s, "stats": None}
        return course_of(self._run(running, target, load, duration_s, more), "k6")

    def _check_journey(
        self, running: RunningTarget, target: Target, workload: Burst | Journey
    ) -> None:
        one = Burst(
            kind="burst",
            users=1,
            requests=workload.requests,
            limit_s=workload.limit_s,
            user_data=workload.user_data,
        )
        found = self._run(running, target, one, 0)
        reading_of(found, "k6")  # raises where k6 did not come to its end
        failed = found.client.first_failed if found.client else None
        if failed is not None:
            request = workload.requests[failed.request]
            raise checks.refused(
                f"one user alone goes through the requests, and {request.method} {request.path}"
                f" {_failure(request, failed.answer)}",
                running.log_tail(),
            )

    def _run(
        self,
        running: RunningTarget,
        target: Target,
        load: K6Load,
        duration_s: float,
        more: Mapping[str, Any] = {},
    ) -> WindowFindings:
        """What the probe found around one run; `more` is for its task."""
        length_s = None if isinstance(load, Burst) else duration_s
        task = {
            "argv": ["env", OFTEN if connections(load) > MANY_USERS else SELDOM, *COMMAND],
            "files": {SCRIPT: script(load, duration_s, running, target)},
            "summary": "k6",
            "paths": [request.path for request in load.requests],
            "connections": None if isinstance(load, Burst | OpenLoop) else connections(load),
            "length_s": length_s,
            "head_s": _head_s(load, duration_s),
            "limit_s": None if isinstance(load, ClosedLoop | OpenLoop) else load.limit_s,
            **watched(running, target, self._stats_address),
            **more,
        }
        return ask_probe(
            running, "window", task, longest_s(load, duration_s) + WINDOW_SLACK_S, WINDOW
        )


def _head_s(load: K6Load, duration_s: float) -> float:
    match load:
        case Burst():
            return 0.0
        case OpenLoop():
            return HEAD_SHARE * duration_s
        case _:
            return head_s(duration_s)


def _failure(request: HttpRequest, answer: int | str) -> str:
    if isinstance(answer, str) and answer.startswith("take_"):
        name = answer.removeprefix("take_")
        return (
            f"has an answer without the value of `{name}`: mend its `take`, the request, or those"
            " before it"
        )
    return (
        f"is answered with {answer}, not with {request.expect or '2xx'}: mend the request or those"
        " before it, or say which status to `expect`"
    )


def _user_mb(requests: Sequence[HttpRequest]) -> float:
    """Memory of one user, who sends one upload at a time."""
    largest = max(contents.generated_bytes(request) for request in requests)
    return USER_MB + COPIES * largest / BYTES_PER_MB


def _check_generator(running: RunningTarget, users: int, user_mb: float) -> None:
    """Refuse if k6 is missing, or if its memory is too small for the users."""
    answer = running.run_beside(["sh", "-c", f"{ABOUT}; {MEMORY}"], timeout_s=SLACK_S)
    version, _, limit = answer.partition("\n")
    if not version.startswith("k6 "):
        raise checks.refused(
            "this host has no k6; bursts, journeys and mixes of unlike requests need it:"
            " run `tuner setup --journeys` on this host"
        )
    limit_mb = _limit_mb(limit.strip())
    most = int((limit_mb - BASE_MB) / user_mb)
    if users > most:
        raise checks.refused(
            f"{users} users need {round(BASE_MB + users * user_mb)} MB in the load generator, which"
            f" has {limit_mb}: ask for at most {max(0, most)}"
        )


def _limit_mb(words: str) -> int:
    """A cgroup's memory limit in MB; version 2 writes `max` if there is no limit."""
    if words == "max":
        return UNLIMITED_MB
    try:
        return int(words) // BYTES_PER_MB
    except ValueError as error:
        raise Infrastructure(f"the load generator's memory is {words!r}") from error
