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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from typing import Any

from tests.bench_arms import JOURNEY_IMAGE, opened
from tests.benchmarks import rig
from tests.benchmarks.journal import Journal, arguments, complete
from tests.own_engine import OwnEngine, here, own_engine
from tests.real_bench import BASE_IMAGE, LOAD_IMAGE, everything_with
from tests.service import FINAL, Json, Service, opened_store, running
from tuner.nouns.errors import Unavailable
from tuner.nouns.model import JobId, MeasurementState, TuneRequest
from tuner.study import resolve
from tuner.targets.catalogue import HostCatalogue

APP = "django-shop"
VICTIMS = ("worker", "postgres", "dockerd")
KILLS = 20
CALM_S = (5.0, 45.0)  # between a kill, or the job's start, and the next kill
LONG_AWAY = "60 s without dockerd"
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
REQUEST = {"app": APP, "target": {"target_app": APP}, "budget": BUDGET, "min_effect": 0.001}


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
            seed = len(journal.rows()) + 1
            killer = Killer(service, engine, seed, request=REQUEST, victims=VICTIMS, calm_s=CALM_S)
            journal.add(killer.job(most=wanted - done))


def built() -> list[str]:
    """The images of the app and its services, made where packages can be downloaded."""
    known = HostCatalogue.load()
    request = TuneRequest.model_validate({"app": APP, "target": {"target_app": APP}})
    with opened(apps=known.build_dir) as bench:
        bench.launcher.inspect(resolve(request, known).target)
    return here(f"uwsgi-tuner/target-{APP}*")


@dataclass(slots=True)
class Killer:
    """One job, and the kills that it meets."""

    service: Service
    engine: OwnEngine
    seed: int
    _: KW_ONLY
    request: Mapping[str, Any]
    victims: Sequence[str]
    calm_s: tuple[float, float]
    drawn: random.Random = field(init=False)
    turns: Iterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self.drawn = random.Random(self.seed)  # noqa: S311
        self.turns = cycle(self.drawn.sample(self.victims, len(self.victims)))

    def job(self, *, most: int) -> Json:
        """Run the job to its end, with at most so many kills; what the journal keeps of it."""
        began = time.monotonic()
        job_id = self.service.submit(**self.request, seed=self.seed)["id"]
        kills: list[Json] = []
        while len(kills) < most and (phase := self.phase_after(self.calm(), job_id)):
            kills.append({"phase": phase, **self.kill(job_id)})
            print(f"  job {self.seed}: {in_words(kills[-1])}", flush=True)
        ended = self.service.finish(job_id, within_s=LONGEST_JOB_S, every_s=1.0)
        failure = ended["failure"] or {}
        return {
            "seed": self.seed,
            "id": job_id,
            "minutes": round((time.monotonic() - began) / 60, 1),
            "state": ended["state"],
            "reason": failure.get("message", ""),
            "kills": kills,
            "left": self.left(),
        }

    def calm(self) -> float:
        """For how many seconds nothing is killed now."""
        return self.drawn.uniform(*self.calm_s)

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
        victim, since, began = next(self.turns), datetime.now(UTC), time.monotonic()
        if victim in ("dockerd", LONG_AWAY):
            self.engine.kill()
            time.sleep(60.0 if victim == LONG_AWAY else self.drawn.uniform(*AWAY_S))
            self.engine.start()
        elif victim == "service":
            self.service.process.kill()
            self.service.process.wait()
            self.service.start()
        else:
            self.service.wait_for(
                lambda: self.service.child(victim) is not None, LONGEST_JOB_S, f"a {victim}"
            )
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
