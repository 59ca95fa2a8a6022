"""Waiting for a target, and the message for one that does not become ready."""

from collections.abc import Mapping

from tuner.bench.load import contents
from tuner.bench.load.findings import READY, Census, Readiness
from tuner.bench.load.probe.window import IDLE_WITHIN_S
from tuner.bench.load.probing import ask_probe
from tuner.bench.measurement import RunningTarget, target_failed
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import FailureCode, HttpRequest, Target

SLACK_S = 15.0  # for the engine and a busy host
WINDOW_SLACK_S = SLACK_S + IDLE_WITHIN_S  # the server may work on what clients gave up


def wait_ready(
    running: RunningTarget, target: Target, *, stats: str | None, timeout_s: float
) -> None:
    """Wait for HTTP 2xx with every uWSGI process accepting. Raises `TargetFailed`.

    Without `stats` it is another server, which has to answer twice.
    """
    task = {
        "timeout_s": timeout_s,
        "stats": stats,
        "port": running.front.port,
        "host": host_header(target),
        "path": target.health_path,
    }
    found = ask_probe(running, "ready", task, timeout_s + SLACK_S, READY)
    if found.outcome != "ready":
        raise _not_ready(found, target, timeout_s, running.log_tail())


def host_header(target: Target) -> str:
    """The Host header: the app's own port, also where a proxy is in front of it."""
    return target.host_header or f"127.0.0.1:{target.port}"


def headers_of(request: HttpRequest, port: int, target: Target) -> Mapping[str, str]:
    """All headers of a request to this port, where the client's own Host would be wrong."""
    host, headers = host_header(target), contents.headers_of(request)
    if host == f"127.0.0.1:{port}" or "host" in map(str.lower, headers):
        return headers
    return {**headers, "Host": host}


def _not_ready(found: Readiness, target: Target, timeout_s: float, log_tail: str) -> TargetFailed:
    where = f"GET {target.health_path} on port {target.port}"
    if found.outcome == "errors_only":
        message = f"the app is up but answers {where} with {found.answer} only"
        return target_failed(FailureCode.ERRORS_ONLY, message, log_tail)
    if _lacks_memory(found.stats, log_tail):
        message = "its processes keep being killed: they need more memory than the limit"
        return target_failed(FailureCode.OUT_OF_MEMORY, message, log_tail)
    if found.stats is not None and found.outcome == "crash_loop":
        message = f"its processes keep dying ({found.stats.respawns} were replaced)"
        return target_failed(FailureCode.NOT_READY, message, log_tail)
    answer = f"{where} got: {found.answer}"
    seen = _seen(found.stats, answer) if target.is_uwsgi else answer
    return target_failed(
        FailureCode.NOT_READY, f"not ready within {timeout_s:g} s: {seen}", log_tail
    )


def _lacks_memory(census: Census | None, log_tail: str) -> bool:
    """uWSGI itself kills with signal 9 too, but says so (harakiri)."""
    died = census is not None and census.respawns > 0
    return died and "killed by signal 9" in log_tail and "HARAKIRI" not in log_tail


def _seen(census: Census | None, answer: str) -> str:
    if census is None:
        return "uWSGI's master never answered"
    if census.processes == 0:
        return "uWSGI runs without any process"
    if census.accepting + census.cheap < census.processes:
        return f"{census.accepting} of {census.processes} processes took requests"
    return f"every process took requests, but {answer}"
