"""How a job that tunes comes to its end, before the answer is put together."""

from dataclasses import dataclass

from tuner.model import Trial


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing is worth confirming: the user's own file stays, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The confirmation has said what it can say about this trial."""

    finalist: Trial
