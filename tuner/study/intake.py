"""From a request to a job: fills in every default and finds every mistake before the start."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tuner.judge import analysis, grids, objective
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import (
    NO_CAPACITY,
    Budget,
    Burst,
    CalibrateRequest,
    Capacity,
    ClosedLoop,
    CompareRequest,
    ImageName,
    JobKind,
    JobSpec,
    Journey,
    Ladder,
    Limits,
    Metric,
    Objective,
    OpenLoop,
    Params,
    Paths,
    RelativeBound,
    Request,
    Scalar,
    SearchSpace,
    TuneRequest,
    Variant,
    Workload,
)
from tuner.study import targets
from tuner.targets.catalogue import CataloguedApp, HostCatalogue
from tuner.targets.search_space import derive
from tuner.uwsgi import command_line
from tuner.uwsgi.lint import RULES, Box, lint, subject_of
from tuner.uwsgi.options import known

# ---- Mistakes of a job whose parts are all well formed

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
    if isinstance(spec.workload, Capacity):
        if spec.kind is not JobKind.COMPARE:
            found.append(Mistake("workload.kind", NO_CAPACITY))
        if spec.vary or spec.compare_with == "previous":
            message = "steps and grids have no curve of capacities: give the files as arms"
            found.append(Mistake("workload.kind", message))
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
    catalogue: HostCatalogue,
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
    spec = JobSpec(  # long: one line for each field of a job
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
    mistakes += [*mistakes_in(spec, texts), *_too_short(spec)]
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
    request: Request, own_ini: str, others: Mapping[str, CataloguedApp], mistakes: list[Mistake]
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


def _with_own_file(arm: Variant, app: CataloguedApp | None) -> Variant:
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


def _too_short(spec: JobSpec) -> Iterator[Mistake]:
    """Minutes in which not even the smallest job ends."""
    if spec.kind is JobKind.TUNE and spec.budget.minutes is not None:
        fewest = analysis.fewest_minutes(spec)
        if fewest > spec.budget.minutes:
            message = f"the smallest job of this preset takes about {math.ceil(fewest)} minutes"
            yield Mistake("budget.minutes", message)


def _app_of(request: Request) -> str:
    """The name given, else the target's own: of `registry.example/shop/cart:1.4` it is `cart`."""
    given = None if isinstance(request, CalibrateRequest) else request.app
    if (known := given or request.target.target_app) is not None:
        return known
    repository = ImageName.parse(request.target.image or "").path
    return repository.rpartition("/")[2][:63] or "unnamed"  # an id has no repository


def _space(
    request: TuneRequest, catalogue: HostCatalogue, mistakes: list[Mistake]
) -> SearchSpace | None:
    if isinstance(request.search_space, SearchSpace):
        return request.search_space
    found = catalogue.spaces.get(request.search_space)
    if found is None:
        mistakes.append(Mistake("search_space", f"unknown search space '{request.search_space}'"))
    return found
