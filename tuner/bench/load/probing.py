"""How the probe is put into the load generator's container, and asked there."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from tuner.bench.load import contents
from tuner.bench.load.probe.window import IDLE_WITHIN_S
from tuner.bench.load.results import READY, Census, Readiness
from tuner.bench.measurement import RunningTarget, target_failed
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import FailureCode, HttpRequest, Target, mistakes_of

Findings = TypeVar("Findings")

HOME = "/tuner/probe"
LONGEST_WORD = 65_536  # bytes; the kernel takes 128 KB in one word of a command line

# Without the site packages (-S) and the environment's influence (-I) it starts sooner, and sooner
# still where it finds what it has compiled before.
COMMAND = ("python3", "-I", "-S", "-X", "pycache_prefix=/dev/shm/pycache", HOME)
DELAY_COMMAND = (*COMMAND, "delay")
"""Takes one more word: milliseconds by service, in JSON."""


@cache
def probe_files() -> Mapping[str, bytes]:
    """The probe, as absolute path in the load generator's container to contents.

    Its modules keep the names that they have here, in packages that hold nothing else.
    """
    package = f"{HOME}/tuner/bench/load/probe"
    found = {
        f"{package}/{file.name}": file.read_bytes()
        for file in files("tuner.bench.load.probe").iterdir()
        if file.name.endswith(".py")
    }
    found[f"{HOME}/__main__.py"] = found.pop(f"{package}/__main__.py")
    return {**found, f"{HOME}/tuner/__init__.py": b"", f"{HOME}/tuner/bench/load/__init__.py": b""}


def watched(running: RunningTarget, target: Target, stats_address: str) -> dict[str, Any]:
    """What the probe reads and watches around a run of load: a part of the task of `window`."""
    return {
        "stats": stats_address if target.is_uwsgi else None,
        "front": asdict(running.front),
        "cgroups": dict(running.cgroup_folders),
    }


def ask_probe(
    running: RunningTarget,
    verb: str,
    task: Mapping[str, Any],
    timeout_s: float,
    findings: TypeAdapter[Findings],
    *,
    uid: int | None = None,
) -> Findings:
    """Run one verb of the probe beside the target; what it found.

    Raises `TargetFailed` when the target has ended, `Infrastructure` when the probe failed.
    """
    words = json.dumps(task)
    carried: dict[str, bytes] = {}
    if len(words) > LONGEST_WORD:  # JSON is ASCII here
        path = f"/tmp/task-{secrets.token_hex(6)}.json"  # noqa: S108  # in the container
        carried[path] = words.encode()
        words = path
    output = running.run_beside(
        [*COMMAND, verb, words], timeout_s=timeout_s, files=carried, uid=uid
    )
    try:
        return findings.validate_json(output)
    except ValidationError as error:
        path, wrong = mistakes_of(error)[0]
        raise Infrastructure(f"the probe said {output[:200]!r}: {path}: {wrong}") from error


# ---- Waiting for a target, and the message for one that does not become ready

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
