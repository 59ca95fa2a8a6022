"""A class and its figures to the sentence that says what to do."""

from collections.abc import Callable, Mapping

from tuner.judge.diagnosis.rules import FULL, MUCH_FOREIGN_CPU, MUCH_ROUTER, Seen, saturated
from tuner.nouns import wording
from tuner.nouns.model import Bottleneck


def sentence_of(bottleneck: Bottleneck, seen: Seen) -> str:
    """What limits the target, and what would help.

    Also where connections wait, and what becomes of those that the client wants to keep.
    """
    if not seen.is_uwsgi:
        return _OF_OTHERS[bottleneck]
    cause = _CAUSES[bottleneck]
    sentence = cause if isinstance(cause, str) else cause(seen)
    place = _place_of_the_wait(seen) if bottleneck in _LISTEN_MAY_MATTER else ""
    return "; ".join(filter(None, (sentence, place, _NOT_KEPT if seen.opens_anew else "")))


def _memory(seen: Seen) -> str:
    if seen.get("oom_kills") > 0:
        return "the kernel killed processes for memory: run fewer processes, or raise the limit"
    return "the target is at its memory limit: the kernel would kill more processes"


def _log_sink(seen: Seen) -> str:
    if seen.get("master") >= 0.5 * seen.one_core:
        return (
            "uWSGI's master is busy writing the log for all processes: set disable-logging, or log"
            " to a file without log-master"
        )
    return (
        "uWSGI counts its processes as idle while connections wait: something blocks them after"
        " the answer, such as a request log that is not read; set disable-logging or log-master"
    )


def _cpu_quota(seen: Seen) -> str:
    if seen.shares_full_cpus:
        own = seen.cpus * seen.get("target_cpu")
        used = ", ".join(f"{name} {its.cores:.2f}" for name, its in seen.services.items())
        return (
            f"the app ({own:.2f} CPU) and what runs beside it ({used}) use up the CPUs that they"
            " share on this host: no uWSGI option will help, only less work, or a host with more"
            " CPUs"
        )
    where = "in the kernel on its behalf" if seen.get("system_share") > 0.6 else "in the app"
    if seen.cpus == 1:
        cores = f"its one core is busy {where}"
    elif seen.cpus == 2:
        cores = f"both cores are busy {where}"
    elif seen.cpus == int(seen.cpus):
        cores = f"all {seen.cpus:g} cores are busy {where}"
    else:
        cores = f"the quota of {seen.cpus:g} CPU is used up {where}"
    return f"{cores}: {_way_out(seen)}"


def _way_out(seen: Seen) -> str:
    router = seen.get("router") / seen.cpus
    if router >= MUCH_ROUTER:
        return (
            f"uWSGI's http router takes {wording.share(router, 0)} of the quota and passes each"
            " request on over a connection of its own: use http-socket, or nginx in front, instead"
            " of the router"
        )
    return "no uWSGI option will help, only less work per request or more CPU"


def _backing_service(seen: Seen) -> str:
    if seen.is_refused:
        return (
            f"a service refused connections ({seen.refusal}): {seen.slots} slots (processes x"
            " threads) exceed what it allows; set max_slots"
        )
    name = saturated(seen.services)
    if name is None:
        return "a service of the app is at its limit"
    used = seen.services[name]
    if used.cpu is not None and used.cpu >= FULL:
        whose = "the CPU that this bench has for it" if used.is_limit_of_bench else "its CPU"
        limit = f"{name} uses {wording.share(used.cpu, 0)} of {whose}"
    else:
        limit = f"{name} is throttled in {wording.share(used.throttled or 0.0, 0)} of its periods"
    if used.is_limit_of_bench:
        return (
            f"{limit}: production may give it more, so nothing is known of the app; measure on a"
            f" host with more CPUs, or give {name} the `cpus` that it has in production"
        )
    return f"{limit}: no uWSGI option will help; look at its slow queries or give it more CPU"


def _one_core_each(seen: Seen) -> str:
    if seen.threads > 1:
        return (
            "threads of one process wait for each other's CPU work: more processes would use the"
            " CPU that is left, more threads will not"
        )
    return "every process fills a core and CPU is left: more processes would use it"


def _lock_contention(seen: Seen) -> str:
    return (
        f"{seen.processes} processes wake each other for every request, which keeps the kernel"
        " busy: set thunder-lock, or run fewer processes"
    )


def _io_wait(seen: Seen) -> str:
    slots = "the only slot is" if seen.slots == 1 else f"all {seen.slots} slots are"
    return (
        f"{slots} busy waiting, not computing: more processes or threads will answer more requests"
        " with the same CPU"
    )


def _unknown(seen: Seen) -> str:
    stalled, foreign = seen.get("stalled_connections"), seen.get("foreign_cpu")
    if stalled:
        return (
            f"{stalled:.0f} connections never got an answer: others are kept alive and hold the"
            " processes; use more slots than connections, or http-socket or nginx"
        )
    if foreign >= MUCH_FOREIGN_CPU:
        return (
            "the target reached no limit, but something else kept"
            f" {foreign:.1f} CPUs of the host busy: measure again on a quiet host"
        )
    return "nothing that was watched is at its limit"


_CAUSES: Mapping[Bottleneck, str | Callable[[Seen], str]] = {
    Bottleneck.APP_ERRORS: "requests fail: fix the app or the target before you tune",
    Bottleneck.MEMORY: _memory,
    Bottleneck.LOAD_GENERATOR: "the load generator is the bottleneck: the target was not pushed to"
    " its limit",
    Bottleneck.ROUTER: "uWSGI's http router fills its core: use http-socket, or nginx in front,"
    " instead of the router, or give it more processes with http-processes",
    Bottleneck.LOG_SINK: _log_sink,
    Bottleneck.LOCK_CONTENTION: _lock_contention,
    Bottleneck.CPU_QUOTA: _cpu_quota,
    Bottleneck.BACKING_SERVICE: _backing_service,
    Bottleneck.GIL: _one_core_each,
    Bottleneck.IO_WAIT: _io_wait,
    Bottleneck.BACKLOG: "connections wait in the kernel while slots are free: raise listen",
    Bottleneck.CONCURRENCY: "every connection of this workload has a slot of its own and waits for"
    " the app: only more connections could show more",
    Bottleneck.UNKNOWN: _unknown,
}

CPU_UNSEEN = "requests wait, but the CPU was not seen: the slots may be waiting, or computing"

_OF_OTHERS: Mapping[Bottleneck, str] = {
    Bottleneck.APP_ERRORS: "requests fail",
    Bottleneck.MEMORY: "the server is at its memory limit",
    Bottleneck.LOAD_GENERATOR: "the load generator is the bottleneck: the server was not pushed to"
    " its limit",
    Bottleneck.CPU_QUOTA: "the server uses up its CPU",
    Bottleneck.BACKING_SERVICE: "a service of the app is at its limit",
    Bottleneck.UNKNOWN: "nothing that was watched is at its limit",
}
"""Sentences for servers that are not uWSGI: their options are their own."""

_NOT_KEPT = (
    "clients want to keep their connections, but the server closes them, so that almost each"
    " request opens one: http with http-keepalive, or nginx in front, keeps them"
)

_LISTEN_MAY_MATTER = frozenset(
    {Bottleneck.CPU_QUOTA, Bottleneck.GIL, Bottleneck.IO_WAIT, Bottleneck.ROUTER}
)


def _place_of_the_wait(seen: Seen) -> str:
    """Where connections wait for a server at its limit: `listen` decides that, and no more."""
    if seen.connects_wait:
        slowest = max(seen.get("connect_p95_ms"), seen.get("proxy_connect_p95_ms")) / 1000
        wait = f" {slowest:.1f} s" if slowest >= 0.1 else ""
        return (
            f"connections wait{wait} to be accepted: raising listen moves the wait from the client"
            " into the queue, total time will not change"
        )
    queued = seen.get("queued_connections_p95")
    if seen.connections is not None or queued <= seen.slots:
        return ""  # in a closed loop all beyond the slots queue: that says nothing of the server
    return (
        f"{queued:.0f} connections wait in the listen queue: changing listen moves that wait,"
        " total time will not change"
    )
