"""`tuner.measurement.LoadGenerator` with oha 1.16.

Chosen because it agrees with the server's own count in every mode of uWSGI, and because its open
loop counts latency from when a request was due.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from tuner.errors import Infrastructure, TargetFailed
from tuner.load import results
from tuner.measurement import LoadReading, RunningTarget, target_failed
from tuner.model import ClosedLoop, FailureCode, OpenLoop, Target, Workload
from tuner.uwsgi import stats

REQUEST_TIMEOUT_S = 10
CONNECT_TIMEOUT_S = 10
SLACK_S = 15.0  # for the engine and a busy host

COMMON = (
    *("oha", "--no-tui", "--output-format", "json", "--stats-success-breakdown"),
    *("-t", f"{REQUEST_TIMEOUT_S}s", "--connect-timeout", f"{CONNECT_TIMEOUT_S}s"),
    "-w",  # wait for requests in flight, or the server has served more than the client counts
    *("-r", "0"),  # a redirect is an answer of the app
    "--disable-keepalive",  # uWSGI closes without saying so: a client that hopes sees false errors
)


class Oha:
    """Waits for targets and drives load through them; stateless, so usable from many threads.

    `stats_address` is where the launcher makes uWSGI serve its stats, inside the namespace.
    """

    def __init__(self, *, stats_address: str, ready_timeout_s: float = 20.0) -> None:
        self._stats_address = stats_address
        self._ready_timeout_s = ready_timeout_s
        self._probe = files("tuner.load").joinpath("probe.py").read_text()

    def wait_ready(self, running: RunningTarget, target: Target) -> None:
        """Wait for HTTP 2xx with every uWSGI process accepting. Raises `TargetFailed`."""
        task = {
            "timeout_s": self._ready_timeout_s,
            "stats": self._stats_address,
            "port": target.port,
            "path": target.health_path,
        }
        found = self._run(running, "ready", task, self._ready_timeout_s + SLACK_S)
        if found["outcome"] != "ready":
            raise _not_ready(found, target, self._ready_timeout_s, running.log_tail())

    def drive(
        self, running: RunningTarget, target: Target, workload: Workload, duration_s: float
    ) -> LoadReading:
        """Send load for that long, and until what is in flight then has been answered.

        Raises `TargetFailed` when nothing at all is answered with 2xx, or the target ends.
        """
        task = {
            "argv": command_line(workload, duration_s, running.client_cpus),
            "urls": urls(target, workload),
            "stats": self._stats_address,
        }
        limit_s = duration_s + REQUEST_TIMEOUT_S + CONNECT_TIMEOUT_S + SLACK_S
        found = self._run(running, "window", task, limit_s)
        reading = reading_of(found)
        if reading.requests == 0 and reading.errors_by_class:
            raise _errors_only(reading, running.log_tail())
        return reading

    def _run(
        self, running: RunningTarget, verb: str, task: Mapping[str, Any], timeout_s: float
    ) -> dict[str, Any]:
        # Without the site packages (-S) and the environment's influence (-I) it starts in 20 ms.
        argv = ["python3", "-I", "-S", "-c", self._probe, verb, json.dumps(task)]
        output = running.run_beside(argv, timeout_s=timeout_s)
        try:
            found: dict[str, Any] = json.loads(output)
        except ValueError as error:
            raise Infrastructure(f"the probe said {output[:200]!r}") from error
        return found


def command_line(workload: Workload, duration_s: float, cpus: int) -> list[str]:
    """oha's words, all but the URLs. Values are joined to their flags: they may begin with `-`."""
    words = [*COMMON, "--worker-threads", str(cpus)]
    words += ["-z", f"{round(1000 * duration_s)}ms", "-c", str(workload.concurrency)]
    match workload:
        case OpenLoop():
            words += ["-q", _plain(workload.rate_rps), "--latency-correction"]
        case ClosedLoop():
            pass
    request = workload.requests[0]  # a mix shares everything but the path
    words.append(f"-m={request.method}")
    words += [f"-H={name}: {value}" for name, value in request.headers.items()]
    if request.body is not None:
        words.append(f"-d={request.body}")
    return words


def _plain(number: float) -> str:
    """Without an exponent, which oha does not read."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


def urls(target: Target, workload: Workload) -> list[str]:
    """One line a request; a path given twice is sent twice as often."""
    return [f"http://127.0.0.1:{target.port}{request.path}" for request in workload.requests]


def reading_of(found: Mapping[str, Any]) -> LoadReading:
    """The probe's findings in the model's words. Raises `Infrastructure` where oha failed."""
    try:
        client = results.parse(found["client"])
    except ValueError as error:
        words = str(found["client_error"]).strip() or error
        raise Infrastructure(f"oha failed (exit {found['exit_code']}): {words}") from error
    before, after = found["before"], found["after"]
    return LoadReading(
        started_at=datetime.fromtimestamp(found["started_at"], UTC),
        duration_s=client.duration_s,
        requests=client.requests,
        errors_by_class=client.errors_by_class,
        latency_p50_ms=client.latency_p50_ms,
        latency_p95_ms=client.latency_p95_ms,
        latency_p99_ms=client.latency_p99_ms,
        client_cpu_s=found["client_cpu_s"],
        before=_stats(before["stats"]),
        after=_stats(after["stats"]),
        listen_overflows=after["listen_overflows"] - before["listen_overflows"],
        time_wait=after["time_wait"],
        ports_exhausted=results.PORTS_EXHAUSTED in client.errors_by_class,
    )


def _stats(text: str) -> stats.Stats:
    try:
        return stats.parse(text)
    except ValueError as error:
        raise Infrastructure(f"uWSGI's stats cannot be read: {error}") from error


def _not_ready(
    found: Mapping[str, Any], target: Target, timeout_s: float, log_tail: str
) -> TargetFailed:
    where = f"GET {target.health_path} on port {target.port}"
    if found["outcome"] == "errors_only":
        message = f"the app is up but answers {where} with {found['answer']} only"
        return target_failed(FailureCode.ERRORS_ONLY, message, log_tail)
    if _lacks_memory(found["stats"], log_tail):
        message = "its processes keep being killed: they need more memory than the limit"
        return target_failed(FailureCode.OUT_OF_MEMORY, message, log_tail)
    if found["outcome"] == "crash_loop":
        message = f"its processes keep dying ({found['stats']['respawns']} were replaced)"
        return target_failed(FailureCode.NOT_READY, message, log_tail)
    seen = _seen(found["stats"], f"{where} got: {found['answer']}")
    return target_failed(
        FailureCode.NOT_READY, f"not ready within {timeout_s:g} s: {seen}", log_tail
    )


def _lacks_memory(census: Mapping[str, int] | None, log_tail: str) -> bool:
    """uWSGI itself kills with signal 9 too, but says so (harakiri)."""
    died = census is not None and census["respawns"] > 0
    return died and "killed by signal 9" in log_tail and "HARAKIRI" not in log_tail


def _seen(census: Mapping[str, int] | None, answer: str) -> str:
    if census is None:
        return "uWSGI's master never answered"
    if census["processes"] == 0:
        return "uWSGI runs without any process"
    if census["accepting"] + census["cheap"] < census["processes"]:
        return f"{census['accepting']} of {census['processes']} processes took requests"
    return f"every process took requests, but {answer}"


def _errors_only(reading: LoadReading, log_tail: str) -> TargetFailed:
    listed = ", ".join(f"{name} {n}" for name, n in reading.errors_by_class.items())
    message = f"no request of the workload was answered with 2xx: {listed}"
    if reading.before and reading.after and reading.after.respawns > reading.before.respawns:
        return target_failed(FailureCode.DIED, f"processes kept dying; {message}", log_tail)
    return target_failed(FailureCode.ERRORS_ONLY, message, log_tail)
