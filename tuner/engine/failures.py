"""What an ended container means: uWSGI's exit codes and last words, for a person."""

import re
from collections.abc import Mapping
from typing import Any

from tuner.errors import TargetFailed
from tuner.measurement import target_failed
from tuner.model import FailureCode

EXIT_REFUSED = 1  # uWSGI: an option or a socket it cannot have
EXIT_NO_APP = 22  # uWSGI with need-app
EXIT_KILLED = 137

_TELLING = re.compile(
    r"error|invalid|unable|cannot|can't|not found|greater than|denied|no such|must be|unknown"
    r"|killed by signal",
    re.IGNORECASE,
)
_NOISE = re.compile(r"GAME OVER|Traceback|need-app requested|callable not found or import error")


def why_ended(state: Mapping[str, Any], log_tail: str, *, was_ready: bool) -> TargetFailed:
    """The failure that a container's last `State` and last lines stand for."""
    code, words = _meaning(state, was_ready)
    reason = telling_line(log_tail)
    return target_failed(code, f"{words}: {reason}" if reason else words, log_tail)


def telling_line(log: str) -> str:
    """The line of a log that most likely says what went wrong; empty where there is none."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line) and not _NOISE.search(line)]
    return (telling or lines or [""])[-1]


def _meaning(state: Mapping[str, Any], was_ready: bool) -> tuple[FailureCode, str]:
    exit_code = int(state.get("ExitCode") or 0)
    if state.get("OOMKilled") or exit_code == EXIT_KILLED:
        return FailureCode.OUT_OF_MEMORY, "the container was killed, out of memory"
    if exit_code == EXIT_NO_APP:
        return FailureCode.APP_FAILED, "uWSGI could not load the app (exit 22)"
    if was_ready:
        return FailureCode.DIED, f"the target ended under load (exit {exit_code})"
    if exit_code == EXIT_REFUSED:
        return FailureCode.BAD_OPTIONS, "uWSGI refuses the file (exit 1)"
    return FailureCode.NOT_STARTED, f"the container ended at once (exit {exit_code})"


def why_not_started(explanation: str, program: str) -> TargetFailed | None:
    """The target's own fault in an engine's refusal to start it; None where it is the host's."""
    absent = ("executable file not found", "no such file or directory")
    # Without `exec:` it is some other file, such as the namespace of a target that ended.
    if "exec:" in explanation and any(words in explanation for words in absent):
        return target_failed(
            FailureCode.NOT_STARTED,
            f"there is no `{program}` in the image: install uWSGI in it, or give the command"
            f" that starts it ({explanation})",
        )
    if "net/core/somaxconn" in explanation:
        return target_failed(
            FailureCode.WORKLOAD_REFUSED,
            "this host's kernel does not take limits.somaxconn: give the value that"
            f" `sysctl net.core.somaxconn` shows where the app is deployed ({explanation})",
        )
    if "permission denied" in explanation:
        return target_failed(
            FailureCode.NOT_STARTED, f"`{program}` may not be run in the image ({explanation})"
        )
    if "OOM-killed" in explanation or "Minimum memory limit" in explanation:
        return target_failed(
            FailureCode.OUT_OF_MEMORY, f"the memory limit is too small to start ({explanation})"
        )
    return None
