"""Refuses a workload that the target or the generator cannot carry, before it costs minutes."""

from collections.abc import Mapping, Sequence
from typing import Any

from tuner.bench.load import contents
from tuner.bench.load.probing import ask_probe, host_header
from tuner.bench.load.results import KEEP_ALIVE, ROUND_TRIPS, TRY_EACH
from tuner.bench.measurement import Answer, RunningTarget, target_failed
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import FailureCode, HttpRequest, Target, Workload, connections
from tuner.uwsgi.topology import Topology

FILES_KEPT = 100  # open files for everything that is not a connection
TRIED = 20  # requests at most
TIMEOUT_S = 240.0  # for `TRIED` requests as slow as their time-out allows


def refused(message: str, log_tail: str = "") -> TargetFailed:
    """The failure of a workload that cannot be measured; `message` says what to do."""
    return target_failed(FailureCode.WORKLOAD_REFUSED, message, log_tail)


def check_open_files(running: RunningTarget, workload: Workload) -> None:
    """Refuse more connections than there may be open files."""
    wanted, most = connections(workload), running.client_nofile - FILES_KEPT
    if running.front.topology is Topology.NGINX:
        most //= 2  # it has another to uWSGI for each of them
    if wanted > most:
        raise refused(
            f"{wanted} connections at once need more open files than this host grants"
            f" ({running.client_nofile}): ask for at most {most}, or raise the limit of its Docker"
            " daemon"
        )


def check_answers(running: RunningTarget, target: Target, requests: Sequence[HttpRequest]) -> None:
    """Send each of the first requests once; refuse an answer that is not expected."""
    for request, answer in zip(requests, answers(running, target, requests), strict=False):
        if not is_expected(request, answer.answer):
            raise refused(
                f"{request.method} {request.path} is answered with {answer.answer}, not with"
                f" {request.expect or '2xx'}: mend the request, or say which status to `expect`",
                running.log_tail(),
            )


def answers(
    running: RunningTarget, target: Target, requests: Sequence[HttpRequest]
) -> Sequence[Answer]:
    """The answer to each of the first requests, each sent once."""
    task = _task(running, target, requests[:TRIED])
    return ask_probe(running, "try_each", task, TIMEOUT_S, TRY_EACH)


def round_trips(running: RunningTarget, target: Target) -> Mapping[str, float]:
    """The round trip time to each service as the app's namespace sees it, in ms."""
    if not target.services:
        return {}
    task = {"services": [*target.services]}
    return ask_probe(running, "round_trips", task, TIMEOUT_S, ROUND_TRIPS)


def is_expected(request: HttpRequest, answer: int | str) -> bool:
    """Whether the answer is the expected status; an answer without a status never is."""
    if isinstance(answer, str):
        return False
    return answer == request.expect if request.expect else 200 <= answer < 300


def keeps_connections(
    running: RunningTarget, target: Target, requests: Sequence[HttpRequest]
) -> bool:
    """Whether a client can rely on its connections: the server keeps them, or says that it closes.

    False where the server closes one without a word. A client that sends on it gets an error and
    connects again, as do browsers and proxies. Raises `TargetFailed` for an answer without an end.
    """
    task = _task(running, target, requests[:TRIED])
    kept = ask_probe(running, "keepalive", task, TIMEOUT_S, KEEP_ALIVE)
    for request, found in zip(requests, kept, strict=False):
        where = f"{request.method} {request.path}"
        match found.outcome:
            case "closed":
                return False
            case "endless":
                raise refused(
                    f"keep_alive is asked for, but the answer to {where} has neither a length nor"
                    " chunks, and the connection stays open: each request would last until uWSGI's"
                    " socket-timeout; let the app send Content-Length, or leave keep_alive out"
                )
            case "failed":
                raise refused(f"{where} is not answered: {found.words}", running.log_tail())
            case _:
                pass  # kept or announced
    return True


def _task(
    running: RunningTarget, target: Target, requests: Sequence[HttpRequest]
) -> Mapping[str, Any]:
    return {
        "port": running.front.port,
        "host": host_header(target),
        "requests": [
            {
                "method": request.method,
                "path": request.path,
                "headers": dict(contents.headers_of(request)),
                "body": contents.text_of(contents.body_of(request)),
            }
            for request in requests
        ],
    }
