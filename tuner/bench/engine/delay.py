"""The way from an app to its services: a container of ours delays the packets."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from tuner.bench.engine.connection import Connection
from tuner.bench.engine.containers import Containers
from tuner.bench.engine.failures import EXIT_KILLED, telling_line
from tuner.bench.engine.options import TUN, Options
from tuner.bench.measurement import target_failed
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import FailureCode

READY_S = 20.0
POLL_S = 0.02


@contextmanager
def delayed(
    containers: Containers,
    image: str,
    options: Options,
    target: str,
    round_trips_ms: Mapping[str, float],
) -> Iterator[str | None]:
    """The container that delays a target's packets; None where no service is delayed.

    Raises `TargetFailed` on a host that cannot do so, `Infrastructure` if the target has ended.
    """
    if not round_trips_ms:
        yield None
        return
    with ExitStack() as stack:
        created = containers.delay(image, options.delay(target), round_trips_ms)
        try:
            container = stack.enter_context(created)
        except Infrastructure as error:
            raise why_not(str(error)) or error from error
        _wait(containers.connection, container)
        yield container


def why_not(explanation: str) -> TargetFailed | None:
    """The failure of a host that cannot delay packets; None if something else is at fault."""
    if TUN not in explanation:
        return None
    return target_failed(
        FailureCode.WORKLOAD_REFUSED,
        f"this host cannot delay the packets to services: it needs {TUN} (load the kernel's module"
        f" `tun`); or give each service `rtt_ms: 0` ({explanation})",
    )


def check_delay(connection: Connection, container: str) -> None:
    """Raise if the program no longer delays packets: they would go on without a delay."""
    state = connection.state(container)
    if state is None or state["ExitCode"] == EXIT_KILLED:
        raise Infrastructure("the container that delays packets was removed, or the target ended")
    if not state["Running"]:
        said = telling_line(connection.log_tail(container, 20))
        raise why_not(said) or Infrastructure(f"the program that delays packets ended: {said}")


def _wait(connection: Connection, container: str) -> None:
    """Until packets are delayed: the program says so in its only line."""
    deadline = time.monotonic() + READY_S
    while not connection.log_tail(container, 1):
        check_delay(connection, container)
        if time.monotonic() > deadline:
            raise Infrastructure(f"the program that delays packets did not start in {READY_S:g} s")
        time.sleep(POLL_S)
    check_delay(connection, container)
