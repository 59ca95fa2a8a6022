"""Are the best slots found where they depend on the place of a service? `make bench-placement`.

The app `distant` computes c ms of CPU time for a request and asks a service that computes s ms; the
way there takes d ms. Each doubling of the slots (processes x threads) makes c dearer by `COST`, so
one number of slots is best, by hand:

    requests/s = min(slots / (c + d + s), 1 / c, 1 / s)      with the service elsewhere
                 min(slots / (c + d + s), 1 / (c + s))       with it beside the app, on its one CPU

Each truth is a place and a round trip; the best is at least 14 % better than the second best. A job
starts from a file with another number of slots, and is right if it ships the best one. Scenes and
conditions are left out: they judge a file, and do not search for one.

Every job is one line in the user's cache, written when it has ended; the next run goes on with
those that are missing. Exit code 1 where one is not right.
"""

import math
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from tests.benchmarks import jobs, rig
from tests.benchmarks.journal import Journal, Row, arguments, complete
from tests.real_bench import APPS
from tests.service import Json, Service, running
from tests.variants import write_variant
from tuner.nouns.model import Condition, Runs, Scene
from tuner.uwsgi.ini import IniFile

DISTANT = APPS / "distant"
COMPUTE_MS, STORE_MS, COST = 3.0, 3.0, 1.5
ROUND_TRIPS_MS = (0.5, 8.0, 60.0)
SLOTS = (1, 2, 4, 8)

BUDGET = {
    "preset": "demo",
    "calibrate_blocks": 4,
    "race": 3,
    "race_blocks": 4,
    "ablate_runs": 24,
    "confirm_blocks": 12,
    "window_s": 1.2,
    "warmup_s": 0.6,
}
PARAMETERS = {
    "processes": {"type": "choice", "values": [*SLOTS]},
    "threads": {"type": "choice", "values": [1, 2]},
}


@dataclass(frozen=True, slots=True)
class Truth:
    """A place of the service and a round trip to it, for which the best is known."""

    runs: Runs
    rtt_ms: float

    @property
    def name(self) -> str:
        """The target app of this truth."""
        return f"distant-{self.runs}-{self.rtt_ms:g}".replace(".", "-")

    def rate(self, slots: int) -> float:
        """Requests per second, by hand."""
        compute_ms: float = COMPUTE_MS * COST ** math.log2(slots)
        if self.runs is Runs.BESIDE:
            busiest_ms = compute_ms + STORE_MS
        else:
            busiest_ms = max(compute_ms, STORE_MS)
        return 1000 * min(slots / (compute_ms + self.rtt_ms + STORE_MS), 1 / busiest_ms)

    @property
    def best(self) -> int:
        """The number of slots that serves most."""
        return max(SLOTS, key=self.rate)


TRUTHS = tuple(Truth(runs, rtt_ms) for rtt_ms in ROUND_TRIPS_MS for runs in Runs)


def main() -> int:
    """Run what is missing, and print all."""
    options = parsed()
    return complete("bench-placement", options, partial(run, options.jobs), report)


def parsed() -> Namespace:
    """The command line."""
    parser = arguments(__doc__)
    parser.add_argument("--jobs", type=int, default=10, help="over all truths, in turns")
    return parser.parse_args()


def run(count: int, journal: Journal) -> None:
    """Run every job that the journal does not have yet."""
    done = {(row["name"], row["seed"]) for row in journal.rows()}
    missing = [
        (truth, seed) for truth, seed in islice(in_turns(), count) if (truth.name, seed) not in done
    ]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as folder:
        for truth in TRUTHS:
            described = {"runs": str(truth.runs), "rtt_ms": truth.rtt_ms}
            write_variant(Path(folder), truth.name, DISTANT, services={"store": described})
        with running(TUNER_TARGET_APPS=folder) as service:
            for truth, seed in missing:
                row = tuned(service, truth, seed)
                journal.add(row)
                print(line(truth, row), flush=True)


def in_turns() -> Iterator[tuple[Truth, int]]:
    """Every truth with seed 1, then with seed 2, and so on."""
    seed = 0
    while True:
        seed += 1
        yield from ((truth, seed) for truth in TRUTHS)


def first_slots(truth: Truth, seed: int) -> int:
    """Those of the file that a job starts from: never the best."""
    others = [slots for slots in SLOTS if slots != truth.best]
    return others[(TRUTHS.index(truth) + seed) % len(others)]


def tuned(service: Service, truth: Truth, seed: int) -> Json:
    """Run one job to its end; what the journal keeps of it."""
    first = first_slots(truth, seed)
    ini = (DISTANT / "uwsgi.ini").read_text().replace("processes = 8", f"processes = {first}")
    row, ended = jobs.finished(
        service,
        app=truth.name,
        target={"target_app": truth.name},
        baseline={"ini": ini},
        search_space={"name": "slots", "parameters": PARAMETERS},
        min_processes=1,
        skip=[*Condition, *Scene],
        budget=BUDGET,
        seed=seed,
    )
    named = {"name": truth.name, "first": first, **row}
    if row["state"] != "succeeded":
        return named
    answer = service.get(f"/v1/jobs/{ended['id']}/recommendation").json()
    return {**named, **jobs.answered(answer), "doubts": answer["doubts"]}


def slots_of(row: Row) -> int:
    """Slots of the file that a job ships."""
    ini = IniFile.parse(row["uwsgi_ini"])
    return int(ini.get("processes") or 1) * int(ini.get("threads") or 1)


def is_right(truth: Truth, row: Row) -> bool:
    """Whether a job ships the best number of slots."""
    return row["state"] == "succeeded" and slots_of(row) == truth.best


def line(truth: Truth, row: Row) -> str:
    """One job in a line, with the effect that the truth gives."""
    head = f"  {truth.name}, seed {row['seed']}, {row['minutes']:.1f} min:"
    if row["state"] != "succeeded":
        return f"{head} {row['state']}: {row['reason']}"
    gain = truth.rate(slots_of(row)) / truth.rate(row["first"]) - 1
    mark = "" if is_right(truth, row) else f"   <-- {truth.best} are best"
    return (
        f"{head} {row['verdict']}, {row['first']} -> {slots_of(row)} slots,"
        f" {jobs.percent(row['effect'])}; by hand {gain:+.1%}{mark}"
    )


def report(rows: Sequence[Row]) -> int:
    """Every truth with its rates, and its jobs; the exit code."""
    right = 0
    for truth in TRUTHS:
        rates = ", ".join(f"{slots}: {truth.rate(slots):.0f}" for slots in SLOTS)
        rig.row(f"\n{truth.name}: requests/s by slots, by hand", f"{rates}; best {truth.best}")
        for row in rows:
            if row["name"] == truth.name:
                print(line(truth, row))
                right += is_right(truth, row)
    print(f"\n{right} of {len(rows)} jobs are right")
    return 0 if rows and right == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
