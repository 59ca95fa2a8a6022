"""What every configuration of one app does on one host: the truth that a search can be held to.

A landscape is recorded once on real containers (`make bench-record`), and replayed as often as
wanted: whole jobs run against it without a container. It keeps every start of every configuration
with its single windows: truth and noise can both be taken from them.
"""

from tuner.nouns.model import FailureCode, JobSpec, Scalar, TargetFacts
from tuner.nouns.model.base import Document


class Reading(Document):
    """One window of a start. Times in ms, memory in MB (`BYTES_PER_MB`), `cpu` in cores."""

    rps: float
    p50: float | None
    p95: float | None
    p99: float | None
    memory: float | None
    cpu: float | None
    errors: float  # share of the requests sent, 0..1


class Start(Document):
    """One start of one configuration: in which round and block, and what its windows said.

    Starts of one block were alive at the same time, the baseline's among them; `failure` is why
    there are no readings.
    """

    round: int
    block: int
    params: dict[str, Scalar]
    readings: tuple[Reading, ...] = ()
    failure: FailureCode | None = None


class Landscape(Document):
    """All starts of a grid of configurations; `spec` says which app, under which load."""

    spec: JobSpec
    facts: TargetFacts
    starts: tuple[Start, ...] = ()
