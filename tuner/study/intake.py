"""From a request to a job: fills in every default and finds every mistake before the start."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from tuner import objective
from tuner.errors import InvalidInput, Mistake
from tuner.model import (
    DEFAULT_COMMAND,
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
    Target,
    TargetApp,
    TuneRequest,
    Variant,
    Workload,
)
from tuner.study.mistakes import mistakes_in
from tuner.uwsgi import command_line
from tuner.uwsgi.options import known

DEFAULT_MEMORY_PER_PROCESS_MB = 32
DEFAULT_INI = """\
[uwsgi]
http-socket = :{port}
master = true
need-app = true
"""


EMPTY_INI = "[uwsgi]\n"
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

    @property
    def apps(self) -> Mapping[str, KnownApp]:
        """The target apps by name."""

    @property
    def spaces(self) -> Mapping[str, SearchSpace]:
        """The search spaces by name."""


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
    described = _described(request, catalogue, mistakes)
    target = _target(request, described)
    mistakes += _not_allowed(target, described, request, images_allowed)
    default_ini = DEFAULT_INI.format(port=target.port)
    own_ini = described.baseline_ini if described else default_ini
    box = request.limits or (described.app.limits if described else Limits())
    files = _files(request, own_ini, mistakes)
    workload = request.workload or (described.app.workload if described else ClosedLoop())
    spec = JobSpec(
        kind=JobKind(request.kind),
        **_compared(request, tuple(files.values()), box),
        app=_app_of(request),
        target=target,
        baseline_ini=next(iter(files.values())).ini or "",
        limits=next(iter(files.values())).limits or box,
        workload=workload,
        objective=_objective(request, workload),
        budget=_budget(request),
        min_effect=request.min_effect,
        allow=tuple(dict.fromkeys(request.allow)),
        pool=request.pool,
        seed=request.seed,
    )
    if isinstance(request, TuneRequest):
        spec = _searching(spec, request, _space(request, catalogue, mistakes), earlier)
    texts = [] if _in_image(request) else [(path, each.ini) for path, each in files.items()]
    mistakes += [*_two_starts(request), *mistakes_in(spec, texts)]
    if mistakes:
        raise InvalidInput(mistakes)
    return spec


def _not_allowed(
    target: Target, described: KnownApp | None, request: Request, images_allowed: Sequence[str]
) -> Iterator[Mistake]:
    own = [("image", target.image)]
    own += [(f"services.{name}.image", each.image) for name, each in target.services.items()]
    named = [(f"target.{'target_app' if described else field}", image) for field, image in own]
    if isinstance(request, CompareRequest):
        named += [(f"arms.{number}.image", arm.image) for number, arm in enumerate(request.arms)]
    for place, image in named:
        if image is not None and not ImageName.parse(image).is_among(images_allowed):
            yield Mistake(place, f"TUNER_IMAGES_ALLOWED does not allow {image}")


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


def _files(request: Request, own_ini: str, mistakes: list[Mistake]) -> Mapping[str, Variant]:
    """The files to run, by their paths in the request; the first one is the baseline."""
    if isinstance(request, CompareRequest):
        given = {f"arms.{index}.ini": arm for index, arm in enumerate(request.arms)}
    elif request.baseline is not None and request.baseline.command is not None:
        ini = _file_of(request.baseline.command, mistakes)
        given = {"baseline.command": Variant(name=OWN_FILE, ini=ini)}
    elif request.baseline is not None:
        given = {"baseline.ini": Variant(name=OWN_FILE, ini=request.baseline.ini or "")}
    else:
        given = {}
    return given or {"target.uwsgi_ini": Variant(name=OWN_FILE, ini=own_ini)}


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


def _in_image(request: Request) -> str | None:
    """The path of the present file, if it is in the image."""
    return getattr(getattr(request, "baseline", None), "in_image", None)


def _two_starts(request: Request) -> Iterator[Mistake]:
    path, target = _in_image(request), request.target
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


def _described(
    request: Request, catalogue: KnownTargets, mistakes: list[Mistake]
) -> KnownApp | None:
    name = request.target.target_app
    if name is None:
        field = "arms" if isinstance(request, CompareRequest) else "baseline"
        if not getattr(request, field):
            hint = "an image does not tell what its uwsgi.ini is: give the present uwsgi.ini"
            mistakes.append(Mistake(field, hint))
        return None
    found = catalogue.apps.get(name)
    if found is None:
        mistakes.append(Mistake("target.target_app", f"unknown target app '{name}'"))
    return found


def _space(
    request: TuneRequest, catalogue: KnownTargets, mistakes: list[Mistake]
) -> SearchSpace | None:
    if isinstance(request.search_space, SearchSpace):
        return request.search_space
    found = catalogue.spaces.get(request.search_space)
    if found is None:
        mistakes.append(Mistake("search_space", f"unknown search space '{request.search_space}'"))
    return found


def _target(request: Request, described: KnownApp | None) -> Target:
    if described is not None:
        app = described.app
        fields: dict[str, Any] = {
            "target_app": app.name,
            **app.model_dump(include=set(Target.model_fields)),
        }
    else:
        fields = request.target.model_dump()
        fields["command"] = request.target.command or DEFAULT_COMMAND
        fields["memory_per_process_mb"] = DEFAULT_MEMORY_PER_PROCESS_MB
    path = _in_image(request) or fields["ini_path"]
    if path is not None:  # the image's own command finds the file there
        fields |= {"ini_path": path, "command": ()}
    return Target(**fields)
