"""Why a container ended or did not start, from uWSGI's exit codes and last log lines."""

import re
import time
from collections.abc import Mapping
from typing import Any

from tuner.bench.engine.connection import Connection
from tuner.bench.measurement import target_failed
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import OF_A_NAMESPACE, SOMAXCONN, FailureCode

# ---- The effective options that uWSGI prints at its start, and its log without them

_BEGIN = ";uWSGI instance configuration"
_END = ";end of configuration"


def printed(log: str) -> str:
    """The section as ini text; empty if the log has none."""
    _, begin, rest = log.partition(_BEGIN)
    section, end, _ = rest.partition(_END)
    return f"{section.strip()}\n" if begin and end else ""


def without(log: str) -> str:
    """The log without the section; a tail of a log may hold only a part of it."""
    before, end, after = log.partition(_END)
    if not end:
        return log
    return f"{before.rpartition(_BEGIN)[0]}{after.lstrip()}".strip()


# ---- Why a target's container ended: by itself, or because we removed it

LOG_TAIL_LINES = 30
SEARCHED_LINES = 1_000
REMOVAL_S = 0.3  # a forced removal first kills the container and removes it 0.1 s later


_REQUEST = re.compile(r"\[pid: \d+\|app: \S+\|req: ")


def own_words(connection: Connection, container: str) -> str:
    """The last lines of a target's output, without the options that uWSGI printed for us.

    A line for each request would hide a traceback: such lines count only where there are no others.
    """
    lines = without(connection.log_tail(container, SEARCHED_LINES)).splitlines()
    others = [line for line in lines if _REQUEST.match(line) is None]
    return "\n".join((others or lines)[-LOG_TAIL_LINES:])


def raise_if_ended(
    connection: Connection, container: str, *, was_ready: bool, is_uwsgi: bool = True
) -> None:
    """Raise `TargetFailed` if the container has ended.

    Raises `Infrastructure` if it was removed: a cancel or a reap is not the target's fault.
    """
    state = connection.state(container)
    if state is not None and state["Running"]:
        return
    if state is not None and state["ExitCode"] == EXIT_KILLED and not state["OOMKilled"]:
        time.sleep(REMOVAL_S)
        state = connection.state(container)
    if state is None:
        raise Infrastructure("the target's container was removed while it was measured")
    tail = own_words(connection, container)
    raise why_ended(state, tail, was_ready=was_ready, is_uwsgi=is_uwsgi)


EXIT_REFUSED = 1  # uWSGI refuses an option or a socket
EXIT_NO_APP = 22  # uWSGI with need-app
EXIT_KILLED = 137

_TELLING = re.compile(
    r"error|invalid|unable|cannot|can't|not found|greater than|denied|no such|must be|unknown"
    r"|killed by signal|ImproperlyConfigured",
    re.IGNORECASE,
)
_NOISE = re.compile(r"GAME OVER|Traceback|need-app requested|callable not found or import error")


def why_ended(
    state: Mapping[str, Any], log_tail: str, *, was_ready: bool, is_uwsgi: bool = True
) -> TargetFailed:
    """The failure behind a container's last `State` and last lines.

    The exit codes of another server than uWSGI mean nothing to us.
    """
    code, words = _meaning(state, was_ready, is_uwsgi)
    return explained(code, words, log_tail)


def explained(code: FailureCode, words: str, log_tail: str) -> TargetFailed:
    """A failure in our `words` and those of the log that most likely name the cause."""
    reason = telling_line(log_tail)
    return target_failed(code, f"{words}: {reason}" if reason else words, log_tail)


def telling_line(log: str) -> str:
    """The log line that most likely names the cause; empty for an empty log."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line) and not _NOISE.search(line)]
    return (telling or lines or [""])[-1]


def _meaning(state: Mapping[str, Any], was_ready: bool, is_uwsgi: bool) -> tuple[FailureCode, str]:
    exit_code = int(state.get("ExitCode") or 0)
    if state.get("OOMKilled") or exit_code == EXIT_KILLED:
        return FailureCode.OUT_OF_MEMORY, "the container was killed: out of memory"
    if is_uwsgi and exit_code == EXIT_NO_APP:
        return FailureCode.APP_FAILED, "uWSGI could not load the app (exit 22)"
    if was_ready:
        return FailureCode.DIED, f"the target ended under load (exit {exit_code})"
    if is_uwsgi and exit_code == EXIT_REFUSED:
        return FailureCode.BAD_OPTIONS, "uWSGI refuses the file (exit 1)"
    return FailureCode.NOT_STARTED, f"the container ended at once (exit {exit_code})"


def why_not_started(explanation: str, program: str) -> TargetFailed | None:
    """The target's own fault in the engine's refusal to start it; None if the host is at fault."""
    absent = ("executable file not found", "no such file or directory")
    # Without `exec:` the missing file is another one, such as the namespace of an ended target.
    if "exec:" in explanation and any(words in explanation for words in absent):
        return target_failed(
            FailureCode.NOT_STARTED,
            f"there is no `{program}` in the image: install it there, or give another command"
            f" ({explanation})",
        )
    if (setting := _setting_in(explanation)) is not None:
        field = "somaxconn" if setting == SOMAXCONN else f"sysctls.{setting}"
        return target_failed(
            FailureCode.WORKLOAD_REFUSED,
            f"this host's kernel refuses limits.{field}: give the value of `sysctl {setting}` on"
            f" the machine that runs the app, if that has one ({explanation})",
        )
    if "permission denied" in explanation:
        return target_failed(
            FailureCode.NOT_STARTED, f"`{program}` in the image is not executable ({explanation})"
        )
    if "OOM-killed" in explanation or "Minimum memory limit" in explanation:
        return target_failed(
            FailureCode.OUT_OF_MEMORY, f"the memory limit is too low to start ({explanation})"
        )
    return None


def _setting_in(explanation: str) -> str | None:
    """The kernel setting of the job that the engine could not write; None for another reason."""
    found = re.search(r"/proc/sys/(net/[\w/]+)", explanation)
    name = found[1].replace("/", ".") if found else ""
    return name if name in (SOMAXCONN, *OF_A_NAMESPACE) else None


def why_not_frozen(explanation: str) -> TargetFailed | None:
    """The job's own fault in the engine's refusal to keep its data; None if there is none."""
    if "no space left" not in explanation:
        return None
    return target_failed(
        FailureCode.OUT_OF_DISK,
        f"Docker's disk is too small for the data that `prepare` makes ({explanation})",
    )


_PULL_REASONS = (
    (r"no space left", "Docker's disk is full"),
    (r"no matching manifest", "it has no image for this machine's platform"),
    (r"toomanyrequests", "the registry allows no more pulls for now"),
    (r"x509|certificate", "the registry's certificate is not trusted"),
    (r"http response to https", "the registry does not speak TLS"),
    (
        r"unauthorized|denied|authentication|authorization|no basic auth",
        "the registry asks for a login, or has no such repository",
    ),
    (r"not found|manifest unknown|does not exist", "the registry has no such tag"),
    (
        r"dial tcp|no such host|timeout|deadline|connection re|EOF|server misbehaving",
        "the registry does not answer",
    ),
)


def why_not_pulled(explanation: str) -> str:
    """The reason in our own words: the engine's may repeat what any address has answered it."""
    known = (words for sign, words in _PULL_REASONS if re.search(sign, explanation, re.IGNORECASE))
    return next(known, "the registry's answer is none that Docker understands")
