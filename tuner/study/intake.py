"""From a request to a job: every default filled in, every mistake found before anything starts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

from tuner.errors import InvalidInput, Mistake
from tuner.model import (
    DEFAULT_COMMAND,
    Budget,
    Burst,
    CalibrationRequest,
    ClosedLoop,
    JobKind,
    JobRequest,
    JobSpec,
    Ladder,
    Limits,
    MeasurementRequest,
    Metric,
    Objective,
    OpenLoop,
    Request,
    SearchSpace,
    Slo,
    Target,
    TargetApp,
    Variant,
    Workload,
)
from tuner.search_space import derive
from tuner.uwsgi.ini import IniFile, as_int
from tuner.uwsgi.topology import Topology, front_of

UWSGI_BASE_MB = 16
"""What master and interpreter take before the app has loaded anything."""

DEFAULT_MEMORY_PER_PROCESS_MB = 32
DEFAULT_INI = """\
[uwsgi]
http-socket = :{port}
master = true
need-app = true
"""


OWN_FILE = "uwsgi.ini"
"""What a target's own file is called where it is the only one that is measured."""

_LATENCIES = (Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.LATENCY_P99_MS)


class CataloguedApp(Protocol):
    """A target app as it lies in its folder."""

    @property
    def app(self) -> TargetApp:
        """Its target.yaml."""

    @property
    def baseline_ini(self) -> str:
        """The text of its own uwsgi.ini."""


class Catalog(Protocol):
    """What is there to be named in a request."""

    def app(self, name: str) -> CataloguedApp | None:
        """The target app of that name."""

    def space(self, name: str) -> SearchSpace | None:
        """The search space of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aim:
    """What only requests of one kind say. `files` are the inis to run, each with its path."""

    kind: JobKind
    app: str
    files: Sequence[tuple[str, Variant]]
    budget: Budget
    objective: Objective
    slo: Slo
    space: SearchSpace | None = None


def resolve(request: Request, catalog: Catalog) -> JobSpec:
    """The job that a request asks for. Raises `InvalidInput` with everything that is wrong."""
    mistakes: list[Mistake] = []
    described = _described(request, catalog, mistakes)
    target = _target(request, described)
    own = Variant(name=OWN_FILE, ini=_own_ini(target, described))
    workload = request.workload or (described.app.workload if described else ClosedLoop())
    match request:
        case JobRequest():
            aim = _tuning(request, own, catalog, mistakes)
        case MeasurementRequest():
            aim = _comparing(request, own, workload)
        case CalibrationRequest():
            aim = _calibrating(request, own)
        case _:
            assert_never(request)
    variants = tuple(variant for _, variant in aim.files)
    spec = JobSpec(
        kind=aim.kind,
        variants=variants if aim.kind is JobKind.COMPARE else (),
        app=aim.app,
        target=target,
        baseline_ini=variants[0].ini,
        limits=request.limits or (described.app.limits if described else Limits()),
        workload=workload,
        objective=aim.objective,
        slo=aim.slo,
        search_space=aim.space,
        budget=aim.budget,
        min_effect=request.min_effect,
        pool=request.pool,
        seed=request.seed,
    )
    for path, variant in aim.files:
        mistakes += _mistakes_of_ini(spec, variant.ini, path)
    mistakes += _mistakes_of_box(spec)
    mistakes += _mistakes_of_objective(spec)
    mistakes += _mistakes_of_workload(spec, [variant.ini for variant in variants])
    if aim.space is not None:
        mistakes += _mistakes_of_space(spec)
    if mistakes:
        raise InvalidInput(mistakes)
    return spec


def _tuning(request: JobRequest, own: Variant, catalog: Catalog, mistakes: list[Mistake]) -> _Aim:
    space = _space(request, catalog, mistakes)
    return _Aim(
        kind=JobKind.TUNE,
        app=request.app,
        files=[_baseline(request.baseline_ini, own)],
        budget=request.budget.resolve(),
        objective=request.objective,
        slo=request.slo,
        space=space,
    )


def _comparing(request: MeasurementRequest, own: Variant, workload: Workload) -> _Aim:
    """Files are judged by latency where load comes at a rate or all at once, else by throughput."""
    given = [(f"inis.{index}.ini", variant) for index, variant in enumerate(request.inis)]
    by_latency = isinstance(workload, OpenLoop | Burst)
    return _Aim(
        kind=JobKind.COMPARE,
        app=request.app or _app_of(request),
        files=given or [("target.uwsgi_ini", own)],
        budget=Budget(
            trials=0,
            confirm_blocks=0,
            compare_blocks=request.blocks,
            cycles=request.cycles,
            window_s=request.window_s,
            warmup_s=request.warmup_s,
        ),
        objective=Objective(minimize=Metric.LATENCY_P95_MS)
        if by_latency
        else Objective(maximize=Metric.THROUGHPUT_RPS),
        slo=Slo(),
    )


def _calibrating(request: CalibrationRequest, own: Variant) -> _Aim:
    """What it will be able to see is said for a comparison of as many blocks."""
    return _Aim(
        kind=JobKind.CALIBRATE,
        app=_app_of(request),
        files=[_baseline(request.baseline_ini, own)],
        budget=Budget(
            trials=0,
            calibrate_blocks=request.blocks,
            confirm_blocks=request.blocks,
            cycles=request.cycles,
            window_s=request.window_s,
            warmup_s=request.warmup_s,
        ),
        objective=Objective(maximize=Metric.THROUGHPUT_RPS),
        slo=Slo(),
    )


def _baseline(given: str | None, own: Variant) -> tuple[str, Variant]:
    if given is None:
        return "target.uwsgi_ini", own
    return "baseline_ini", Variant(name=OWN_FILE, ini=given)


def _app_of(request: MeasurementRequest | CalibrationRequest) -> str:
    """The target's own name: of `registry.example/shop/Cart:1.4` it is `cart`."""
    if request.target.target_app is not None:
        return request.target.target_app
    last = (request.target.image or "").rpartition("/")[2]
    name = re.split("[:@]", last)[0].lower()
    return re.sub(r"[^a-z0-9._-]", "-", name).lstrip("._-")[:63] or "unnamed"


def _own_ini(target: Target, described: CataloguedApp | None) -> str:
    return described.baseline_ini if described else DEFAULT_INI.format(port=target.port)


def _described(request: Request, catalog: Catalog, mistakes: list[Mistake]) -> CataloguedApp | None:
    name = request.target.target_app
    if name is None:
        field = "inis" if isinstance(request, MeasurementRequest) else "baseline_ini"
        if not getattr(request, field):
            hint = "an image brings no file of its own that we know: give the present uwsgi.ini"
            mistakes.append(Mistake(field, hint))
        return None
    found = catalog.app(name)
    if found is None:
        mistakes.append(Mistake("target.target_app", f"unknown target app '{name}'"))
    return found


def _space(request: JobRequest, catalog: Catalog, mistakes: list[Mistake]) -> SearchSpace | None:
    if isinstance(request.search_space, SearchSpace):
        return request.search_space
    found = catalog.space(request.search_space)
    if found is None:
        mistakes.append(Mistake("search_space", f"unknown search space '{request.search_space}'"))
    return found


def _target(request: Request, described: CataloguedApp | None) -> Target:
    if described is not None:
        app = described.app
        return Target(
            target_app=app.name if app.build is not None else None,
            image=app.image,
            port=app.port,
            health_path=app.health_path,
            command=app.command,
            thread_safe=app.thread_safe,
            memory_per_process_mb=app.memory_per_process_mb,
        )
    asked = request.target
    return Target(
        target_app=asked.target_app,
        image=asked.image,
        port=asked.port,
        health_path=asked.health_path,
        command=asked.command or DEFAULT_COMMAND,
        thread_safe=asked.thread_safe,
        memory_per_process_mb=DEFAULT_MEMORY_PER_PROCESS_MB,
    )


def _mistakes_of_ini(spec: JobSpec, text: str, path: str) -> list[Mistake]:
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


def _mistakes_of_box(spec: JobSpec) -> list[Mistake]:
    found = []
    needed = UWSGI_BASE_MB + spec.target.memory_per_process_mb
    if spec.limits.memory_mb < needed:
        message = f"too small for one process: uWSGI and one process take about {needed} MB"
        found.append(Mistake("limits.memory_mb", message))
    if spec.target.command and not any("{ini}" in word for word in spec.target.command):
        message = "one word must hold {ini}, or the trial's file would not be read"
        found.append(Mistake("target.command", message))
    return found


def _mistakes_of_objective(spec: JobSpec) -> list[Mistake]:
    closed = isinstance(spec.workload, ClosedLoop | Ladder)
    if spec.objective.metric in _LATENCIES and closed:
        message = (
            "latency is ranked at a fixed rate or over whole users only: a closed loop sends less "
            "to a slower server. Give an open_loop, burst or journey workload"
        )
        return [Mistake("objective.minimize", message)]
    return []


def _mistakes_of_workload(spec: JobSpec, inis: Sequence[str]) -> list[Mistake]:
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


def _mistakes_of_space(spec: JobSpec) -> list[Mistake]:
    try:
        derive(spec)
    except InvalidInput as error:
        return list(error.mistakes)
    return []
