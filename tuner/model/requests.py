"""What people ask for besides tuning: an honest measurement, and a look at the host itself."""

from pydantic import Field, field_validator

from tuner.model.document import Document, Name
from tuner.model.documents import Allowed, JobRequest, Limits, TargetRequest, Variant
from tuner.model.workloads import Workload

MOST_FILES = 6
"""Every file is a running container in each block; more would disturb each other."""


class MeasurementRequest(Document):
    """The body of `POST /v1/measurements`: one file to measure, or several to compare.

    Without `inis` the target's own file is measured. The first file is what the others are
    compared with.
    """

    app: Name | None = Field(None, description="default: the target's own name")
    target: TargetRequest
    inis: tuple[Variant, ...] = Field((), max_length=MOST_FILES)
    limits: Limits | None = None
    workload: Workload | None = None
    blocks: int = Field(8, ge=1, le=256, description="fresh starts of every file; 4 for effects")
    cycles: int = Field(2, ge=1, le=64, description="windows of each file in one block")
    window_s: float = Field(2.5, ge=0.5, le=120)
    warmup_s: float = Field(1.5, ge=0, le=120)
    min_effect: float = Field(0.02, gt=0, lt=1, description="smallest difference that matters")
    allow: Allowed = ()
    pool: Name = "default"
    seed: int = Field(1, ge=0, le=2**31 - 1)

    @field_validator("inis")
    @classmethod
    def _names_differ(cls, inis: tuple[Variant, ...]) -> tuple[Variant, ...]:
        names = [variant.name for variant in inis]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"every file needs a name of its own; twice: {', '.join(twice)}")
        return inis


class CalibrationRequest(Document):
    """The body of `POST /v1/calibrations`: one file against itself, to see what a host can see."""

    target: TargetRequest = TargetRequest(target_app="mixed")
    baseline_ini: str | None = Field(None, max_length=200_000)
    limits: Limits | None = None
    workload: Workload | None = None
    blocks: int = Field(8, ge=2, le=64, description="fresh starts of both arms")
    cycles: int = Field(2, ge=1, le=64, description="windows of each arm in one block")
    window_s: float = Field(2.5, ge=0.5, le=120)
    warmup_s: float = Field(1.5, ge=0, le=120)
    min_effect: float = Field(0.02, gt=0, lt=1, description="smallest difference that matters")
    allow: Allowed = ()
    pool: Name = "default"
    seed: int = Field(1, ge=0, le=2**31 - 1)


Request = JobRequest | MeasurementRequest | CalibrationRequest
"""Everything that becomes a job."""
