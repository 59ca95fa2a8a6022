"""What people write: the job request and its parts, checked as a whole.

These are pydantic models because they come from outside: unknown fields are errors, and all
mistakes are reported at once, each with its path. Everything downstream works on `JobSpec`, in
which every default has been filled in.
"""

import shlex
from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, Field, field_validator, model_validator

from tuner.nouns.model.base import Document, Name
from tuner.nouns.model.budgets import Budget, PresetBudget
from tuner.nouns.model.conditions import Condition, Scene
from tuner.nouns.model.limits import Limits
from tuner.nouns.model.needs import EnvName, EnvValue, File, ImageText
from tuner.nouns.model.objectives import Metric, Objective, OptionName, Scalar, SearchSpace, Slo
from tuner.nouns.model.targets import Allowed, Followed, Target, TargetRequest, reads_ini
from tuner.nouns.model.workloads import Workload, with_keep_alive
from tuner.nouns.plain import Priority


class SamplerName(StrEnum):
    """Who proposes what to try next."""

    TPE = "tpe"  # tree-structured Parzen estimator (Optuna)
    GP = "gp"  # Gaussian process that knows how noisy each trial was


class Variant(Document):
    """One arm of a comparison, in its box: a uwsgi.ini, or another server under the same app."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")] = Field(
        description="stands for the arm in the report"
    )
    ini: str | None = Field(None, max_length=200_000, description="the text of the uwsgi.ini")
    command: tuple[str, ...] | None = Field(
        None,
        min_length=1,
        description="starts the server, without ini another than uWSGI; default: the target's, and"
        " without ini that of the image",
    )
    target_app: Name | None = Field(
        None, description="another target app, with its own file, services and data"
    )
    image: ImageText | None = Field(None, description="default: the target's")
    port: int | None = Field(None, ge=1, le=65_535, description="default: the target's")
    env: dict[EnvName, EnvValue] = Field(
        {}, max_length=300, description="environment, besides the target's"
    )
    limits: Limits | None = Field(None, description="the box of this arm; default: the job's")
    keep_alive: bool | None = Field(
        None, description="whether its client keeps connections; default: as the workload says"
    )

    @model_validator(mode="after")
    def _one_server(self) -> Self:
        if self.target_app is not None and self.image is not None:
            raise ValueError("give either target_app or image")
        if {self.ini, self.command, self.image, self.target_app} == {None}:
            raise ValueError("give ini, a target_app, or the command or image of another server")
        if self.command is not None and reads_ini(self.command) != (self.ini is not None):
            raise ValueError("the command has {ini} exactly where the arm has an ini")
        return self

    @property
    def text(self) -> str:
        """What it runs: its file, else its command, else its image."""
        own = shlex.join(self.command or ()) or f"{self.image or self.target_app}"
        return self.ini if self.ini is not None else own

    def target_in(self, given: "Target") -> "Target":
        """The target of this arm, made from `given`: the job's, or that of its target app."""
        own = {"port": self.port, "image": self.image, "command": self.command}
        changed: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
        if self.ini is None:
            changed |= {"command": self.command or ()}
        if self.ini is None or self.command is not None:
            changed |= {"ini_path": None}
        return given.model_copy(update={"env": {**given.env, **self.env}, **changed})


CompareWith = Literal["first", "previous"]
"""The arm that an arm of a comparison is compared with; with the first one in any case."""


class JobKind(StrEnum):
    """What is wanted of a job."""

    TUNE = "tune"  # find the file to deploy
    COMPARE = "compare"  # measure the given files, and say how they differ
    CALIBRATE = "calibrate"  # measure one file against itself: what this host can tell apart


class JobSpec(Document):
    """A job request with every default filled in. The study reads nothing else about a job.

    `variants` are the arms of a comparison, the first one being the baseline; empty otherwise.
    `others` are the target apps of arms that name their own. `vary` names the options and limits of
    a grid. `limits` is the box of the baseline. `seeds` are values of parameters that earlier jobs
    of the app recommended. `own_bounds` names the metrics of `slo` that the tuner bounds, not the
    user. `allow` is what options of the files may do besides serving: trials leave out all others.
    `because` has the reasons of a schedule, and `follows` the answer that its job looks at again.
    `baseline_ini` is empty until the first host has read it out of the image, if it is there.
    `in_image` is its path there if the request named one, not target.yaml.
    """

    kind: JobKind = JobKind.TUNE
    variants: tuple[Variant, ...] = ()
    compare_with: CompareWith = "first"
    vary: tuple[str, ...] = ()
    app: str
    target: Target
    others: dict[str, Target] = Field({})
    baseline_ini: str
    in_image: str | None = None
    limits: Limits
    workload: Workload
    objective: Objective
    slo: Slo = Slo()
    own_bounds: tuple[Metric, ...] = ()
    max_slots: int | None = None  # processes x threads of every trial
    min_processes: int = 1  # of every trial but the present file; jobs before had no such floor
    skip: tuple[Condition | Scene, ...] = ()
    accept: tuple[Scene, ...] = ()
    search_space: SearchSpace | None = None  # None where nothing is varied
    sampler: SamplerName = SamplerName.TPE  # what jobs had before there was a choice
    seeds: tuple[dict[str, Scalar], ...] = ()
    budget: Budget
    min_effect: float
    allow: Allowed = ()
    pool: str
    priority: Priority = Priority.INTERACTIVE  # of jobs before there was a choice
    seed: int
    because: tuple[str, ...] = ()
    follows: Followed | None = None

    @property
    def awaits_file(self) -> bool:
        """The present file is in the image, and no host has read it yet."""
        return not (self.baseline_ini or self.variants) and self.target.ini_path is not None

    def with_file(self, text: str) -> Self:
        """The same job with the file that was in the image."""
        return self.model_copy(update={"baseline_ini": text})

    @property
    def targets(self) -> tuple[Target, ...]:
        """The target of each arm of a comparison; else that of all trials, alone."""
        found = (
            each.target_in(self.others.get(each.target_app or "", self.target))
            for each in self.variants
        )
        return tuple(found) or (self.target,)

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The load of each arm of a comparison; else that of all trials, alone."""
        return tuple(with_keep_alive(self.workload, each.keep_alive) for each in self.variants) or (
            self.workload,
        )

    @property
    def metrics(self) -> frozenset[Metric]:
        """What the study ranks by and holds against bounds: windows must tell these."""
        return frozenset({*(aim.metric for aim in self.objective.aims), *self.slo.bounds()})

    @property
    def boxes(self) -> tuple[Limits, ...]:
        """The box of each file of a comparison; else that of all trials, alone."""
        return tuple(each.limits or self.limits for each in self.variants) or (self.limits,)


def mistakes_of(error: Any, whole: type[BaseModel] | None = None) -> list[tuple[str, str]]:
    """Path and message of every error in a pydantic `ValidationError`, worded for people.

    With the model of the `whole` document, an unknown field that belongs elsewhere says where.
    """
    details = error.errors()
    return [(".".join(map(str, detail["loc"])), message_of(detail, whole)) for detail in details]


def message_of(detail: Any, whole: type[BaseModel] | None = None) -> str:
    """The message of one of pydantic's errors, as `mistakes_of` has it."""
    if detail["type"] != "extra_forbidden":
        return str(detail["msg"]).removeprefix("Value error, ")
    homes = sorted({*_homes(str(detail["loc"][-1]), whole)}) if whole else []
    return f"unknown field; did you mean {' or '.join(homes)}?" if homes else "unknown field"


_DEEP = 3  # fields of a document in each other


def _homes(field: str, model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[str]:
    """The paths at which a document has a field of this name."""
    for name, known in model.model_fields.items():
        if name == field:
            yield ".".join((*path, name))
        if len(path) + 1 < _DEEP:
            for inner in _models_in(known.annotation):
                yield from _homes(field, inner, (*path, name))


def _models_in(hint: Any) -> Iterator[type[BaseModel]]:
    """The models that a value of this type may be; those in lists and mappings are left out."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        yield hint
    elif get_origin(hint) in (Union, UnionType, Annotated):
        for inner in get_args(hint):
            yield from _models_in(inner)


# ---- What people ask for: the bodies of `POST /v1/jobs`, one model per kind of job

MOST_ARMS = 16
"""Arms of one comparison. A block starts as many of them as the memory of the host bears."""


class Baseline(Document):
    """The present configuration, where it is: in a file, on a command line, or in the image."""

    ini: str | None = Field(None, max_length=200_000, description="the text of the uwsgi.ini")
    command: str | None = Field(
        None, max_length=20_000, description="such as uwsgi --http :8000 --processes 4"
    )
    in_image: File | None = Field(
        None, description="path of the file in the image, whose own command runs with it"
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if [self.ini, self.command, self.in_image].count(None) != 2:
            raise ValueError("give one of ini, command and in_image")
        return self


class _AnyRequest(Document):
    """Fields of every kind of request."""

    limits: Limits | None = Field(None, description="the box; default: the target app's")
    workload: Workload | None = Field(None, description="default: the target app's")
    min_effect: float = Field(0.02, gt=0, lt=1, description="smallest difference that matters")
    allow: Allowed = ()
    pool: Name = Field("default", description="the set of like hosts that measures")
    priority: Priority = Field(
        Priority.INTERACTIVE, description="nightly jobs wait for all interactive ones"
    )
    seed: int = Field(1, ge=0, le=2**31 - 1, description="of everything that is drawn at random")


class _BlocksRequest(_AnyRequest):
    """A request for blocks without a search."""

    cycles: int = Field(2, ge=1, le=64, description="windows of each arm in one block")
    window_s: float = Field(
        2.5,
        ge=0.5,
        le=120,
        description="seconds of load in one window; a comparison may make it four times as long",
    )
    warmup_s: float = Field(1.5, ge=0, le=120, description="seconds of load before the first one")


class TuneRequest(_AnyRequest):
    """Tune an app: find the uwsgi.ini to deploy. `tuner submit` reads the same document."""

    kind: Literal["tune"] = Field("tune", description="find the file to deploy")
    app: Name = Field(description="CI fetches the recommendation under this name")
    target: TargetRequest = Field(description="the app in its container")
    baseline: Baseline | None = Field(
        None, description="the present configuration; default: the target app's"
    )
    objective: Objective = Field(
        Objective(maximize=Metric.THROUGHPUT_RPS), description="the metrics to improve"
    )
    slo: Slo = Field(Slo(), description="bounds that the recommended file keeps")
    max_slots: int | None = Field(
        None, ge=1, le=1_000_000, description="most processes x threads, such as a database bears"
    )
    min_processes: int = Field(
        2,
        ge=1,
        le=10_000,
        description="fewest processes of a new file, if the present one has as many: with 1, one"
        " request that hangs stops the app",
    )
    skip: tuple[Condition | Scene, ...] = Field(
        (),
        max_length=len(Condition) + len(Scene),
        description="conditions and scenes that need not be checked",
    )
    accept: tuple[Scene, ...] = Field(
        (), max_length=len(Scene), description="scenes in which a new file may be more fragile"
    )
    search_space: str | SearchSpace = Field("default", description="by name, or as a document")
    sampler: SamplerName = Field(SamplerName.GP, description="proposes the trials")
    warm_start: bool = Field(False, description="start with what earlier jobs of the app found")
    budget: PresetBudget = Field(PresetBudget(), description="how much the job may measure")


class CompareRequest(_BlocksRequest):
    """Measure one arm, or compare several with the first one: files, and other servers.

    Without `arms` the service measures the target's own file. The files may be steps, of which
    each builds on the one before, or the combinations of a grid.
    """

    kind: Literal["compare"] = Field("compare", description="measure the given files")
    app: Name | None = Field(None, description="default: the target's own name")
    target: TargetRequest = Field(description="the app in its container")
    arms: tuple[Variant, ...] = Field(
        (), max_length=MOST_ARMS, description="the first one is the baseline"
    )
    compare_with: CompareWith = Field(
        "first", description="previous: each file also with the one before it"
    )
    vary: tuple[OptionName, ...] = Field(
        (),
        max_length=8,
        description="options and limits in which the files differ: the report has a curve over the"
        " first number",
    )
    blocks: int = Field(8, ge=1, le=256, description="fresh starts of every file; 4 for effects")

    @model_validator(mode="after")
    def _steps_or_grid(self) -> Self:
        if self.vary and self.compare_with == "previous":
            raise ValueError("vary compares each file with the next lower one: drop compare_with")
        others = [arm.name for arm in self.arms if arm.ini is None]
        if self.vary and others:
            raise ValueError(f"vary is of uwsgi.ini files; no file: {', '.join(others)}")
        return self

    @field_validator("arms")
    @classmethod
    def _names_differ(cls, arms: tuple[Variant, ...]) -> tuple[Variant, ...]:
        names = [arm.name for arm in arms]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"every arm needs a name of its own; twice: {', '.join(twice)}")
        return arms


class CalibrateRequest(_BlocksRequest):
    """Measure one file against itself, to find the smallest effect that a host can detect."""

    kind: Literal["calibrate"] = Field("calibrate", description="measure a file against itself")
    target: TargetRequest = Field(
        TargetRequest(target_app="mixed"), description="the app in its container"
    )
    baseline: Baseline | None = Field(None, description="default: the target app's own file")
    blocks: int = Field(8, ge=2, le=64, description="fresh starts of both arms")


Request = TuneRequest | CompareRequest | CalibrateRequest
"""Everything that becomes a job."""

REQUESTS: Mapping[JobKind, type[Request]] = {
    JobKind.TUNE: TuneRequest,
    JobKind.COMPARE: CompareRequest,
    JobKind.CALIBRATE: CalibrateRequest,
}
"""The model of each kind's request."""
