"""What is wrong with a job although every part of it is well formed."""

from collections.abc import Sequence

from tuner.errors import InvalidInput, Mistake
from tuner.model import ClosedLoop, JobSpec, Ladder, Metric
from tuner.search_space import derive
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.lint import RULES, Box, lint, subject_of
from tuner.uwsgi.options import known
from tuner.uwsgi.topology import Topology, front_of

UWSGI_BASE_MB = 16
"""What master and interpreter take before the app has loaded anything."""

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
"""Rules about files with which uWSGI reads nothing, does not start, or starts without workers.

The other errors are findings: with them the file runs today, if not as it is meant. Where an
include leads is none here: in a job that is a place in the image.
"""
_FATAL = tuple(rule for rule in RULES if rule.name in _FATAL_NAMES)

_LATENCIES = (Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.LATENCY_P99_MS)


def mistakes_in(spec: JobSpec, files: Sequence[tuple[str, str]]) -> list[Mistake]:
    """Everything that would keep the job from being done, as far as its text can tell.

    `files` are the inis that it will run, each behind the path of its field in the request.
    """
    return [
        *(mistake for path, ini in files for mistake in _of_ini(spec, ini, path)),
        *_of_box(spec),
        *_of_objective(spec),
        *_of_workload(spec, [ini for _, ini in files]),
        *(_of_space(spec) if spec.search_space is not None else ()),
    ]


def _of_ini(spec: JobSpec, text: str, path: str) -> list[Mistake]:
    """What would keep uWSGI from starting on this file in this box, as far as text can tell."""
    subject = subject_of(text, known(), Box(somaxconn=spec.limits.somaxconn))
    if subject.ini.has_section and not subject.entries:
        return []  # an empty section is enough: the command may say it all
    return [
        Mistake(path if found.line is None else f"{path}:{found.line}", found.message)
        for found in lint(subject, _FATAL)
    ]


def _of_box(spec: JobSpec) -> list[Mistake]:
    found = []
    needed = UWSGI_BASE_MB + spec.target.memory_per_process_mb
    if spec.limits.memory_mb < needed:
        message = f"too small for one process: uWSGI and one process take about {needed} MB"
        found.append(Mistake("limits.memory_mb", message))
    if spec.target.command and not any("{ini}" in word for word in spec.target.command):
        message = "one word must hold {ini}, or the trial's file would not be read"
        found.append(Mistake("target.command", message))
    return found


def _of_objective(spec: JobSpec) -> list[Mistake]:
    if not isinstance(spec.workload, ClosedLoop | Ladder):
        return []
    message = (
        "latency is ranked at a fixed rate or over whole users only: a closed loop sends less "
        "to a slower server. Give an open_loop, burst or journey workload"
    )
    paths = ["objective", *(f"objective.also.{n}" for n in range(len(spec.objective.also)))]
    return [
        Mistake(f"{path}.minimize", message)
        for path, aim in zip(paths, spec.objective.aims, strict=True)
        if aim.metric in _LATENCIES
    ]


def _of_workload(spec: JobSpec, inis: Sequence[str]) -> list[Mistake]:
    """What the way to uWSGI cannot carry, as far as text can tell; the rest is tried out."""
    if not getattr(spec.workload, "keep_alive", False):
        return []
    fronts = [(ini, front_of(ini, spec.target.port)) for ini in map(IniFile.parse, inis)]
    if any(
        front.topology is Topology.HTTP_SOCKET and ini.get("http-socket") for ini, front in fronts
    ):
        message = (
            "http-socket closes the connection after every answer: leave it false, or serve with "
            "http11-socket, http or nginx"
        )
        return [Mistake("workload.keep_alive", message)]
    return []


def _of_space(spec: JobSpec) -> list[Mistake]:
    try:
        derive(spec)
    except InvalidInput as error:
        return list(error.mistakes)
    return []
