"""Why a target's container ended: by itself, or because we removed it."""

import re
import time

from tuner.bench.engine import effective
from tuner.bench.engine.connection import Connection
from tuner.bench.engine.failures import EXIT_KILLED, why_ended
from tuner.nouns.errors import Infrastructure

LOG_TAIL_LINES = 30
SEARCHED_LINES = 1_000
REMOVAL_S = 0.3  # a forced removal first kills the container and removes it 0.1 s later


_REQUEST = re.compile(r"\[pid: \d+\|app: \S+\|req: ")


def own_words(connection: Connection, container: str) -> str:
    """The last lines of a target's output, without the options that uWSGI printed for us.

    A line for each request would hide a traceback: such lines count only where there are no others.
    """
    lines = effective.without(connection.log_tail(container, SEARCHED_LINES)).splitlines()
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
