"""What is answered for real apps with a database, by where it runs? `make bench-real`.

Kinto from PyPI with PostgreSQL and memcached, on 1 CPU with 768 MB: `tuner app init` imports it
from its compose file, `by-hand.yaml` adds what the command says is still to do. And `django-shop`.
Each is tuned as `tuner tune` does, with all its services elsewhere, and with all of them beside it.

Every job is one line in the user's cache, written when it has ended; the next run goes on with
those that are missing. Exit code 1 where an answer for services elsewhere has less than two
processes: the file that runs today has at least two, and they hide the wait for the database.
"""

import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, product
from pathlib import Path

import yaml

from tests.benchmarks import jobs, rig
from tests.benchmarks.journal import Journal, Row, arguments, complete
from tests.real_bench import APPS
from tests.service import Json, Service, running
from tests.variants import SHOP, laid_over, write_variant
from tuner.nouns.model import Runs
from tuner.uwsgi.ini import IniFile

KINTO = "kinto"
REAL_APPS = (KINTO, SHOP.name)
LEAST_PROCESSES = 2
READY_TIMEOUT_S = "60"  # of an app that first waits for its database


def main() -> int:
    """Run what is missing, and print all."""
    options = parsed()
    return complete("bench-real", options, partial(run, options), report)


def parsed() -> Namespace:
    """The command line."""
    parser = arguments(__doc__)
    parser.add_argument("--app", nargs="+", choices=REAL_APPS, default=REAL_APPS)
    parser.add_argument("--runs", nargs="+", type=Runs, choices=[*Runs], default=[*Runs])
    parser.add_argument("--jobs", type=int, default=3, help="of each app and placement")
    parser.add_argument("--preset", default="quick", help="how much each job measures")
    parser.add_argument("--trials", type=int, help="of each job, instead of the preset's")
    return parser.parse_args()


def run(options: Namespace, journal: Journal) -> None:
    """Run every job that the journal does not have yet; the placements take turns."""
    done = {(row["app"], row["runs"], row["seed"], row["budget"]) for row in journal.rows()}
    wanted = [
        (app, runs, seed)
        for seed, app, runs in product(range(1, options.jobs + 1), options.app, options.runs)
        if (app, runs, seed, budget_of(options)) not in done
    ]
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as folder:
        apps = write_apps(Path(folder))
        with running(TUNER_TARGET_APPS=str(apps), TUNER_READY_TIMEOUT_S=READY_TIMEOUT_S) as service:
            for app, runs, seed in wanted:
                row = tuned(service, app, runs, seed, options)
                journal.add(row)
                print(f"  {row['app']}, services {row['runs']}, {line(row)}", flush=True)


def write_apps(folder: Path) -> Path:
    """Describe every app under both placements; the folder with the target apps."""
    apps = folder / "apps"
    for home, runs in product((imported_kinto(folder), SHOP), Runs):
        described = yaml.safe_load((home / "target.yaml").read_text())
        services = {name: {"runs": str(runs)} for name in described["services"]}
        write_variant(apps, name_of(home.name, runs), home, services=services)
    return apps


def imported_kinto(folder: Path) -> Path:
    """A folder with Kinto as a user gets it from `tuner app init`, and adds what is to do."""
    home = folder / KINTO
    shutil.copytree(APPS / KINTO, home)
    shutil.copytree(SHOP / "postgres", home / "postgres")
    command = [sys.executable, "-m", "tuner.cli", "app", "init"]
    subprocess.run(command, cwd=home, check=True)
    target = home / "target.yaml"
    by_hand = yaml.safe_load((home / "by-hand.yaml").read_text())
    described = laid_over(yaml.safe_load(target.read_text()), by_hand)
    target.write_text(yaml.safe_dump(described, sort_keys=False))
    return home


def name_of(app: str, runs: Runs) -> str:
    """The target app of an app and a placement."""
    return f"{app}-{runs}"


def budget_of(options: Namespace) -> str:
    """How much each job measures, in words: jobs of another budget are other jobs."""
    return f"{options.preset}, {options.trials} trials" if options.trials else options.preset


def tuned(service: Service, app: str, runs: Runs, seed: int, options: Namespace) -> Json:
    """Run one job to its end; what the journal keeps of it."""
    name = name_of(app, runs)
    budget = {"preset": options.preset, "trials": options.trials}
    asked = {"app": name, "target": {"target_app": name}, "budget": budget}
    row, ended = jobs.finished(service, **asked, seed=seed)
    named = {"app": app, "runs": str(runs), "budget": budget_of(options), **row}
    if row["state"] != "succeeded":
        return named
    return {**named, **kept(service.get(f"/v1/jobs/{ended['id']}/recommendation").json())}


def kept(answer: Json) -> Json:
    """Of an answer what the journal keeps."""
    return {
        **jobs.answered(answer),
        "doubts": answer["doubts"],
        "bottleneck": answer["diagnosis"]["sentence"],
        "services": answer["services"],
        "conditions": [
            {"where": each["where"], "effect": jobs.interval(each["effect"]), "sign": each["sign"]}
            for each in answer["conditions"]
        ],
        "compromise": (answer["compromise"] or {}).get("sentence"),
    }


def processes(row: Row) -> int:
    """Those of the file that a job says to deploy."""
    return int(IniFile.parse(row["uwsgi_ini"]).get("processes") or 1)


def is_right(row: Row) -> bool:
    """Whether a job has an answer, and it hides the wait for services that are elsewhere."""
    if row["state"] != "succeeded":
        return False
    return row["runs"] != Runs.ELSEWHERE or processes(row) >= LEAST_PROCESSES


def line(row: Row) -> str:
    """One job in a line."""
    head = f"job {row['seed']}, {row['minutes']:.1f} min"
    if row["state"] != "succeeded":
        return f"{head}  {row['state']}: {row['reason']}"
    effect = jobs.percent(row["effect"])
    return f"{head}  {row['verdict']}: {effect}, processes = {processes(row)}"


def report(rows: Sequence[Row]) -> int:
    """Every job of every app and placement; the exit code."""
    for (app, runs, budget), found in groupby(sorted(rows, key=_place), _place):
        print(f"\n{app}, services {runs}, {budget}")
        for row in found:
            print(f"  {line(row)}{'' if is_right(row) else '   <-- not right'}")
            for what, value in details(row):
                rig.row(f"    {what}", value)
    right = sum(map(is_right, rows))
    print(f"\n{right} of {len(rows)} jobs are right")
    return 0 if rows and right == len(rows) else 1


def _place(row: Row) -> tuple[str, str, str]:
    return row["app"], row["runs"], row["budget"]


def details(row: Row) -> Iterator[tuple[str, str]]:
    """What a job says besides: its lines, its doubts, what its answer depends on."""
    if row["state"] != "succeeded":
        return
    yield "because", row["reason"]
    yield "changes", jobs.in_words(row["kept"])
    yield "reverted", jobs.in_words(row["reverted"])
    yield "bottleneck", row["bottleneck"]
    yield "doubts", ", ".join(row["doubts"]) or "none"
    yield "compromise", row.get("compromise") or "none"
    for each in row["conditions"]:
        yield each["where"], f"{jobs.percent(each['effect'])}, {each['sign']}"


if __name__ == "__main__":
    sys.exit(main())
