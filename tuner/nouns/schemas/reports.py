"""The report of a tuning job for machines: the answer, its trials in short, where it comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from tuner.nouns.model import (
    ByRequest,
    FailureCode,
    HostFingerprint,
    Origin,
    Scalar,
    TrialState,
    about,
)
from tuner.nouns.schemas.base import Answer, PreflightAnswer
from tuner.nouns.schemas.jobs import RecommendationAnswer


class TrialSummary(Answer):
    """One trial in short."""

    number: int = Field(description="its number within the job; 0 is the user's own file")
    origin: Origin = Field(description="who proposed it")
    state: TrialState = Field(
        description="infeasible: because of the configuration; failed: because of the host"
    )
    params: Mapping[str, Scalar] = Field(description="values by parameter of the search space")
    gain: float | None = Field(description="relative to the baseline; more is better; null: none")
    blocks: int = Field(description="blocks of the search that measured it; 0: it has no gain")
    is_feasible: bool = Field(description="whether it ran and kept every bound")
    failure: FailureCode | None = Field(description="why it has no gain")


class TrialsAnswer(Answer):
    """All trials in short."""

    by_state: Mapping[str, int] = Field(description="number of trials by state")
    trials: Sequence[TrialSummary] = Field(description="by number")


@dataclass(frozen=True, kw_only=True)
class ProvenanceAnswer:
    """Where the figures come from. With the circumstances of the answer, enough to do it again."""

    hosts: Annotated[tuple[str, ...], about("the hosts that measured")]
    pool: Annotated[str, about("the set of like hosts that they belong to")]
    fingerprint: Annotated[HostFingerprint | None, about("what the first of them is")]
    uwsgi_version: Annotated[str | None, about("names the target's image on every host")]
    image_digest: Annotated[str | None, about("of the target")]
    target: Annotated[str, about("a target app's name, or an image")]
    sampler: Annotated[str, about("who proposed trials")]
    seed: Annotated[int, about("of the job")]
    blocks: Annotated[int, about("complete ones of all phases")]
    load_s: Annotated[float, about("seconds of load, of all phases")]
    setup_s: Annotated[float, about("seconds of starting and stopping containers")]
    measured_from: Annotated[datetime | None, about("when the first window began")]
    measured_until: Annotated[datetime | None, about("when the last window began")]
    rendered_by: Annotated[str, about("the program that wrote this; it may be a newer one")]


class TuneReport(Answer):
    """The report of a tuning job; the calibration is part of the recommendation."""

    recommendation: RecommendationAnswer = Field(description="the answer with its evidence")
    preflight: PreflightAnswer = Field(
        description="findings in the job's file, and the lines that trials leave out"
    )
    trials: TrialsAnswer = Field(description="all trials")
    by_request: ByRequest = Field(
        ByRequest(), description="fresh blocks of both files, request by request"
    )
    provenance: ProvenanceAnswer = Field(description="the origin of the figures")
