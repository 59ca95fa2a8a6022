"""Counters to the bottleneck: what limits the target under this workload, and what says so.

The rules are tried in this order; thresholds come from runs of the target apps (uWSGI 2.0.31).
"""

from collections.abc import Sequence
from statistics import median

from tuner.model import Bottleneck, Diagnosis, Limits, Window

_SENTENCES = {
    Bottleneck.APP_ERRORS: "requests fail: mend the app or the target before tuning anything",
    Bottleneck.MEMORY: "the target is at its memory limit: more processes would be killed",
    Bottleneck.LOAD_GENERATOR: "the load generator is the bottleneck: the target was not pushed to "
    "its limit",
    Bottleneck.CPU_QUOTA: "the target uses all the CPU it may: beyond this only less work in the "
    "app or more CPU will help",
    Bottleneck.GIL: "threads of one process wait for each other's CPU work: processes would use "
    "the CPU that is left, threads will not",
    Bottleneck.IO_WAIT: "every slot is busy waiting, not computing: more processes or threads "
    "will answer more requests with the same CPU",
    Bottleneck.BACKLOG: "connections overflow the listen queue while slots are free: raise listen",
    Bottleneck.CONCURRENCY: "every connection of this workload has a slot of its own and waits for "
    "the app: only more connections could show more",
    Bottleneck.UNKNOWN: "nothing that was watched is at its limit",
}


def diagnose(
    windows: Sequence[Window],
    limits: Limits,
    *,
    processes: int = 1,
    threads: int = 1,
    connections: int | None = None,
) -> Diagnosis:
    """The bottleneck of one configuration from its windows (medians over them).

    `connections` is how many a closed loop keeps open; None where load comes at a fixed rate.
    """
    evidence = _evidence(windows, limits)
    slots_for_all = connections is not None and connections <= processes * threads
    bottleneck = _classify(evidence, threads, slots_for_all=slots_for_all)
    return Diagnosis(bottleneck=bottleneck, sentence=_SENTENCES[bottleneck], evidence=evidence)


def _evidence(windows: Sequence[Window], limits: Limits) -> dict[str, float]:
    """Medians of what was watched; what was not is left out."""
    memory = [w.memory_mb / (limits.memory_mb * 1.048576) for w in windows if w.memory_mb]
    watched = {
        "error_rate": [w.error_rate for w in windows],
        "client_cpu": [w.client_cpu for w in windows],
        "target_cpu": [w.target_cpu for w in windows if w.target_cpu is not None],
        "throttled": [w.throttled for w in windows if w.throttled is not None],
        "busy": [w.busy for w in windows if w.busy is not None],
        "memory": memory,
        "listen_overflows": [float(w.listen_overflows) for w in windows],
    }
    return {name: round(median(values), 4) for name, values in watched.items() if values}


def _classify(seen: dict[str, float], threads: int, *, slots_for_all: bool) -> Bottleneck:
    busy, cpu = seen.get("busy", 0.0), seen.get("target_cpu", 0.0)
    rules = (
        (Bottleneck.APP_ERRORS, seen.get("error_rate", 0.0) > 0.01),
        (Bottleneck.MEMORY, seen.get("memory", 0.0) > 0.92),
        (Bottleneck.CPU_QUOTA, cpu >= 0.9 or seen.get("throttled", 0.0) > 0.2),
        (Bottleneck.LOAD_GENERATOR, seen.get("client_cpu", 0.0) > 0.85 and busy < 0.7),
        (Bottleneck.GIL, threads > 1 and busy >= 0.8 and 0.6 <= cpu < 0.9),
        (Bottleneck.IO_WAIT, busy >= 0.85 and cpu < 0.75),
        (Bottleneck.BACKLOG, seen.get("listen_overflows", 0.0) > 0),
        (Bottleneck.CONCURRENCY, slots_for_all and bool(seen)),
    )
    return next((kind for kind, holds in rules if holds), Bottleneck.UNKNOWN)
