"""From a request to a job: fills in every default and finds every mistake before the start."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

from tuner import objective
from tuner.errors import InvalidInput, Mistake
from tuner.model import (
    DEFAULT_COMMAND,
    Budget,
    Burst,
    CalibrateRequest,
    ClosedLoop,
    CompareRequest,
    JobKind,
    JobSpec,
    Limits,
    Metric,
    Objective,
    OpenLoop,
    Params,
    RelativeBound,
    Request,
    SamplerName,
    Scalar,
    SearchSpace,
    Slo,
    Target,
    TargetApp,
    TuneRequest,
    Variant,
    Workload,
)
from tuner.study.mistakes import mistakes_in

DEFAULT_MEMORY_PER_PROCESS_MB = 32
DEFAULT_INI = """\
[uwsgi]
http-socket = :{port}
master = true
need-app = true
"""


OWN_FILE = "uwsgi.ini"
"""The name of a target's own file if no other file is measured."""


class KnownApp(Protocol):
    """A target app as it lies in its folder."""

    @property
    def app(self) -> TargetApp:
        """Its target.yaml."""

    @property
    def baseline_ini(self) -> str:
        """The text of its own uwsgi.ini."""


class KnownTargets(Protocol):
    """The apps and spaces that a request can name."""

    def app(self, name: str) -> KnownApp | None:
        """The target app of that name."""

    def space(self, name: str) -> SearchSpace | None:
        """The search space of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Aim:
    """The part of a job that depends on its kind. `files` are the inis to run, with their paths."""

    kind: JobKind
    app: str
    files: Sequence[tuple[str, Variant]]
    budget: Budget
    objective: Objective
    slo: Slo
    space: SearchSpace | None = None
    sampler: SamplerName = SamplerName.TPE
    seeds: tuple[dict[str, Scalar], ...] = ()


def _nothing(app: str) -> Sequence[Params]:
    """No earlier jobs."""
    return ()


def resolve(
    request: Request, catalogue: KnownTargets, earlier: Callable[[str], Sequence[Params]] = _nothing
) -> JobSpec:
    """The job of a request. Raises `InvalidInput` with every mistake.

    `earlier` gives what earlier jobs of an app recommended, for requests with a warm start.
    """
    mistakes: list[Mistake] = []
    described = _described(request, catalogue, mistakes)
    target = _target(request, described)
    own = Variant(name=OWN_FILE, ini=_own_ini(target, described))
    workload = request.workload or (described.app.workload if described else ClosedLoop())
    match request:
        case TuneRequest():
            aim = _tuning(request, own, catalogue, earlier, mistakes)
        case CompareRequest():
            aim = _comparing(request, own, workload)
        case CalibrateRequest():
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
        sampler=aim.sampler,
        seeds=aim.seeds,
        budget=aim.budget,
        min_effect=request.min_effect,
        allow=tuple(dict.fromkeys(request.allow)),
        pool=request.pool,
        seed=request.seed,
    )
    mistakes += mistakes_in(spec, [(path, variant.ini) for path, variant in aim.files])
    if mistakes:
        raise InvalidInput(mistakes)
    return spec


def _tuning(
    request: TuneRequest,
    own: Variant,
    catalogue: KnownTargets,
    earlier: Callable[[str], Sequence[Params]],
    mistakes: list[Mistake],
) -> _Aim:
    space = _space(request, catalogue, mistakes)
    wanted = earlier(request.app) if request.warm_start else ()
    return _Aim(
        kind=JobKind.TUNE,
        app=request.app,
        files=[_baseline(request.baseline_ini, own)],
        budget=request.budget.resolve(),
        objective=request.objective,
        slo=_slo(request),
        space=space,
        sampler=request.sampler,
        seeds=_seeds(wanted, space) if space is not None else (),
    )


def _slo(request: TuneRequest) -> Slo:
    """The request's SLO. When minimising memory or CPU, throughput gets a bound if it has none."""
    if not objective.is_thrifty(request.objective) or request.slo.throughput_rps is not None:
        return request.slo
    at_least = RelativeBound(relative_to_baseline=objective.THROUGHPUT_KEPT)
    return request.slo.model_copy(update={"throughput_rps": at_least})


def _seeds(wanted: Sequence[Params], space: SearchSpace) -> tuple[dict[str, Scalar], ...]:
    """The earlier params, each once, without names that the space does not have."""
    found: list[dict[str, Scalar]] = []
    for params in wanted:
        known = {name: value for name, value in params.items() if name in space.parameters}
        if known and known not in found:
            found.append(known)
    return tuple(found)


def _comparing(request: CompareRequest, own: Variant, workload: Workload) -> _Aim:
    """Compares by latency if the load is an open loop or a burst, else by throughput."""
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


def _calibrating(request: CalibrateRequest, own: Variant) -> _Aim:
    """The smallest detectable effect is that of a comparison with as many blocks."""
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


def _app_of(request: CompareRequest | CalibrateRequest) -> str:
    """The target's own name: of `registry.example/shop/Cart:1.4` it is `cart`."""
    if request.target.target_app is not None:
        return request.target.target_app
    last = (request.target.image or "").rpartition("/")[2]
    name = re.split("[:@]", last)[0].lower()
    return re.sub(r"[^a-z0-9._-]", "-", name).lstrip("._-")[:63] or "unnamed"


def _own_ini(target: Target, described: KnownApp | None) -> str:
    return described.baseline_ini if described else DEFAULT_INI.format(port=target.port)


def _described(
    request: Request, catalogue: KnownTargets, mistakes: list[Mistake]
) -> KnownApp | None:
    name = request.target.target_app
    if name is None:
        field = "inis" if isinstance(request, CompareRequest) else "baseline_ini"
        if not getattr(request, field):
            hint = "an image has no uwsgi.ini of its own: give the present uwsgi.ini"
            mistakes.append(Mistake(field, hint))
        return None
    found = catalogue.app(name)
    if found is None:
        mistakes.append(Mistake("target.target_app", f"unknown target app '{name}'"))
    return found


def _space(
    request: TuneRequest, catalogue: KnownTargets, mistakes: list[Mistake]
) -> SearchSpace | None:
    if isinstance(request.search_space, SearchSpace):
        return request.search_space
    found = catalogue.space(request.search_space)
    if found is None:
        mistakes.append(Mistake("search_space", f"unknown search space '{request.search_space}'"))
    return found


def _target(request: Request, described: KnownApp | None) -> Target:
    if described is not None:
        app = described.app
        return Target(
            target_app=app.name if app.build is not None else None,
            image=app.image,
            port=app.port,
            health_path=app.health_path,
            command=app.command,
            thread_safe=app.thread_safe,
            gevent_ok=app.gevent_ok,
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
        gevent_ok=asked.gevent_ok,
        memory_per_process_mb=DEFAULT_MEMORY_PER_PROCESS_MB,
    )
