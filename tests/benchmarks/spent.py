"""Where did the time of a job go? `make bench-spent ARGS=7` splits that of job 7.

Reads a job that has ended, and that one host has measured, from the database that the environment
names (the embedded one while `tuner serve` runs). Splits the time from its start to its end. Load
counts from the start of a load generator to its end, warm-ups included. Nothing here asserts.
"""

import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

from tests.benchmarks import rig
from tuner.nouns import wording
from tuner.nouns.model import Job, JobId, Measurement, MeasurementKind
from tuner.service import bootstrap
from tuner.service.settings import Settings


def main() -> None:
    """Read and print."""
    options = parsed()
    store = bootstrap.store(Settings.from_environ(os.environ))
    job = store.job(JobId(options.job))
    print_spent(job, spent(job, store.measurements(job.id)))


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("job", type=int, help="the number of a job that has ended")
    return parser.parse_args()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Seconds of a job, by what they were spent on. Together they are the whole job."""

    windows: float
    warm_ups: float
    preparation: float  # images, data, checks; its load counts among the windows
    starting_arms: float  # until all arms of a block are ready
    around: float  # of blocks: arms end, windows are judged, services are paused
    between: float  # nothing is measured: the next step is decided, or an attempt was lost

    @property
    def whole(self) -> float:
        """From the job's start to its end."""
        return float(sum(astuple(self)))

    @property
    def load(self) -> float:
        """While load was driven."""
        return self.windows + self.warm_ups


def spent(job: Job, measurements: Sequence[Measurement]) -> Spent:
    """Where the time of a job went. Raises `ValueError` for one that has not ended."""
    if job.started_at is None or job.finished_at is None:
        raise ValueError(f"job {job.id} has not ended")
    complete = [(one, one.result) for one in measurements if one.result is not None]
    blocks = [found for one, found in complete if one.kind is MeasurementKind.BLOCK]
    load = sum(found.load_s for _, found in complete)
    warm_ups = sum(sum(found.warmup_s) for found in blocks)
    starting = sum(max(found.ready_s, default=0.0) for found in blocks)
    measured = sum(length(one) for one, _ in complete)
    preparation = sum(
        length(one) - found.load_s for one, found in complete if one.kind is MeasurementKind.PREPARE
    )
    return Spent(
        windows=load - warm_ups,
        warm_ups=warm_ups,
        preparation=preparation,
        starting_arms=starting,
        around=measured - load - preparation - starting,
        between=(job.finished_at - job.started_at).total_seconds() - measured,
    )


def length(measurement: Measurement) -> float:
    """Seconds from the start of the last attempt to its end."""
    if measurement.started_at is None or measurement.finished_at is None:
        return 0.0
    return (measurement.finished_at - measurement.started_at).total_seconds()


def print_spent(job: Job, found: Spent) -> None:
    """A line for each kind of time."""
    rig.row(f"job {job.id}, {job.spec.app}", wording.duration(found.whole))
    for one in fields(found):
        seconds = getattr(found, one.name)
        what = one.name.replace("_", " ")
        rig.row(f"  {what}", f"{seconds:>7.1f} s  {wording.share(seconds / found.whole)}")
    rig.row("load is driven", wording.share(found.load / found.whole))


if __name__ == "__main__":
    main()
