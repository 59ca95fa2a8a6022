"""How often is a gain claimed where there is none? `make bench-nulls`.

Jobs in the demo budget, through the real service, on an app for which no option of the search
space matters. Every claim (`better`) is false. A tuner that makes them in 5 % of its jobs has more
than 3 in 20 jobs about once in 60 times.

Every job is one line in the user's cache, with its day and commit; a run makes the list complete
up to 20 jobs, and with `--jobs N` adds N to it. All are reported, whenever they were run. Exit
code 1 where too many claim a gain.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from itertools import groupby

from scipy.stats import binom

from tests.benchmarks import jobs, rig
from tests.benchmarks.journal import Journal, arguments, complete
from tests.plants import NOTHING
from tests.service import Json

WANTED = 20
NOMINAL = 0.05  # share of false claims that the product's tests allow for
SURPRISING = 0.02  # probability at which that many claims are held against the product


def main() -> int:
    """Run, or go on, and print."""
    options = parsed()
    return complete("bench-nulls", options, partial(run, options.jobs), report)


def parsed() -> Namespace:
    """The command line."""
    parser = arguments(__doc__)
    parser.add_argument("--jobs", type=int, metavar="N", help="run so many more")
    return parser.parse_args()


def run(asked: int | None, journal: Journal) -> None:
    """Run so many jobs, or those that are missing, each with the next seed."""
    there = journal.rows()
    more = max(0, WANTED - len(counted(there))) if asked is None else asked
    if more <= 0:
        return
    first = 1 + max((row["seed"] for row in there), default=0)
    with jobs.service() as service:
        for seed in range(first, first + more):
            row = jobs.tuned(service, NOTHING, seed=seed)
            journal.add(row)
            print(line(row), flush=True)


def counted(rows: Sequence[Json]) -> list[Json]:
    """The jobs that came to an answer; a host's fault is neither a claim nor an honest no."""
    return [row for row in rows if row["state"] == "succeeded"]


def is_claim(row: Json) -> bool:
    """Whether a job says that there is a gain."""
    return bool(row["verdict"] == "better")


def allowed(jobs_run: int) -> int:
    """Claims beyond which an honest tuner is hardly to be believed: 3 of 20, 5 of 40, 7 of 60."""
    return int(binom.isf(SURPRISING, jobs_run, NOMINAL)) if jobs_run else 0


def report(rows: Sequence[Json]) -> int:
    """All jobs by day and commit, and the count; the exit code."""
    for (day, commit), of_day in groupby(rows, key=lambda row: (row["at"][:10], row["commit"])):
        print(f"\n{day}, commit {commit}")
        for row in of_day:
            print(line(row))
    answers = counted(rows)
    claims = sum(map(is_claim, answers))
    print()
    rig.row("jobs with an answer", f"{len(answers)} of {len(rows)}")
    rig.row("claims", f"{claims}; at most {allowed(len(answers))} in so many jobs")
    if len(answers) < WANTED:
        rig.row("too few to say", f"{WANTED} jobs are needed")
    return 0 if claims <= allowed(len(answers)) else 1


def line(row: Json) -> str:
    """One job."""
    head = f"  seed {row['seed']:>3}  {row['minutes']:5.1f} min"
    if row["state"] != "succeeded":
        return f"{head}  {row['state']}: {row['reason']}"
    mark = "  <-- a claim" if is_claim(row) else ""
    return f"{head}  {row['verdict']:<14} {jobs.percent(row['effect'])}{mark}"


if __name__ == "__main__":
    sys.exit(main())
