"""What people ask for: the bodies of `POST /v1/jobs`, one model per kind of job."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from tuner.nouns.model.base import Document, Name
from tuner.nouns.model.budgets import PresetBudget
from tuner.nouns.model.conditions import Condition, Scene
from tuner.nouns.model.documents import CompareWith, JobKind, Priority, SamplerName, Variant
from tuner.nouns.model.limits import Limits
from tuner.nouns.model.needs import File
from tuner.nouns.model.objectives import Metric, Objective, Slo
from tuner.nouns.model.spaces import OptionName, SearchSpace
from tuner.nouns.model.targets import Allowed, TargetRequest
from tuner.nouns.model.workloads import Workload

MOST_ARMS = 16
"""Of one comparison. A block starts as many of them as the memory of the host bears."""


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
