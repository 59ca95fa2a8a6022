"""A `LoadGenerator` with k6 1.8: bursts, journeys and mixes of unlike requests.

Each of its users runs a script and keeps its own cookies, as a browser does; oha's connections do
not. k6 takes three times oha's CPU for a request. It has an image of its own, because only a job
with such a load needs it.

Starting a user takes 0.1 ms of CPU, so five hundred users start within about 60 ms. Connect times
include the wait for the generator's CPU: k6 itself causes the first hundredths of a second of a
burst.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tuner.bench.load import checks, contents
from tuner.bench.load.findings import WINDOW, WindowFindings
from tuner.bench.load.oha import answered, head_s
from tuner.bench.load.probing import ask_probe, watched
from tuner.bench.load.readiness import SLACK_S, WINDOW_SLACK_S
from tuner.bench.load.results import course_of, reading_of
from tuner.bench.load.scripting import K6Load, longest_s, script
from tuner.bench.measurement import Course, LoadReading, RunningTarget
from tuner.nouns.errors import Infrastructure
from tuner.nouns.model import (
    BYTES_PER_MB,
    Burst,
    ClosedLoop,
    HttpRequest,
    Journey,
    Ladder,
    Paths,
    Target,
    connections,
)

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
        self, running: RunningTarget, target: Target, workload: K6Load | Ladder | Paths
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
            "connections": None if isinstance(load, Burst) else connections(load),
            "length_s": length_s,
            "head_s": 0.0 if length_s is None else head_s(length_s),
            "limit_s": None if isinstance(load, ClosedLoop) else load.limit_s,
            **watched(running, target, self._stats_address),
            **more,
        }
        return ask_probe(
            running, "window", task, longest_s(load, duration_s) + WINDOW_SLACK_S, WINDOW
        )


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
            " run `make journeys` on this host"
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
