"""Does a job survive everything, with the answer that it has without? `make bench-faults`.

Each fault strikes one job at random moments. On the invented host (`scenes.py`) the rows must be
those of a job that nothing disturbed. With real containers (an engine of our own, so it needs root)
one part of the whole product gets 20 kills, over as many short jobs as that takes: every job must
succeed, with each block once, attributed to its own files, and nothing may be left.

Every job is one line in the user's cache; the next run goes on with what is missing.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests import memory_box, misbehaving
from tests.benchmarks import rig, scenes
from tests.benchmarks.journal import Journal, Row, arguments, complete
from tests.benchmarks.kills import LONG_AWAY, Killer
from tests.own_engine import own_engine
from tests.real_bench import BASE_IMAGE, LOAD_IMAGE
from tests.recovery.test_kills import BUDGET, check_rows
from tests.service import running

VICTIMS = ("worker", "api", "postgres", "dockerd", "service", LONG_AWAY)
KILLS = 20
OUTAGES = 2
CALM_S = (0.5, 6.0)
REQUEST = {"app": "fine", "target": {"target_app": "fine"}, "budget": BUDGET, "min_effect": 0.001}
SCENE_ENDS_WITHIN_S = 1800


def main() -> int:
    """Play what is missing, and print all."""
    parser = arguments(__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="of each fault on the invented host")
    parser.add_argument("--kills", type=int, default=KILLS, help="of each part, in containers")
    options = parser.parse_args()
    return complete(
        "bench-faults", options, lambda journal: run(options, journal), lambda rows: report(rows)
    )


def run(options: Namespace, journal: Journal) -> None:
    """All faults, one after the other."""
    for fault in scenes.FAULTS:
        lacking = scenes.missing(fault)
        if lacking is not None:
            print(f"{fault}: not played, there is no {lacking}")
            continue
        while (seed := sum(row["fault"] == fault for row in journal.rows())) < options.jobs:
            journal.add({"fault": fault, "seed": seed, **played(fault, seed)})
            print(in_words(journal.rows()[-1]), flush=True)
    if os.geteuid() == 0:
        in_containers(options.kills, journal)


def played(fault: str, seed: int) -> Row:
    """What a scene found, in a process of its own: some need another environment."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.scenes", fault, str(seed)],
            env={**os.environ, **scenes.environ_of(fault, Path(folder))},
            timeout=SCENE_ENDS_WITHIN_S,
            capture_output=True,
            text=True,
            check=False,
        )
    memory_box.remove_empty()
    if done.returncode != 0:
        return {"differs": ["the scene ended"], "said": done.stderr[-2000:], "struck": {}}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def in_containers(kills: int, journal: Journal) -> None:
    """Kills of every part of the whole product, until the journal has so many."""
    for victim in VICTIMS:
        wanted = min(kills, OUTAGES) if victim == LONG_AWAY else kills
        if struck(journal.rows(), victim) >= wanted:
            continue
        with ExitStack() as stack:
            apps = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            misbehaving.write_app(apps, "fine", misbehaving.FINE)
            engine = stack.enter_context(own_engine([BASE_IMAGE, LOAD_IMAGE]))
            service = stack.enter_context(
                running(DOCKER_HOST=engine.address, TUNER_TARGET_APPS=str(apps), measures=False)
            )
            while (done := struck(journal.rows(), victim)) < wanted:
                seed = len(journal.rows())
                killer = Killer(
                    service, engine, seed, request=REQUEST, victims=(victim,), calm_s=CALM_S
                )
                found = killer.job(most=wanted - done)
                journal.add({"fault": victim, **found, "differs": differences(killer, found)})


def differences(killer: Killer, found: Row) -> list[str]:
    """What is wrong with the rows of the job that has just ended."""
    if found["state"] != "succeeded":
        return [f"{found['state']}: {found['reason']}"]
    try:
        check_rows(killer.service, found["id"])
    except AssertionError as error:
        return [str(error)[:300] or "a row"]
    return list(found["left"])


def struck(rows: Sequence[Row], fault: str) -> int:
    """How often a fault struck in all its jobs."""
    return sum(times_of(row) for row in rows if row["fault"] == fault)


def times_of(row: Row) -> int:
    """How often the fault struck in one job."""
    return len(row["kills"]) if "kills" in row else sum(row["struck"].values())


def in_words(row: Row) -> str:
    """One job in a line."""
    end = ", ".join(row["differs"]) or "as without"
    again = f", {row['again']} of {row['blocks']} blocks again" if "again" in row else ""
    return f"{time.strftime('%T')}  {row['fault']}: {times_of(row)} times{again}: {end}"


def report(rows: Sequence[Row]) -> int:
    """One line for each fault; the exit code is 1 where a job differs from an undisturbed one."""
    print("\nfault                                        struck, jobs, jobs that differ")
    for fault in dict.fromkeys(row["fault"] for row in rows):
        own = [row for row in rows if row["fault"] == fault]
        wrong = [row for row in own if row["differs"]]
        again = [row["again"] for row in own if "again" in row]
        repeated = f", blocks measured again: {sum(again)}" if again else ""
        rig.row(fault, f"{struck(rows, fault)}, {len(own)}, {len(wrong)}{repeated}")
        for row in wrong:
            print(f"    job {row['seed']}: {', '.join(row['differs'])}")
    return 1 if not rows or any(row["differs"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
