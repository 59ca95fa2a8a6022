"""Does a job with services survive kills, and leave nothing? `make bench-service-kills`.

Short tuning jobs on `django-shop`, through the real service. At random moments one part gets a
SIGKILL: the worker, our PostgreSQL, or dockerd. The engine is one of our own (it needs root): the
machine's, and what runs there, stay as they are. Prints for each kill the phase that it met, the
seconds until the next measurement began or ended, and the job's end; then all that was left over.

Every job is one line in the user's cache, written when it has ended; the next run goes on until all
kills are done. Exit code 1 where a job did not end, or left something.
"""

import os
import random
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import cycle

from tests.bench_arms import JOURNEY_IMAGE, opened
from tests.benchmarks import rig
from tests.benchmarks.journal import Journal, arguments, complete
from tests.own_engine import OwnEngine, here, own_engine
from tests.real_bench import BASE_IMAGE, LOAD_IMAGE, everything_with
from tests.service import FINAL, Json, Service, opened_store, running
from tuner.catalogue import HostCatalogue
from tuner.errors import Unavailable
from tuner.model import JobId, MeasurementState, TuneRequest
from tuner.study import resolve

APP = "django-shop"
VICTIMS = ("worker", "postgres", "dockerd")
KILLS = 20
CALM_S = (5.0, 45.0)  # between a kill, or the job's start, and the next kill
AWAY_S = (0.0, 8.0)  # from the death of dockerd to its next start
LONGEST_JOB_S = 1800.0
CLEARED_WITHIN_S = 60.0
BUDGET = {
    "preset": "demo",
    "trials": 4,
    "calibrate_blocks": 2,
    "confirm_blocks": 5,
    "cycles": 1,
    "window_s": 2.0,
    "warmup_s": 1.0,
}


def main() -> int:
    """Kill what is missing, and print all."""
    options = parsed()
    if os.geteuid() != 0:
        print("this needs root: it starts, and kills, a Docker Engine of its own")
        return 1
    return complete("bench-service-kills", options, partial(run, options.kills), report)


def parsed() -> Namespace:
    """The command line."""
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=KILLS, help="that the list is to hold")
    return parser.parse_args()


def kills_of(rows: Sequence[Json]) -> list[Json]:
    """All kills of all jobs."""
    return [kill for row in rows for kill in row["kills"]]


def run(wanted: int, journal: Journal) -> None:
    """Run jobs until there are as many kills as wanted."""
    if len(kills_of(journal.rows())) >= wanted:
        return
    with ExitStack() as stack:
        images = [BASE_IMAGE, LOAD_IMAGE, JOURNEY_IMAGE, *built()]
        engine = stack.enter_context(own_engine(images))
        service = stack.enter_context(running(DOCKER_HOST=engine.address))
        while (done := len(kills_of(journal.rows()))) < wanted:
            killer = Killer(service, engine, seed=len(journal.rows()) + 1)
            journal.add(killer.job(most=wanted - done))


def built() -> list[str]:
    """The images of the app and its services, made where packages can be downloaded."""
    known = HostCatalogue.load()
    request = TuneRequest.model_validate({"app": APP, "target": {"target_app": APP}})
    with opened(apps=known.build_dir) as bench:
        bench.launcher.inspect(resolve(request, known).target)
    return here(f"uwsgi-tuner/target-{APP}*")


class Killer:
    """One job, and the kills that it meets."""

    def __init__(self, service: Service, engine: OwnEngine, *, seed: int) -> None:
        self.service, self.engine, self.seed = service, engine, seed
        self.drawn = random.Random(seed)  # noqa: S311
        self.victims = cycle(self.drawn.sample(VICTIMS, len(VICTIMS)))

    def job(self, *, most: int) -> Json:
        """Run the job to its end, with at most so many kills; what the journal keeps of it."""
        began = time.monotonic()
        request = {"app": APP, "target": {"target_app": APP}, "budget": BUDGET, "seed": self.seed}
        job_id = self.service.submit(**request, min_effect=0.001)["id"]
        kills: list[Json] = []
        while len(kills) < most and (phase := self.phase_after(self.calm_s(), job_id)):
            kills.append({"phase": phase, **self.kill(job_id)})
            print(f"  job {self.seed}: {in_words(kills[-1])}", flush=True)
        ended = self.service.finish(job_id, within_s=LONGEST_JOB_S, every_s=1.0)
        failure = ended["failure"] or {}
        return {
            "seed": self.seed,
            "minutes": round((time.monotonic() - began) / 60, 1),
            "state": ended["state"],
            "reason": failure.get("message", ""),
            "kills": kills,
            "left": self.left(),
        }

    def calm_s(self) -> float:
        """How long nothing is killed now."""
        return self.drawn.uniform(*CALM_S)

    def phase_after(self, seconds: float, job_id: int) -> str | None:
        """The phase of the job after so long; None if it has ended before."""
        phase: str | None = None
        ends = time.monotonic() + seconds
        while phase is None or time.monotonic() < ends:
            job = self.service.glance(job_id)
            if job is not None and job["state"] in FINAL:
                return None
            phase = str(job["phase"]) if job is not None else phase
            time.sleep(0.5)
        return phase

    def kill(self, job_id: int) -> Json:
        """Kill one part, start it again if nobody else does, and wait for a measurement."""
        victim, since, began = next(self.victims), datetime.now(UTC), time.monotonic()
        if victim == "dockerd":
            self.engine.kill()
            time.sleep(self.drawn.uniform(*AWAY_S))
            self.engine.start()
        else:
            self.service.kill(victim)
        self.service.wait_for(
            lambda: self.goes_on(job_id, since), LONGEST_JOB_S, "it goes on", every_s=0.3
        )
        return {"victim": victim, "seconds": round(time.monotonic() - began, 1)}

    def goes_on(self, job_id: int, since: datetime) -> bool:
        """Whether a measurement has begun or ended since then, or the job has ended."""
        job = self.service.glance(job_id)
        if job is None:
            return False
        try:
            with opened_store(self.service) as store:
                found = store.measurements(JobId(job_id), detailed=False)
        except Unavailable:
            return False
        moments = [one.started_at for one in found if one.state is MeasurementState.RUNNING]
        moments += [one.finished_at for one in found if one.state is MeasurementState.COMPLETE]
        return job["state"] in FINAL or any(at is not None and at > since for at in moments)

    def left(self) -> list[str]:
        """What the engine still has of the product, a while after the only job has ended."""
        deadline = time.monotonic() + CLEARED_WITHIN_S
        while (found := everything_with("tuner", self.service.environ)) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.5)
        return found


def in_words(kill: Json) -> str:
    """One kill in a line."""
    return f"{kill['victim']:<9} in {kill['phase']:<10} {kill['seconds']:>6.1f} s"


def report(rows: Sequence[Json]) -> int:
    """All kills, then what became of all jobs; the exit code."""
    print("\nvictim       phase       goes on after   the end of its job")
    for row in rows:
        end = f"{row['state']}: {row['reason']}" if row["reason"] else row["state"]
        print("\n".join(f"{in_words(kill)}        {end}" for kill in row["kills"]))
    print()
    for victim in VICTIMS:
        seconds = [kill["seconds"] for kill in kills_of(rows) if kill["victim"] == victim]
        rig.row(f"{victim}: goes on after, s", rig.middle_half(seconds, 1))
    ends = [row["state"] for row in rows]
    rig.row("jobs: " + ", ".join(f"{ends.count(end)} {end}" for end in FINAL), f"of {len(rows)}")
    left = [found for row in rows for found in row["left"]]
    rig.row("left over", ", ".join(left) or "nothing")
    silent = [row for row in rows if row["state"] != "succeeded" and not row["reason"]]
    return 1 if left or silent or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
