"""What is wrong with a job although every part of it is well formed."""

from collections.abc import Sequence

from tuner.errors import InvalidInput, Mistake
from tuner.model import ClosedLoop, JobSpec, Ladder, Metric
from tuner.search_space import derive
from tuner.uwsgi.ini import IniFile, as_int
from tuner.uwsgi.topology import Topology, front_of

UWSGI_BASE_MB = 16
"""What master and interpreter take before the app has loaded anything."""

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
    ini = IniFile.parse(text)
    if "\x00" in text:
        return [Mistake(path, "it holds a NUL character: this is not a text file")]
    if not ini.has_section:
        return [Mistake(path, "there is no [uwsgi] section: this is not a uWSGI ini file")]
    found = []
    listen = ini.get("listen")
    if listen is not None and as_int(listen) > spec.limits.somaxconn:
        message = f"listen = {listen} is above somaxconn {spec.limits.somaxconn}: uWSGI exits"
        found.append(Mistake(f"{path}.listen", message))
    processes, cheaper = ini.integer("processes", 1), ini.integer("cheaper", 0)
    if processes < 1:
        value = ini.get("processes")
        found.append(Mistake(f"{path}.processes", f"'{value}' is no number of processes above 0"))
    elif cheaper >= processes:
        message = f"cheaper = {cheaper} is not below processes = {processes}: uWSGI exits"
        found.append(Mistake(f"{path}.cheaper", message))
    return found


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
