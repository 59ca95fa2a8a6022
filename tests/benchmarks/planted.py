"""Are planted truths found, and planted traps refused? `make bench-planted`.

Each truth is one job through the real service, on the app of `tests/bench_apps/planted`: an option
that gains 5 %, and options that look good and must never ship. Passed is decided by the file that
was shipped, not by what is said of it.

Every job is one line in the user's cache, written when it has ended; the next run goes on with
those that are missing. Exit code 1 where one has not passed.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from tests.benchmarks import jobs, rig
from tests.benchmarks.journal import Journal, arguments, complete
from tests.plants import PLANTINGS, Planting
from tests.service import Json


def main() -> int:
    """Run what is missing, and print all."""
    options = parsed()
    wanted = [one for one in PLANTINGS if not options.only or one.name in options.only]
    return complete("bench-planted", options, partial(run, wanted), partial(report, wanted))


def parsed() -> Namespace:
    """The command line."""
    parser = arguments(__doc__)
    names = [planting.name for planting in PLANTINGS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    return parser.parse_args()


def run(wanted: Sequence[Planting], journal: Journal) -> None:
    """Run every job that the journal does not have yet."""
    done = {row["name"] for row in journal.rows()}
    missing = [planting for planting in wanted if planting.name not in done]
    if not missing:
        return
    with jobs.service() as service:
        for planting in missing:
            print(f"  {planting.name}: {planting.about} ...", flush=True)
            row = jobs.tuned(service, planting, seed=1)
            journal.add({**row, "wrong": verdict_on(planting, row)})


def verdict_on(planting: Planting, row: Json) -> list[str]:
    """What is wrong with a job's answer; nothing where it passes."""
    if row["state"] != "succeeded":
        return [f"the job has {row['state']}"]
    return list(planting.wrong_with(row["uwsgi_ini"]))


def report(wanted: Sequence[Planting], rows: Sequence[Json]) -> int:
    """Every truth and what became of it; the exit code."""
    found = {row["name"]: row for row in rows}
    passed = 0
    for planting in wanted:
        row = found.get(planting.name)
        print(f"\n{planting.name}")
        rig.row("  planted", planting.about)
        if row is None:
            rig.row("  not run yet", "")
            continue
        passed += not row["wrong"]
        report_job(row)
    print(f"\n{passed} of {len(wanted)} passed")
    return 0 if passed == len(wanted) else 1


def report_job(row: Json) -> None:
    """What one job answered."""
    if row["state"] == "succeeded":
        rig.row("  verdict", f"{row['verdict']}: {jobs.percent(row['effect'])}")
        rig.row("  shipped", jobs.in_words(row["kept"]))
        rig.row("  reverted", jobs.in_words(row["reverted"]))
    rig.row("  because", row["reason"])
    rig.row("  minutes, day, commit", f"{row['minutes']}, {row['at'][:10]}, {row['commit']}")
    rig.row("  passed" if not row["wrong"] else "  FAILED", "; ".join(row["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
