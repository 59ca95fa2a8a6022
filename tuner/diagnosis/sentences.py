"""A class and its figures to the sentence that says what to do."""

from collections.abc import Callable, Mapping

from tuner.diagnosis.rules import MUCH_FOREIGN_CPU, Seen
from tuner.model import Bottleneck


def sentence_of(bottleneck: Bottleneck, seen: Seen) -> str:
    """What limits the target, what would help and, where connections wait, where they do."""
    place = _place_of_the_wait(bottleneck, seen)
    return f"{_CAUSES[bottleneck](seen)}{'; ' if place else ''}{place}"


def _memory(seen: Seen) -> str:
    if seen.get("oom_kills") > 0:
        return "the kernel killed for memory: fewer processes, or a higher limit"
    return "the target is at its memory limit: more processes would be killed"


def _log_sink(seen: Seen) -> str:
    if seen.get("master") >= 0.5 * seen.one_core:
        return (
            "uWSGI's master is busy writing the log for all processes: disable-logging, or log to"
            " a file without log-master"
        )
    return (
        "processes are idle by uWSGI's count while connections wait: they are held up after the"
        " answer, as by a request log that is not taken off; disable-logging or log-master frees"
        " them"
    )


def _cpu_quota(seen: Seen) -> str:
    where = "in the kernel on its behalf" if seen.get("system_share") > 0.6 else "in the app"
    if seen.cpus == 1:
        cores = f"its one core is busy {where}"
    elif seen.cpus == 2:
        cores = f"both cores are busy {where}"
    elif seen.cpus == int(seen.cpus):
        cores = f"all {seen.cpus:g} cores are busy {where}"
    else:
        cores = f"the quota of {seen.cpus:g} CPU is used up {where}"
    return f"{cores}: no uWSGI option will help, only less work per request or more CPU"


def _one_core_each(seen: Seen) -> str:
    if seen.threads > 1:
        return (
            "threads of one process wait for each other's CPU work: processes would use the CPU"
            " that is left, threads will not"
        )
    return "every process fills a core and CPU is left: more processes would use it"


def _lock_contention(seen: Seen) -> str:
    return (
        f"{seen.processes} processes wake each other for every request, and the kernel is busy with"
        " that: set thunder-lock, or run fewer processes"
    )


def _io_wait(seen: Seen) -> str:
    slots = "the only slot is" if seen.slots == 1 else f"all {seen.slots} slots are"
    return (
        f"{slots} busy waiting, not computing: more processes or threads will answer more requests"
        " with the same CPU"
    )


def _unknown(seen: Seen) -> str:
    stalled = seen.get("stalled_connections")
    if stalled:
        return (
            f"{stalled:.0f} connections were not answered once: others are kept alive and hold the"
            " processes; more slots than connections, or http-socket or nginx, would let them in"
        )
    foreign = seen.get("foreign_cpu")
    if foreign >= MUCH_FOREIGN_CPU:
        return (
            f"no limit of the target was reached, but something else kept {foreign:.1f} CPUs of the"
            " host busy: measure again on a quiet one"
        )
    return "nothing that was watched is at its limit"


def _always(sentence: str) -> Callable[[Seen], str]:
    return lambda _: sentence


_CAUSES: Mapping[Bottleneck, Callable[[Seen], str]] = {
    Bottleneck.APP_ERRORS: _always("requests fail: mend the app or the target before any tuning"),
    Bottleneck.MEMORY: _memory,
    Bottleneck.LOAD_GENERATOR: _always(
        "the load generator is the bottleneck: the target was not pushed to its limit"
    ),
    Bottleneck.ROUTER: _always(
        "uWSGI's http router fills its core: http-socket or nginx in front takes it out of the"
        " way, http-processes gives it more than one"
    ),
    Bottleneck.LOG_SINK: _log_sink,
    Bottleneck.LOCK_CONTENTION: _lock_contention,
    Bottleneck.CPU_QUOTA: _cpu_quota,
    Bottleneck.GIL: _one_core_each,
    Bottleneck.IO_WAIT: _io_wait,
    Bottleneck.BACKLOG: _always("connections wait to be let in while slots are free: raise listen"),
    Bottleneck.CONCURRENCY: _always(
        "every connection of this workload has a slot of its own and waits for the app: only more"
        " connections could show more"
    ),
    Bottleneck.UNKNOWN: _unknown,
}

_WHERE_LISTEN_IS_ASKED_ABOUT = frozenset(
    {Bottleneck.CPU_QUOTA, Bottleneck.GIL, Bottleneck.IO_WAIT, Bottleneck.ROUTER}
)


def _place_of_the_wait(bottleneck: Bottleneck, seen: Seen) -> str:
    """Where a server at its limit keeps those who wait: `listen` decides that, and no more."""
    if bottleneck not in _WHERE_LISTEN_IS_ASKED_ABOUT:
        return ""
    if seen.connects_wait:
        slowest = max(seen.get("connect_p95_ms"), seen.get("proxy_connect_p95_ms")) / 1000
        wait = f" {slowest:.1f} s" if slowest >= 0.1 else ""
        return (
            f"connections wait{wait} to be let in: raising listen moves the wait from the client"
            " into the queue, total time will not change"
        )
    queued = seen.get("queued_connections_p95")
    if seen.connections is not None or queued <= seen.slots:
        return ""  # in a closed loop all beyond the slots queue: that says nothing of the server
    return (
        f"{queued:.0f} connections wait in the listen queue: changing listen moves that wait,"
        " total time will not change"
    )
