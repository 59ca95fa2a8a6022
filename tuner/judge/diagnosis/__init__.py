"""Counters to the bottleneck: what limits the target under this workload, with the figures.

sentences  class and figures → what to do
└── rules      windows → figures → class, also for the services beside the app
hints      what to change in an app that does not work
"""

from collections.abc import Mapping, Sequence

from tuner.judge.diagnosis.rules import Seen, classify, figures_of, services_of
from tuner.judge.diagnosis.sentences import CPU_UNSEEN, sentence_of
from tuner.nouns.model import (
    Bottleneck,
    Burst,
    ClosedLoop,
    Diagnosis,
    History,
    JobKind,
    JobSpec,
    Journey,
    Ladder,
    Limits,
    Paths,
    ServiceFigures,
    TrialNumber,
    Window,
    connections,
    counted,
    wants_kept,
)
from tuner.targets.search_space import derive
from tuner.uwsgi.ini import IniFile

__all__ = ["burst_limit_s", "diagnose", "of_file", "of_production", "of_trial", "services_of"]


def diagnose(
    windows: Sequence[Window],
    limits: Limits,
    *,
    processes: int = 1,
    threads: int = 1,
    connections: int | None = None,
    limit_s: float | None = None,
    wants_kept: bool = False,
    is_uwsgi: bool = True,
) -> Diagnosis:
    """The bottleneck of one configuration from its windows (medians over them).

    `connections` is the number that a closed loop keeps open; None under open load. `limit_s` is
    the time limit of a whole burst. `wants_kept`: the client wants to keep its connections. Of
    another server than uWSGI only what cgroup, kernel and client say counts.
    """
    services = services_of(windows)
    refusals = (window.surroundings.refusal for window in windows)
    seen = Seen(
        evidence=figures_of(windows, limits, services),
        cpus=limits.cpus,
        processes=processes,
        threads=threads,
        connections=connections,
        limit_s=limit_s,
        services=services,
        refusal=next(filter(None, refusals), None),
        wants_kept=wants_kept,
        is_uwsgi=is_uwsgi,
    )
    bottleneck = classify(seen)
    return Diagnosis(
        bottleneck=bottleneck, sentence=sentence_of(bottleneck, seen), evidence=seen.evidence
    )


def of_production(
    figures: Mapping[str, float],
    *,
    cpus: float | None,
    processes: int,
    threads: int,
    services: Mapping[str, ServiceFigures],
) -> Diagnosis:
    """The bottleneck of a uWSGI under the load of its users, from figures named as in `WATCHED`.

    `services` are programs that use the same CPUs. Without `target_cpu` nobody knows whether a busy
    slot waits or computes: a class that needs to know is `unknown` then.
    """
    seen = Seen(
        evidence=figures,
        cpus=cpus or 1.0,
        processes=processes,
        threads=threads,
        connections=None,
        services=services,
    )
    bottleneck = classify(seen)
    if bottleneck in _OF_UNUSED_CPU and "target_cpu" not in figures:
        return Diagnosis(bottleneck=Bottleneck.UNKNOWN, sentence=CPU_UNSEEN, evidence=figures)
    sentence = sentence_of(bottleneck, seen)
    return Diagnosis(bottleneck=bottleneck, sentence=sentence, evidence=figures)


_OF_UNUSED_CPU = frozenset({Bottleneck.IO_WAIT, Bottleneck.BACKLOG})


def of_arm(windows: Sequence[Window], spec: JobSpec, number: TrialNumber) -> Diagnosis:
    """The bottleneck of one arm of a comparison, from that arm's windows."""
    own = {"workload": spec.workloads[number], "limits": spec.boxes[number]}
    return of_file(windows, spec.model_copy(update=own), spec.variants[number].ini)


def of_file(windows: Sequence[Window], spec: JobSpec, ini: str | None) -> Diagnosis:
    """The bottleneck of the file `ini` in the job's box and load, from that file's windows.

    Without an ini it is another server. The top rung of a ladder counts. Void windows count only
    where there are no others.
    """
    workload = spec.workload
    closed = isinstance(workload, ClosedLoop | Ladder | Paths | Journey)
    chosen = counted(windows) or windows
    if isinstance(workload, Ladder):
        top = max((window.connections for window in chosen), default=0)
        chosen = [window for window in chosen if window.connections == top]
    file = IniFile.parse(ini or "")
    return diagnose(
        chosen,
        spec.limits,
        processes=file.integer("processes", 1),
        threads=file.integer("threads", 1),
        connections=connections(workload) if closed else None,
        limit_s=burst_limit_s(workload) if isinstance(workload, Burst) else None,
        wants_kept=wants_kept(workload),
        is_uwsgi=ini is not None,
    )


def burst_limit_s(burst: Burst) -> float:
    """The time limit of a whole burst: a user waits once for each of the requests, in turn."""
    return burst.limit_s * len(burst.requests)


def of_trial(history: History, number: TrialNumber) -> Diagnosis:
    """The bottleneck of one trial, from all its windows so far.

    Raises `StopIteration` where there is no such trial.
    """
    windows = [window for block in history.measurements for window in block.windows_of(number)]
    spec = history.job.spec
    if spec.kind is JobKind.COMPARE:
        return of_arm(windows, spec, number)
    ini = derive(spec, history.memory_line).render(history.trial(number).params)
    return of_file(windows, spec, ini)
