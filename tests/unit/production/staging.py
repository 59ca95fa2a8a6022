"""Looks at a uWSGI that is staged: how busy, how full, how much CPU."""

from typing import Any

from tuner.bench.load.probe.counters import Snapshot
from tuner.bench.measurement import Usage
from tuner.production.looking import Box, Look, Machine
from tuner.uwsgi.topology import Activity, Stats

BOX = Box(cpus=1.0, has_quota=True, memory_mb=256.0)


def look(at_s: float, **changes: Any) -> Look:
    """At a second of an idle uWSGI of 4 processes on a host with 2 CPUs.

    Rates per second: `rps`, `cores`, `throttled` (share), `waited`, `exceptions`, `others`.
    """
    given = {
        **dict.fromkeys(("rps", "cores", "throttled", "waited", "exceptions", "others"), 0.0),
        **{"busy": 0, "queue": (0, 100), "overflows": 0.0, "memory_mb": 50.0, "slots": 4},
        **changes,
    }
    cpu_s = at_s * given["cores"]
    requests = int(at_s * given["rps"])
    return Look(
        at_s=at_s,
        activity=Activity(
            counters=Stats(cores=4, requests=requests, respawns=0, running_us=requests * 20_000),
            exceptions=int(at_s * given["exceptions"]),
            processes=4,
            slots=given["slots"],
            requests=("GET /shop/*",) * given["busy"],
            queues={},
            master=1,
            workers=(2, 3, 4, 5),
        ),
        queue=given["queue"],
        overflows=int(at_s * given["overflows"]),
        usage=Usage(
            cpu_s=cpu_s,
            periods=int(10 * at_s),
            throttled_periods=int(10 * at_s * given["throttled"]),
            memory_mb=given["memory_mb"],
        ),
        processes=Snapshot(
            {n: cpu_s / 4 for n in (2, 3, 4, 5)}, dict.fromkeys((2, 3, 4, 5), int(at_s)), 0.0, {}
        ),
        waited_s={n: at_s * given["waited"] / 4 for n in (2, 3, 4, 5)},
        machine=Machine(cpus=2, busy_s=cpu_s + at_s * given["others"]),
    )


def looks(seconds: int, begin: int = 0, **changes: Any) -> list[Look]:
    """One look a second."""
    return [look(float(at), **changes) for at in range(begin, begin + seconds + 1)]
