"""Looks at a uWSGI in production to its bottleneck: which class limits it, and for how long."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from tuner.bench.load.probe import counters, rows
from tuner.judge.diagnosis import of_production
from tuner.nouns.model import Bottleneck, Diagnosis, ServiceFigures
from tuner.production.looking import Box, Look

SPAN_S = 10.0
"""Seconds that are diagnosed by themselves: a busy minute must not drown in a quiet hour."""

_MOST_REQUESTS = 3
_OTHERS = "other programs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What limited production, with its figures.

    The evidence of `diagnosis` is the median over the spans of its class.
    """

    seconds: float
    diagnosis: Diagnosis
    limited_s: Mapping[Bottleneck, float]  # by class, the longest first; `unknown`: by none
    queue_full_s: float
    all_busy_s: float
    processes: int
    threads: int
    rps: float
    mean_ms: float | None  # of a request in uWSGI, without its wait in the queue
    requests: Mapping[str, float]  # share of the busy slots' time, the most first
    box: Box


def observed(looks: Sequence[Look], box: Box) -> Observation:
    """What the looks show, in order of time. Raises `ValueError` for too few of them."""
    parts = [part for part in _parts(looks) if len(part) > 1]
    if not parts:
        raise ValueError("uWSGI was seen for too short a time to say what limits it")
    spans = [(_length_s(part), _diagnosed(figures_of(part, box), part[-1], box)) for part in parts]
    seconds: Counter[Bottleneck] = Counter()
    for length_s, found in spans:
        seconds[found.bottleneck] += round(length_s)
    limits = [kind for kind, _ in seconds.most_common() if kind is not Bottleneck.UNKNOWN]
    kind = limits[0] if limits else Bottleneck.UNKNOWN
    of_kind = [found for _, found in spans if found.bottleneck is kind]
    return Observation(
        seconds=_length_s(looks),
        diagnosis=_together(of_kind, looks[-1], box),
        limited_s=dict(seconds.most_common()),
        queue_full_s=_seconds(looks, is_queue_full),
        all_busy_s=_seconds(looks, is_all_busy),
        processes=looks[-1].activity.processes,
        threads=_threads(looks[-1]),
        rps=sum(_requests_in(part) for part in parts) / sum(map(_length_s, parts)),
        mean_ms=_mean_ms(parts),
        requests=_shares(looks),
        box=box,
    )


def is_queue_full(look: Look) -> bool:
    """Whether the kernel drops the next connection, or the one after it."""
    return look.queue is not None and look.queue[0] >= look.queue[1]


def is_all_busy(look: Look) -> bool:
    """Whether each slot has a request."""
    return len(look.activity.requests) >= look.activity.slots > 0


def _parts(looks: Sequence[Look]) -> list[list[Look]]:
    """Spans of about `SPAN_S` that share their ends; a uWSGI that began anew begins another."""
    parts = [list(looks[:1])]
    for before, after in pairwise(looks):
        if after.activity.counters.requests < before.activity.counters.requests:
            parts.append([after])
            continue
        if _length_s(parts[-1]) >= SPAN_S - 0.5:
            parts.append([before])
        parts[-1].append(after)
    return parts


def _length_s(looks: Sequence[Look]) -> float:
    return looks[-1].at_s - looks[0].at_s


def _seconds(looks: Sequence[Look], holds: Callable[[Look], bool]) -> float:
    """For how long something held: from each look to the next."""
    return sum(after.at_s - before.at_s for before, after in pairwise(looks) if holds(before))


def _diagnosed(figures: Mapping[str, float], look: Look, box: Box) -> Diagnosis:
    others = ServiceFigures(cores=figures.get("foreign_cpu", 0.0), memory_mb=0.0)
    return of_production(
        figures,
        cpus=box.cpus,
        processes=look.activity.processes,
        threads=_threads(look),
        services={_OTHERS: others} if "foreign_cpu" in figures else {},
    )


def _together(found: Sequence[Diagnosis], look: Look, box: Box) -> Diagnosis:
    """One diagnosis of all spans of a class; the middle one where medians hide the class."""
    middle = found[len(found) // 2]
    names = {name: None for each in found for name in each.evidence}
    figures = {
        name: median(each.evidence[name] for each in found if name in each.evidence)
        for name in names
    }
    whole = _diagnosed(figures, look, box)
    return whole if whole.bottleneck is middle.bottleneck else middle


def _threads(look: Look) -> int:
    return max(1, look.activity.slots // max(1, look.activity.processes))


def _requests_in(looks: Sequence[Look]) -> int:
    first, last = looks[0].activity.counters, looks[-1].activity.counters
    return last.requests - first.requests


def _mean_ms(parts: Sequence[Sequence[Look]]) -> float | None:
    """Time of a request in uWSGI, of those that ended; None without any."""
    ended = sum(map(_requests_in, parts))
    us = sum(
        part[-1].activity.counters.running_us - part[0].activity.counters.running_us
        for part in parts
    )
    return us / ended / 1000 if ended else None


def _shares(looks: Sequence[Look]) -> dict[str, float]:
    seen = Counter(request for look in looks for request in look.activity.requests)
    return {name: times / seen.total() for name, times in seen.most_common(_MOST_REQUESTS)}


# ---- The figures of one span, named as in `tuner.judge.diagnosis`


def figures_of(looks: Sequence[Look], box: Box) -> dict[str, float]:
    """Those that can be seen; shares are 0..1. At least two looks."""
    found = _of_slots(looks) | _of_queue(looks) | _of_cgroup(looks, box) | _of_processes(looks)
    cores = _cores(looks, box)
    if cores is not None and box.cpus is not None:
        found["target_cpu"] = cores / box.cpus
    first, last = looks[0].machine, looks[-1].machine
    if cores is not None and first is not None and last is not None:
        busy = (last.busy_s - first.busy_s) / _length_s(looks)
        found["foreign_cpu"] = max(0.0, busy - cores)
        found["cpu_with_services"] = busy / last.cpus
    if (waited := _waited(looks)) is not None:
        found["waited_for_cpu"] = waited
    return {name: round(value, 4) for name, value in found.items()}


def _waited(looks: Sequence[Look]) -> float | None:
    """Share of the slots' time in which they were ready to compute and had no CPU."""
    before, after = looks[0].waited_s, looks[-1].waited_s
    if before is None or after is None:
        return None
    waited_s = sum(max(0.0, after[pid] - before[pid]) for pid in before.keys() & after.keys())
    slots_s = max(1, looks[-1].activity.slots) * _length_s(looks)
    return min(1.0, waited_s / slots_s)


def _cores(looks: Sequence[Look], box: Box) -> float | None:
    """CPUs that the app kept busy: by its cgroup if that has a limit, else by its processes."""
    before, after = looks[0].usage, looks[-1].usage
    if box.has_quota and before is not None and after is not None:
        return (after.cpu_s - before.cpu_s) / _length_s(looks)
    first, last = looks[0].processes, looks[-1].processes
    if first is None or last is None:
        return None
    parts = ((first.workers, last.workers), (first.routers, last.routers))
    used = sum(new[pid] - old[pid] for old, new in parts for pid in old.keys() & new.keys())
    return (used + last.master - first.master) / _length_s(looks)


def _of_slots(looks: Sequence[Look]) -> dict[str, float]:
    """Requests under way are counted at each look: a long one is not in uWSGI's times yet."""
    activities = [look.activity for look in looks]
    found = {"busy": fmean(len(each.requests) / max(1, each.slots) for each in activities)}
    requests = _requests_in(looks)
    if requests:
        failed = activities[-1].exceptions - activities[0].exceptions
        found["app_error_rate"] = failed / requests
    return found


def _of_queue(looks: Sequence[Look]) -> dict[str, float]:
    """Dropped connections count for a queue that was in use: others listen on this host too."""
    queues = sorted(look.queue for look in looks if look.queue is not None)
    if not queues:
        return {}
    waiting = rows.percentile([float(number) for number, _ in queues], 0.95) or 0.0
    found = {"queue_p95": waiting / queues[-1][1], "queued_connections_p95": waiting}
    first, last = looks[0].overflows, looks[-1].overflows
    if first is not None and last is not None:
        found["listen_overflows"] = float(last - first) if queues[-1][0] else 0.0
    return found


def _of_cgroup(looks: Sequence[Look], box: Box) -> dict[str, float]:
    """What its limits did; those of a cgroup without limits are of other programs too."""
    before, after = looks[0].usage, looks[-1].usage
    if before is None or after is None:
        return {}
    found = {}
    if box.memory_mb is not None:
        found["memory"] = after.memory_mb / box.memory_mb
        if kills := after.oom_kills - before.oom_kills:
            found["oom_kills"] = float(kills)
    used, periods = after.cpu_s - before.cpu_s, after.periods - before.periods
    if box.has_quota and periods:
        found["throttled"] = (after.throttled_periods - before.throttled_periods) / periods
    if box.has_quota and used > 0 and None not in (before.system_cpu_s, after.system_cpu_s):
        system = (after.system_cpu_s or 0.0) - (before.system_cpu_s or 0.0)
        found["system_share"] = min(1.0, system / used)
    return found


def _of_processes(looks: Sequence[Look]) -> dict[str, float]:
    used = counters.difference(looks[0].processes, looks[-1].processes)
    if used is None:
        return {}
    wall_s, requests = _length_s(looks), _requests_in(looks)
    found = {
        "busiest_process": used["busiest_cpu_s"] / wall_s,
        "master": used["master_cpu_s"] / wall_s,
    }
    if used["router_cpu_s"] is not None:
        found["router"] = used["router_cpu_s"] / wall_s
    if requests:
        found["switches_per_request"] = used["switches"] / requests
    return found
