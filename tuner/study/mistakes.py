"""Mistakes of a job whose parts are all well formed."""

from collections.abc import Sequence

from tuner.judge import grids
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import (
    Burst,
    ClosedLoop,
    JobKind,
    JobSpec,
    Journey,
    Ladder,
    Limits,
    Metric,
    Paths,
)
from tuner.targets.search_space import derive
from tuner.uwsgi.lint import RULES, Box, lint, subject_of
from tuner.uwsgi.options import known

UWSGI_BASE_MB = 16
"""Memory of master and interpreter before the app is loaded."""

_FATAL_NAMES = frozenset(
    {
        *("binary", "too-large", "other-format", "byte-order-mark", "no-uwsgi-section"),
        *("include-cycle", "unclosed-block", "nested-block", "include-refused"),
        *("wrong-placeholder", "endless-reference", "listen-above-somaxconn", "no-workers"),
        *("cheaper-not-below-processes", "cheaper-rss-without-report", "lifetime-too-short"),
        *("chmod-socket-invalid", "unknown-lock-engine", "unknown-environ-strategy"),
        "static-map-without-folder",
    }
)
"""Rules whose findings stop a job: uWSGI reads nothing, does not start, or starts no workers.

With the other errors the file still runs. Paths of includes are not checked: they lie in the image.
"""
_FATAL = tuple(rule for rule in RULES if rule.name in _FATAL_NAMES)

_LATENCIES = (Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.LATENCY_P99_MS)


def mistakes_in(spec: JobSpec, files: Sequence[tuple[str, str | None]]) -> list[Mistake]:
    """Everything in the text of a job that would make it fail.

    `files` are pairs: the path of the field in the request, and the ini in it; None: an arm that
    is another server.
    """
    in_boxes = zip(files, spec.boxes, strict=False)  # no files: the only one is in the image
    return [
        *(
            wrong
            for (path, ini), box in in_boxes
            if ini is not None
            for wrong in _of_ini(ini, path, box)
        ),
        *_of_boxes(spec),
        *_of_grid(spec),
        *_of_objective(spec),
        *_of_load(spec),
        *(_of_space(spec) if spec.search_space is not None and not spec.awaits_file else ()),
    ]


def _of_ini(text: str, path: str, box: Limits) -> list[Mistake]:
    """What in the text of this file would stop uWSGI from starting in this box."""
    subject = subject_of(text, known(), Box(somaxconn=box.somaxconn))
    if subject.ini.has_section and not subject.entries:
        return []  # an empty section is enough: the command may say it all
    return [
        Mistake(path if found.line is None else f"{path}:{found.line}", found.message)
        for found in lint(subject, _FATAL)
    ]


def _of_boxes(spec: JobSpec) -> list[Mistake]:
    needed = UWSGI_BASE_MB + spec.target.memory_per_process_mb
    message = f"too small: uWSGI and one process need about {needed} MB"
    places = {
        "limits" if box == spec.limits else f"arms.{number}.limits": box
        for number, box in enumerate(spec.boxes)
    }
    small = [place for place, box in places.items() if box.memory_mb < needed]
    found = [Mistake(f"{place}.memory_mb", message) for place in small]
    if spec.target.command and not spec.target.is_uwsgi:
        message = "one word must contain {ini}; otherwise uWSGI does not read the trial's file"
        found.append(Mistake("target.command", message))
    return found


def _of_grid(spec: JobSpec) -> list[Mistake]:
    same = grids.repeated(spec) if spec.vary else None
    return [] if same is None else [Mistake("vary", f"has the same values in {same}")]


def _of_objective(spec: JobSpec) -> list[Mistake]:
    if not isinstance(spec.workload, ClosedLoop | Ladder | Paths):
        return []
    message = (
        "a closed loop sends less to a slower server, so it cannot rank latency. "
        "Use an open_loop, burst or journey workload"
    )
    paths = ["objective", *(f"objective.also.{n}" for n in range(len(spec.objective.also)))]
    return [
        Mistake(f"{path}.minimize", message)
        for path, aim in zip(paths, spec.objective.aims, strict=True)
        if aim.metric in _LATENCIES
    ]


def _of_load(spec: JobSpec) -> list[Mistake]:
    found = []
    if isinstance(spec.workload, Paths) and spec.kind is not JobKind.COMPARE:
        message = "paths are for comparisons: give these requests to a closed_loop"
        found.append(Mistake("workload.kind", message))
    if isinstance(spec.workload, Burst | Journey):
        message = "each user of this load has connections of its own: leave it out"
        found += [
            Mistake(f"arms.{number}.keep_alive", message)
            for number, arm in enumerate(spec.variants)
            if arm.keep_alive is not None
        ]
    return found


def _of_space(spec: JobSpec) -> list[Mistake]:
    try:
        derive(spec)
    except InvalidInput as error:
        return list(error.mistakes)
    return []
