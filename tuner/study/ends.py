"""The two ends of a tuning job, before the answer is written."""

from dataclasses import dataclass

from tuner.model import Trial


@dataclass(frozen=True, slots=True)
class Keep:
    """No candidate is worth confirming. The user's own file stays, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The confirmation of this trial is complete."""

    finalist: Trial
