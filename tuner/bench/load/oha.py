"""`tuner.bench.measurement.LoadGenerator` with oha 1.16: closed loops and fixed rates.

oha agrees with the server's own count in every mode of uWSGI, and its open loop counts latency from
the time at which a request was due.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tuner.bench.load import checks, contents
from tuner.bench.load.probing import WINDOW_SLACK_S, ask_probe, headers_of, wait_ready, watched
from tuner.bench.load.results import CONNECT_TIMEOUT, WINDOW, WindowFindings, course_of, reading_of
from tuner.bench.measurement import Course, LoadReading, RunningTarget, target_failed
from tuner.nouns.model import (
    CONNECT_TIMEOUT_S,
    ClosedLoop,
    FailureCode,
    HttpRequest,
    Ladder,
    OpenLoop,
    Paths,
    Target,
)

REQUEST_TIMEOUT_S = 10
HEAD_S = 0.5  # of every run, which is discarded; at most
HEAD_SHARE = 0.2
MOST_LINES = 10_000  # of the file with the URLs of a mix
RATE_TRIAL_S = 0.5
RATE_TRIAL_REQUESTS = 100
START_CPU_S = 0.01  # of oha itself
USABLE = 0.8  # of the generator's CPUs: what is left before it delays what it measures

COMMON = (
    *("oha", "--no-tui", "--output-format", "json", "--db-url", "rows.db"),
    *("-t", f"{REQUEST_TIMEOUT_S}s", "--connect-timeout", f"{CONNECT_TIMEOUT_S}s"),
    "-w",  # wait for requests in flight, or the server has served more than the client counts
    *("-r", "0"),  # a redirect is an answer of the app
)


class Oha:
    """Waits for targets and drives load through them; stateless, so usable from many threads.

    `stats_address` is where the launcher makes uWSGI serve its stats, inside the namespace.
    """

    def __init__(self, *, stats_address: str, ready_timeout_s: float = 20.0) -> None:
        self._stats_address = stats_address
        self._ready_timeout_s = ready_timeout_s

    def wait_ready(self, running: RunningTarget, target: Target) -> None:
        """Wait for HTTP 2xx with every uWSGI process accepting. Raises `TargetFailed`."""
        wait_ready(
            running,
            target,
            stats=self._stats_address if target.is_uwsgi else None,
            timeout_s=self._ready_timeout_s,
        )

    def check(
        self,
        running: RunningTarget,
        target: Target,
        workload: ClosedLoop | OpenLoop | Ladder | Paths,
    ) -> None:
        """Refuse what cannot be measured. Raises `TargetFailed` with `WORKLOAD_REFUSED`."""
        checks.check_open_files(running, workload)
        checks.check_answers(running, target, workload.requests)
        if isinstance(workload, OpenLoop):
            self._check_rate(running, target, workload)

    def drive(
        self,
        running: RunningTarget,
        target: Target,
        load: ClosedLoop | OpenLoop,
        duration_s: float,
    ) -> LoadReading:
        """Send load for `duration_s` and wait for the requests in flight.

        Raises `TargetFailed` if no request is answered with 2xx, or the target ends.
        """
        reading = reading_of(self._run(running, target, load, duration_s), "oha")
        return answered(reading, running)

    def course(
        self,
        running: RunningTarget,
        target: Target,
        load: ClosedLoop | OpenLoop,
        duration_s: float,
        *,
        late_s: float,
    ) -> Course:
        """Send load while something goes wrong; its failures are figures."""
        more = {"late_s": late_s, "stats": None}
        return course_of(self._run(running, target, load, duration_s, more), "oha")

    def _run(
        self,
        running: RunningTarget,
        target: Target,
        load: ClosedLoop | OpenLoop,
        duration_s: float,
        more: Mapping[str, Any] = {},
    ) -> WindowFindings:
        """What the probe found around one run; `more` is for its task."""
        task = {
            **words_and_files(load, duration_s, running, target),
            "summary": "oha",
            "paths": [request.path for request in load.requests],
            "connections": load.concurrency if isinstance(load, ClosedLoop) else None,
            "length_s": duration_s,
            "head_s": head_s(duration_s),
            **watched(running, target, self._stats_address),
            **more,
        }
        limit_s = duration_s + REQUEST_TIMEOUT_S + CONNECT_TIMEOUT_S + WINDOW_SLACK_S
        return ask_probe(running, "window", task, limit_s, WINDOW)

    def _check_rate(self, running: RunningTarget, target: Target, workload: OpenLoop) -> None:
        """Refuse a rate that oha cannot send: a closed loop shows the CPU time of one request.

        A trial at a lower rate would mislead: single requests cost three times as much CPU as
        requests that come together.
        """
        trial = ClosedLoop(
            requests=workload.requests,
            concurrency=workload.concurrency,
            keep_alive=workload.keep_alive,
        )
        reading = self.drive(running, target, trial, RATE_TRIAL_S)
        if reading.sent < RATE_TRIAL_REQUESTS:
            return  # the server is far slower: windows will have the doubt RATE_NOT_REACHED
        request_s = max(reading.client_cpu_s - START_CPU_S, 0) / reading.sent
        cpus = running.placement.client_cpus
        most_rps = USABLE * cpus / max(request_s, 1e-9)
        if workload.rate_rps > most_rps:
            raise checks.refused(
                f"the load generator cannot send {workload.rate_rps:g} requests/s: with"
                f" {cpus} CPU and {1e6 * request_s:.0f} us of it for each, it gets"
                f" to some {_rounded(most_rps)}; ask for less, or give it more CPUs"
            )


def head_s(duration_s: float) -> float:
    """Seconds at the beginning of a run that are discarded."""
    return min(HEAD_S, HEAD_SHARE * duration_s)


def words_and_files(
    load: ClosedLoop | OpenLoop, duration_s: float, running: RunningTarget, target: Target
) -> dict[str, Any]:
    """oha's `argv`, and the `files` that it names. Values may begin with `-`: they are joined."""
    words = [*COMMON, "--worker-threads", str(running.placement.client_cpus)]
    words += ["-z", f"{round(1000 * duration_s)}ms", "-c", str(load.concurrency)]
    if not load.keep_alive:
        words.append("--disable-keepalive")
    if isinstance(load, OpenLoop):
        words += ["-q", _plain(load.rate_rps), "--latency-correction"]
    request = load.requests[0]  # a mix shares everything but the path
    words.append(f"-m={request.method}")
    headers = headers_of(request, running.front.port, target)
    words += [f"-H={name}: {value}" for name, value in headers.items()]
    files = {}
    body = contents.text_of(contents.body_of(request))
    if body is not None:
        files["body"] = body
        words += ["-D", "body"]
    urls = [f"http://127.0.0.1:{running.front.port}{path}" for path in paths(load.requests)]
    if len(urls) == 1:
        return {"argv": [*words, urls[0]], "files": files}
    files["urls"] = "".join(f"{url}\n" for url in urls)
    return {"argv": [*words, "--urls-from-file", "urls"], "files": files}


def paths(requests: Sequence[HttpRequest]) -> list[str]:
    """The paths of a mix, repeated by weight: oha draws lines at random."""
    weights: Counter[str] = Counter()
    for request in requests:
        weights[request.path] += request.weight
    divisor = max(math.gcd(*weights.values()), weights.total() / MOST_LINES)
    return [
        path for path, weight in weights.items() for _ in range(max(1, round(weight / divisor)))
    ]


def answered(reading: LoadReading, running: RunningTarget) -> LoadReading:
    """The reading. Raises `TargetFailed` if the target failed every request.

    A client without free ports never reached it. Nor does one whose connects all wait too long
    for a full listen queue: that is a figure of this load, and the next run may be served.
    """
    failed = sum(reading.errors_by_class.values())
    if not reading.sent or failed < reading.sent or reading.ports_exhausted:
        return reading
    if {*reading.errors_by_class} == {CONNECT_TIMEOUT} and reading.listen_overflows:
        return reading
    log_tail = running.log_tail()
    listed = ", ".join(f"{name} {n}" for name, n in reading.errors_by_class.items())
    message = f"no request of the workload was answered as expected: {listed}"
    if reading.before and reading.after and reading.after.respawns > reading.before.respawns:
        raise target_failed(FailureCode.DIED, f"processes kept dying; {message}", log_tail)
    raise target_failed(FailureCode.ERRORS_ONLY, message, log_tail)


def _plain(number: float) -> str:
    """Without an exponent, which oha does not read."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _rounded(rate_rps: float) -> str:
    """Two digits: the trial was short."""
    digits = 1 - math.floor(math.log10(rate_rps))
    return f"{round(rate_rps, digits):g}"
