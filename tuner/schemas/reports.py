"""The report of a tuning job for machines: the answer, its trials in short, where it comes from."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from tuner.model import (
    FailureCode,
    HostFingerprint,
    Limits,
    Objective,
    Origin,
    Scalar,
    Slo,
    TrialState,
    Workload,
)
from tuner.schemas.base import Answer
from tuner.schemas.jobs import RecommendationAnswer
from tuner.schemas.preflight import PreflightAnswer


class TrialSummary(Answer):
    """One trial in short."""

    number: int = Field(description="its number within the job; 0 is the user's own file")
    origin: Origin = Field(description="who proposed it")
    state: TrialState = Field(description="infeasible is the configuration's fault, failed ours")
    params: Mapping[str, Scalar] = Field(description="values by parameter of the search space")
    gain: float | None = Field(description="relative to the baseline; more is better; null: none")
    blocks: int = Field(description="of the search in which it was measured; 0: it has no gain")
    is_feasible: bool = Field(description="whether it ran and kept every bound")
    failure: FailureCode | None = Field(description="why it has no gain")


class TrialsAnswer(Answer):
    """All trials in short."""

    by_state: Mapping[str, int] = Field(description="how many ended how")
    trials: Sequence[TrialSummary] = Field(description="by number")


class ProvenanceAnswer(Answer):
    """Where the figures come from; enough to do it again."""

    hosts: Sequence[str] = Field(description="who measured")
    pool: str = Field(description="the set of like hosts that they belong to")
    fingerprint: HostFingerprint | None = Field(description="what the first of them is")
    uwsgi_version: str | None = Field(description="of the target")
    image_digest: str | None = Field(description="of the target")
    target: str = Field(description="a target app's name, or an image")
    limits: Limits = Field(description="the box of every container")
    workload: Workload = Field(description="what was sent")
    objective: Objective = Field(description="what was to be improved")
    slo: Slo = Field(description="the bounds that were to be kept")
    min_effect: float = Field(description="smallest gain worth a deployment")
    sampler: str = Field(description="who proposed trials")
    seed: int = Field(description="of the job")
    blocks: int = Field(description="complete ones of all phases")
    load_s: float = Field(description="seconds of load, of all phases")
    setup_s: float = Field(description="seconds of starting and stopping containers")
    measured_from: datetime | None = Field(description="when the first window began")
    measured_until: datetime | None = Field(description="when the last window began")
    rendered_by: str = Field(description="the program that wrote this; it may be a newer one")


class TuneReport(Answer):
    """The report of a tuning job; the calibration is part of the recommendation."""

    recommendation: RecommendationAnswer = Field(description="the answer with its evidence")
    preflight: PreflightAnswer = Field(description="what its file is like, and what trials lack")
    trials: TrialsAnswer = Field(description="what was tried")
    provenance: ProvenanceAnswer = Field(description="where it comes from")
