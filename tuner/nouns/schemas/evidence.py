"""The evidence of an answer as it is sent: the nouns of the model with relative gains."""

from dataclasses import dataclass
from typing import Annotated

from tuner.nouns.model import Evidence, Look, about

UNIT = "relative"


@dataclass(frozen=True, kw_only=True)
class LookAnswer(Look):
    """One look at the confirmation while it ran."""

    unit: Annotated[str, about("of estimate, low and high; more is better")] = UNIT


@dataclass(frozen=True, kw_only=True)
class EvidenceAnswer(Evidence):
    """The evidence of an answer. Empty list: the phase was skipped, or the job is an old one."""

    optimistic_gain_note: Annotated[str, about("why that is no evidence")]
    unit: Annotated[str, about("of gains and effects: a share; more is better")] = UNIT
