"""From a request to a job: fills in every default and finds every mistake before the start."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tuner.judge import objective
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import (
    Budget,
    Burst,
    CalibrateRequest,
    ClosedLoop,
    CompareRequest,
    ImageName,
    JobKind,
    JobSpec,
    Limits,
    Metric,
    Objective,
    OpenLoop,
    Params,
    RelativeBound,
    Request,
    Scalar,
    SearchSpace,
    TuneRequest,
    Variant,
    Workload,
)
from tuner.study import targets
from tuner.study.mistakes import mistakes_in
from tuner.study.targets import KnownApp, KnownTargets
from tuner.uwsgi import command_line
from tuner.uwsgi.options import known

DEFAULT_INI = """\
[uwsgi]
http-socket = :{port}
master = true
need-app = true
"""


EMPTY_INI = "[uwsgi]\n"
OWN_FILE = "uwsgi.ini"
"""The name of a target's own file if no other file is measured."""


def resolve(
    request: Request,
    catalogue: KnownTargets,
    earlier: Callable[[str], Sequence[Params]] = lambda app: (),
    images_allowed: Sequence[str] = (),
) -> JobSpec:
    """The job of a request. Raises `InvalidInput` with every mistake.

    `earlier` gives what earlier jobs of an app recommended, for requests with a warm start.
    `images_allowed` are globs of registry/repository; without any, each image may run.
    """
    mistakes: list[Mistake] = []
    described = targets.described(request, catalogue, mistakes)
    target = targets.asked(request, described)
    default_ini = DEFAULT_INI.format(port=target.port)
    own_ini = described.baseline_ini if described else default_ini
    box = request.limits or (described.app.limits if described else Limits())
    others = targets.others(request, catalogue, mistakes)
    files = _files(request, own_ini, others, mistakes)
    workload = request.workload or (described.app.workload if described else ClosedLoop())
    spec = JobSpec(
        kind=JobKind(request.kind),
        **_compared(request, tuple(files.values()), box),
        app=_app_of(request),
        target=target,
        others={name: targets.of_app(app) for name, app in others.items()},
        baseline_ini=next(iter(files.values())).ini or "",
        in_image=targets.in_image(request),
        limits=next(iter(files.values())).limits or box,
        workload=workload,
        objective=_objective(request, workload),
        budget=_budget(request),
        min_effect=request.min_effect,
        allow=tuple(dict.fromkeys(request.allow)),
        pool=request.pool,
        priority=request.priority,
        seed=request.seed,
    )
    if isinstance(request, TuneRequest):
        spec = _searching(spec, request, _space(request, catalogue, mistakes), earlier)
    texts = [] if targets.in_image(request) else [(path, each.ini) for path, each in files.items()]
    mistakes += [*targets.not_allowed(spec, images_allowed), *_two_starts(request)]
    mistakes += mistakes_in(spec, texts)
    if mistakes:
        raise InvalidInput(mistakes)
    return spec


def _searching(
    spec: JobSpec,
    request: TuneRequest,
    space: SearchSpace | None,
    earlier: Callable[[str], Sequence[Params]],
) -> JobSpec:
    """The job with what it searches.

    When minimising memory or CPU, throughput gets a bound of the tuner's own if it has none.
    """
    wanted = earlier(spec.app) if request.warm_start and space is not None else ()
    slo = request.slo
    own_bounds: tuple[Metric, ...] = ()
    if objective.is_thrifty(request.objective) and slo.throughput_rps is None:
        at_least = RelativeBound(relative_to_baseline=objective.THROUGHPUT_KEPT)
        slo = slo.model_copy(update={"throughput_rps": at_least})
        own_bounds = (Metric.THROUGHPUT_RPS,)
    return spec.model_copy(
        update={
            "slo": slo,
            "own_bounds": own_bounds,
            "search_space": space,
            "max_slots": request.max_slots,
            "min_processes": request.min_processes,
            "skip": request.skip,
            "accept": request.accept,
            "sampler": request.sampler,
            "seeds": _seeds(wanted, space) if space is not None else (),
        }
    )


def _seeds(wanted: Sequence[Params], space: SearchSpace) -> tuple[dict[str, Scalar], ...]:
    """The earlier params, each once, without names that the space does not have."""
    found: list[dict[str, Scalar]] = []
    for params in wanted:
        known = {name: value for name, value in params.items() if name in space.parameters}
        if known and known not in found:
            found.append(known)
    return tuple(found)


def _files(
    request: Request, own_ini: str, others: Mapping[str, KnownApp], mistakes: list[Mistake]
) -> Mapping[str, Variant]:
    """The files to run, by their paths in the request; the first one is the baseline."""
    if isinstance(request, CompareRequest):
        given = {
            f"arms.{index}.ini": _with_own_file(arm, others.get(arm.target_app or ""))
            for index, arm in enumerate(request.arms)
        }
    elif request.baseline is not None and request.baseline.command is not None:
        ini = _file_of(request.baseline.command, mistakes)
        given = {"baseline.command": Variant(name=OWN_FILE, ini=ini)}
    elif request.baseline is not None:
        given = {"baseline.ini": Variant(name=OWN_FILE, ini=request.baseline.ini or "")}
    else:
        given = {}
    return given or {"target.uwsgi_ini": Variant(name=OWN_FILE, ini=own_ini)}


def _with_own_file(arm: Variant, app: KnownApp | None) -> Variant:
    """The arm with the file of its target app, if it gives neither a file nor a command."""
    if app is None or arm.ini is not None or arm.command is not None:
        return arm
    return arm.model_copy(update={"ini": app.baseline_ini})


def _compared(request: Request, files: Sequence[Variant], box: Limits) -> dict[str, Any]:
    """What a comparison asks of its files, each in a box."""
    if not isinstance(request, CompareRequest):
        return {}
    boxed = (file.model_copy(update={"limits": file.limits or box}) for file in files)
    return {
        "variants": tuple(boxed),
        "compare_with": request.compare_with,
        "vary": request.vary,
    }


def _two_starts(request: Request) -> Iterator[Mistake]:
    path, target = targets.in_image(request), request.target
    if path is not None and (target.command or target.ini_path not in (None, path)):
        message = "the image's own command runs with this file: leave target.command"
        yield Mistake("baseline.in_image", f"{message} and target.ini_path out")


def _file_of(command: str, mistakes: list[Mistake]) -> str:
    try:
        return command_line.ini_of(command, known())
    except InvalidInput as error:
        mistakes += [Mistake("baseline.command", own.message) for own in error.mistakes]
        return EMPTY_INI


def _objective(request: Request, workload: Workload) -> Objective:
    """A comparison ranks by latency if the load is an open loop or a burst, else by throughput."""
    if isinstance(request, TuneRequest):
        return request.objective
    if isinstance(request, CompareRequest) and isinstance(workload, OpenLoop | Burst):
        return Objective(minimize=Metric.LATENCY_P95_MS)
    return Objective(maximize=Metric.THROUGHPUT_RPS)


def _budget(request: Request) -> Budget:
    """A calibration detects what a comparison with as many blocks detects."""
    if isinstance(request, TuneRequest):
        return request.budget.resolve()
    counts = {"compare_blocks": request.blocks, "confirm_blocks": 0}
    if isinstance(request, CalibrateRequest):
        counts = {"calibrate_blocks": request.blocks, "confirm_blocks": request.blocks}
    windows = request.model_dump(include={"cycles", "window_s", "warmup_s"})
    return Budget(trials=0, **counts, **windows)


def _app_of(request: Request) -> str:
    """The name given, else the target's own: of `registry.example/shop/cart:1.4` it is `cart`."""
    given = None if isinstance(request, CalibrateRequest) else request.app
    if (known := given or request.target.target_app) is not None:
        return known
    repository = ImageName.parse(request.target.image or "").path
    return repository.rpartition("/")[2][:63] or "unnamed"  # an id has no repository


def _space(
    request: TuneRequest, catalogue: KnownTargets, mistakes: list[Mistake]
) -> SearchSpace | None:
    if isinstance(request.search_space, SearchSpace):
        return request.search_space
    found = catalogue.spaces.get(request.search_space)
    if found is None:
        mistakes.append(Mistake("search_space", f"unknown search space '{request.search_space}'"))
    return found
