"""From a request to a job: every default filled in, every mistake found before anything starts."""

from typing import Protocol

from tuner.errors import InvalidInput, Mistake
from tuner.model import (
    DEFAULT_COMMAND,
    ClosedLoop,
    JobRequest,
    JobSpec,
    Limits,
    Metric,
    SearchSpace,
    Target,
    TargetApp,
)
from tuner.search_space import derive
from tuner.uwsgi.ini import IniFile, as_int

UWSGI_BASE_MB = 16
"""What master and interpreter take before the app has loaded anything."""

DEFAULT_MEMORY_PER_PROCESS_MB = 32
DEFAULT_INI = """\
[uwsgi]
http-socket = :{port}
master = true
need-app = true
"""


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


def resolve(request: JobRequest, catalog: Catalog) -> JobSpec:
    """The job that a request asks for. Raises `InvalidInput` with everything that is wrong."""
    mistakes: list[Mistake] = []
    described = _described(request, catalog, mistakes)
    space = _space(request, catalog, mistakes)
    target = _target(request, described)
    baseline = request.baseline_ini
    if baseline is None:
        baseline = described.baseline_ini if described else DEFAULT_INI.format(port=target.port)
    spec = JobSpec(
        app=request.app,
        target=target,
        baseline_ini=baseline,
        limits=request.limits or (described.app.limits if described else Limits()),
        workload=request.workload or (described.app.workload if described else ClosedLoop()),
        objective=request.objective,
        slo=request.slo,
        search_space=space or SearchSpace.model_construct(parameters={}),
        budget=request.budget.resolve(),
        min_effect=request.min_effect,
        pool=request.pool,
        seed=request.seed,
    )
    mistakes += _mistakes_of_ini(spec, given=request.baseline_ini is not None)
    mistakes += _mistakes_of_box(spec)
    mistakes += _mistakes_of_objective(spec)
    if space is not None:
        mistakes += _mistakes_of_space(spec)
    if mistakes:
        raise InvalidInput(mistakes)
    return spec


def _described(
    request: JobRequest, catalog: Catalog, mistakes: list[Mistake]
) -> CataloguedApp | None:
    name = request.target.target_app
    if name is None:
        if request.baseline_ini is None:
            hint = "an image brings no file of its own that we know: give the present uwsgi.ini"
            mistakes.append(Mistake("baseline_ini", hint))
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


def _target(request: JobRequest, described: CataloguedApp | None) -> Target:
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


def _mistakes_of_ini(spec: JobSpec, *, given: bool) -> list[Mistake]:
    """What would keep uWSGI from starting on this file in this box, as far as text can tell."""
    path = "baseline_ini" if given else "target.uwsgi_ini"
    ini = IniFile.parse(spec.baseline_ini)
    if "\x00" in spec.baseline_ini:
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
    latency = spec.objective.metric in (
        Metric.LATENCY_P50_MS,
        Metric.LATENCY_P95_MS,
        Metric.LATENCY_P99_MS,
    )
    if latency and isinstance(spec.workload, ClosedLoop):
        message = (
            "latency is ranked at a fixed rate only: a closed loop sends less to a slower server. "
            "Give an open_loop workload"
        )
        return [Mistake("objective.minimize", message)]
    return []


def _mistakes_of_space(spec: JobSpec) -> list[Mistake]:
    try:
        derive(spec)
    except InvalidInput as error:
        return list(error.mistakes)
    return []
