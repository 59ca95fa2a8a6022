"""Does a comparison find a slower arm, and leave equal ones equal? `make bench-suites`.

Each suite has three arms through the real service: the app `planted`, the same file again, and the
same file with 5 % less throughput planted. A suite has 20 rounds, and takes some 5 minutes. The
slower arm is found where its interval lies below 0; the equal one is told apart where its interval
does not hold 0. Beside them stand the effects from requests as they were counted, whatever the
speed of the CPU was.

Every suite is one line in the user's cache, written when it has ended; the next run makes the list
complete. Exit code 1 where too few slower arms are found, or too many equal ones are told apart.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial

from tests import plants
from tests.benchmarks import jobs
from tests.benchmarks.journal import Journal, arguments, complete
from tests.plants import Planting, gains
from tests.service import Json, Service, opened_store
from tuner.judge.analysis import effect_of
from tuner.judge.objective import difference, of_arm
from tuner.nouns.model import JobId, Measurement, Metric

SLOWER = Planting(
    name="slower-arm",
    about="vacuum: -5 %",
    plants=(dict(option="vacuum", value="true", work=gains(-0.05)),),
)
ENOUGH_FOUND = 16 / 20
MOST_TOLD_APART = 3 / 20


def main() -> int:
    """Run what is missing, and print all."""
    options = parsed()
    return complete("bench-suites", options, partial(run, options), report)


def parsed() -> Namespace:
    """The command line."""
    parser = arguments(__doc__)
    parser.add_argument("--suites", type=int, default=20, help="that the list is to hold")
    parser.add_argument("--rounds", type=int, default=20, help="of each suite")
    return parser.parse_args()


def run(options: Namespace, journal: Journal) -> None:
    """Run every suite that the journal does not have yet, each with a seed of its own."""
    seeds = range(len(journal.rows()) + 1, options.suites + 1)
    if not seeds:
        return
    with jobs.service() as service:
        for seed in seeds:
            row = measured(service, seed, options.rounds)
            journal.add(row)
            print(f"  {line(row)}", flush=True)


def request(seed: int, rounds: int) -> Json:
    """A suite of three arms; the planted option does nothing to uWSGI itself."""
    own = SLOWER.baseline_ini
    files = {"own": own, "equal": own, "slower": own.replace("vacuum = false", "vacuum = true")}
    return {
        "kind": "compare",
        "target": {"target_app": "planted"},
        "arms": [{"name": name, "ini": ini} for name, ini in files.items()],
        "blocks": rounds,
        "cycles": 2,
        "window_s": 1.0,
        "warmup_s": 0.6,
        "seed": seed,
    }


def measured(service: Service, seed: int, rounds: int) -> Json:
    """Run one suite to its end; what the journal keeps of it."""
    row, ended = jobs.finished(service, **request(seed, rounds))
    if row["state"] != "succeeded":
        return row
    with opened_store(service) as store:
        blocks = store.measurements(JobId(ended["id"]))
    return {**row, **effects(ended["report"]["arms"], blocks)}


def effects(arms: Sequence[Json], blocks: Sequence[Measurement]) -> Json:
    """By name, how much each arm of a report differs from the first; and the same as counted."""
    others = [*enumerate(arms)][1:]
    return {
        **{arm["name"]: throughput_of(arm) for _, arm in others},
        "as_counted": {arm["name"]: as_counted(blocks, at) for at, arm in others},
    }


def throughput_of(arm: Json) -> list[float] | None:
    """The effect on requests per second against the first arm, with its interval."""
    found = (each for each in arm["effects"] if each["metric"] == "throughput_rps")
    return jobs.interval(next(found, None))


def as_counted(blocks: Sequence[Measurement], arm: int) -> list[float]:
    """The same effect from requests per second as they were counted."""
    metric = Metric.THROUGHPUT_RPS
    ratios = [
        difference(of_arm(block.counted, arm), of_arm(block.counted, 0), metric) for block in blocks
    ]
    effect = effect_of([ratio for ratio in ratios if ratio is not None], metric)
    return [effect.estimate, effect.ci_low, effect.ci_high]


def is_found(row: Json) -> bool:
    """Whether the slower arm's interval lies below 0."""
    return bool(row.get("slower")) and row["slower"][2] < 0


def is_told_apart(row: Json) -> bool:
    """Whether the interval of the equal arm does not hold 0."""
    return bool(row.get("equal")) and not row["equal"][1] <= 0 <= row["equal"][2]


def line(row: Json) -> str:
    """One suite in a line."""
    head = f"suite {row['seed']:>2}, {row['minutes']:.1f} min"
    if row["state"] != "succeeded":
        return f"{head}  {row['state']}: {row['reason']}"
    shown = "; ".join(
        f"{name} {jobs.percent(row[name])}, as counted {jobs.percent(row['as_counted'][name])}"
        for name in ("slower", "equal")
    )
    return f"{head}  {shown}"


def report(rows: Sequence[Json]) -> int:
    """Every suite, and the two counts; the exit code."""
    print()
    for row in rows:
        print(line(row))
    found, apart = sum(map(is_found, rows)), sum(map(is_told_apart, rows))
    counted = [row["as_counted"] for row in rows if "as_counted" in row]
    print(f"\n{plants.UNITS} units of work; {found} of {len(rows)} slower arms found,")
    print(f"{apart} of {len(rows)} equal arms told apart")
    found_so, apart_so = sum(map(is_found, counted)), sum(map(is_told_apart, counted))
    print(f"as counted: {found_so} found, {apart_so} told apart")
    is_good = found >= ENOUGH_FOUND * len(rows) and apart <= MOST_TOLD_APART * len(rows)
    return 0 if rows and is_good else 1


if __name__ == "__main__":
    sys.exit(main())
