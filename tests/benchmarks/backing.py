"""Is a database that is too slow named as the bottleneck? `make bench-backing`.

Jobs on `django-shop` whose PostgreSQL may use a fifth of a CPU, through the real service. Each
measures the app's own file in fresh blocks (`compare`), so what it says of the bottleneck is what a
tuning job says of the same windows. All should name `postgres`.

Every job is one line in the user's cache, written when it has ended; the next run makes the list
complete. Exit code 1 where one has named something else.
"""

import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.benchmarks import jobs
from tests.benchmarks.journal import Journal, arguments, complete
from tests.service import Json, Service, running
from tests.variants import SHOP, write_variant

APP = "slow-postgres"
SERVICE = "postgres"
CPUS = 0.2


def main() -> int:
    """Run what is missing, and print all."""
    options = parsed()
    return complete("bench-backing", options, partial(run, options), report)


def parsed() -> Namespace:
    """The command line."""
    parser = arguments(__doc__)
    parser.add_argument("--jobs", type=int, default=10, help="that the list is to hold")
    parser.add_argument("--blocks", type=int, default=2, help="of each job")
    return parser.parse_args()


def run(options: Namespace, journal: Journal) -> None:
    """Run every job that the journal does not have yet, each with a seed of its own."""
    seeds = range(len(journal.rows()) + 1, options.jobs + 1)
    if not seeds:
        return
    with tempfile.TemporaryDirectory() as apps:
        write_variant(Path(apps), APP, SHOP, services={SERVICE: {"cpus": CPUS}})
        with running(TUNER_TARGET_APPS=apps, TUNER_READY_TIMEOUT_S="60") as service:
            for seed in seeds:
                row = measured(service, seed, options.blocks)
                journal.add(row)
                print(f"  {line(row)}", flush=True)


def measured(service: Service, seed: int, blocks: int) -> Json:
    """Run one job to its end; what the journal keeps of it."""
    target = {"target_app": APP}
    asked = {"kind": "compare", "target": target, "blocks": blocks, "seed": seed}
    row, ended = jobs.finished(service, **asked)
    if row["state"] != "succeeded":
        return {**row, "sentence": row["reason"]}
    (arm,) = ended["report"]["arms"]
    found = arm["diagnosis"]
    figures = {"evidence": found["evidence"], "services": arm["services"], "doubts": arm["doubts"]}
    return {**row, "bottleneck": found["bottleneck"], "sentence": found["sentence"], **figures}


def is_right(row: Json) -> bool:
    """Whether a job has named the database."""
    named = row["sentence"].startswith(f"{SERVICE} ")
    return row.get("bottleneck") == "backing_service" and named


def line(row: Json) -> str:
    """One job in a line."""
    answer = row.get("bottleneck", row["state"])
    return f"job {row['seed']:>2}, {row['minutes']:.1f} min  {answer}: {row['sentence']}"


def report(rows: Sequence[Json]) -> int:
    """Every job and what it named; the exit code."""
    print()
    for row in rows:
        print(line(row))
        if not is_right(row):
            print(f"    {row.get('evidence')}")
    right = sum(map(is_right, rows))
    print(f"\n{right} of {len(rows)} jobs name {SERVICE}, which had {CPUS:g} CPU")
    return 0 if rows and right == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
