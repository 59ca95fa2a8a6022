"""`tuner.bench.measurement.LoadGenerator` with two tools: oha if it can send the load, else k6."""

import time
from collections.abc import Mapping, Sequence

from tuner.bench.load import checks
from tuner.bench.load.k6 import K6
from tuner.bench.load.oha import Oha
from tuner.bench.load.probing import SLACK_S, ask_probe
from tuner.bench.load.results import DISTURBED, OWNERS
from tuner.bench.measurement import (
    Answer,
    Course,
    Disturbance,
    Disturbed,
    LoadReading,
    RunningTarget,
)
from tuner.nouns.model import (
    Burst,
    Capacity,
    ClosedLoop,
    Journey,
    Ladder,
    Load,
    OpenLoop,
    Paths,
    Target,
    Workload,
    wants_kept,
)

SLOW_CLIENTS = 20
SLOW_CLIENT_PAUSE_S = 0.5


class Generators:
    """oha is far cheaper and sends what it can; k6 sends what needs a script.

    `stats_address` is where the launcher makes uWSGI serve its stats, inside the namespace.
    """

    def __init__(self, *, stats_address: str, ready_timeout_s: float = 20.0) -> None:
        self._stats_address = stats_address
        self._oha = Oha(stats_address=stats_address, ready_timeout_s=ready_timeout_s)
        self._k6 = K6(stats_address=stats_address)

    def wait_ready(self, running: RunningTarget, target: Target) -> None:
        """Wait for HTTP 2xx with every uWSGI process accepting. Raises `TargetFailed`."""
        self._oha.wait_ready(running, target)

    def check(self, running: RunningTarget, target: Target, workload: Workload) -> None:
        """Refuse what cannot be measured. Raises `TargetFailed` with `WORKLOAD_REFUSED`."""
        match workload:
            case Burst() | Journey() | Capacity() | OpenLoop(arrivals="poisson"):
                self._k6.check(running, target, workload)
            case ClosedLoop() | Ladder() | Paths() if not workload.is_plain:
                self._k6.check(running, target, workload)
            case _:
                self._oha.check(running, target, workload)

    def answers(
        self, running: RunningTarget, target: Target, workload: Workload
    ) -> Sequence[Answer]:
        """The answers to the first requests; none where users take values from them in order."""
        if isinstance(workload, Burst | Journey):
            return ()
        return checks.answers(running, target, workload.requests)

    def as_served(self, running: RunningTarget, target: Target, workload: Workload) -> Workload:
        """The workload as its client sends it to this server.

        Raises `TargetFailed` with `WORKLOAD_REFUSED` for an answer without an end.
        """
        if not wants_kept(workload) or checks.keeps_connections(running, target, workload.requests):
            return workload
        return workload.model_copy(update={"keep_alive": False})

    def round_trips(self, running: RunningTarget, target: Target) -> Mapping[str, float]:
        """Measured round trip times to the services, in ms by name; what is not there has none."""
        return checks.round_trips(running, target)

    def drive(
        self, running: RunningTarget, target: Target, load: Load, duration_s: float
    ) -> LoadReading:
        """Send load for `duration_s`; a burst has its own length.

        Raises `TargetFailed` or `Infrastructure`.
        """
        match load:
            case Burst() | Journey():
                return self._k6.drive(running, target, load, duration_s)
            case OpenLoop(arrivals="poisson"):
                return self._k6.drive(running, target, load, duration_s)
            case ClosedLoop() if not load.is_plain:
                return self._k6.drive(running, target, load, duration_s)
            case _:
                return self._oha.drive(running, target, load, duration_s)

    def course(
        self,
        running: RunningTarget,
        target: Target,
        load: Load,
        duration_s: float,
        *,
        late_s: float,
    ) -> Course:
        """Send load while something goes wrong; its failures are figures, not an error."""
        match load:
            case Burst() | Journey():
                return self._k6.course(running, target, load, duration_s, late_s=late_s)
            case OpenLoop(arrivals="poisson"):
                return self._k6.course(running, target, load, duration_s, late_s=late_s)
            case ClosedLoop() if not load.is_plain:
                return self._k6.course(running, target, load, duration_s, late_s=late_s)
            case _:
                return self._oha.course(running, target, load, duration_s, late_s=late_s)

    def run_on(self, seconds: float) -> None:
        """Wait while a course is under way."""
        time.sleep(seconds)

    def disturb(self, running: RunningTarget, kind: Disturbance, seconds: float) -> Disturbed:
        """Make one thing go wrong for `seconds`, or until uWSGI is whole again.

        Raises `TargetFailed` if the target has ended, `Infrastructure` if no signal can be sent.
        """
        task = {
            "stats": self._stats_address,
            "port": running.front.port,
            "seconds": seconds,
            "connections": SLOW_CLIENTS,
            "pause_s": SLOW_CLIENT_PAUSE_S,
        }
        uid = None
        if kind is not Disturbance.SLOW_CLIENTS:
            found = ask_probe(running, "owners", task, SLACK_S, OWNERS)
            users = {Disturbance.RELOAD: found.master, Disturbance.DOOM: found.file}
            uid = users.get(kind, found.worker)
        return ask_probe(running, kind.value, task, seconds + SLACK_S, DISTURBED, uid=uid)
