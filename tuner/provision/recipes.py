"""Which steps each command needs, and what it hands over to."""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tuner.provision import docker_engine, for_tests, images, k6, oha, programs, removal
from tuner.provision.host import detect
from tuner.provision.machine import Commands, Machine, StepFailed, Steps

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Command:
    """What one command needs, and what comes after.

    `handover` is a program of `.venv/bin` that replaces us. `tiers` are tests that run after the
    static checks, one after the other.
    """

    help: str
    dependencies: bool = True
    images: bool = True
    journeys: bool = False
    compose: bool = False
    prometheus: bool = False
    helm: bool = False
    chromium: bool = False
    faults: bool = False
    handover: tuple[str, ...] = ()
    tiers: tuple[for_tests.Argv, ...] = ()


def _tuner(then: str, command: str) -> Command:
    return Command(f"set up what is missing, then {then}", handover=("tuner", command))


def _benchmark(
    help: str,
    module: str,
    *,
    images: bool = True,
    journeys: bool = False,
    chromium: bool = False,
    faults: bool = False,
) -> Command:
    handover = ("python", "-m", f"tests.benchmarks.{module}")
    return Command(
        help,
        images=images,
        journeys=journeys,
        chromium=chromium,
        faults=faults,
        handover=handover,
    )


def _tests(help: str, *tiers: for_tests.Argv) -> Command:
    has_all = for_tests.REAL_AND_FULL in tiers
    return Command(
        help,
        journeys=True,
        compose=True,
        prometheus=True,
        helm=True,
        chromium=has_all,
        faults=has_all,
        tiers=tiers,
    )


COMMANDS: Mapping[str, Command] = {
    "demo": _tuner("run a real tuning job", "demo"),
    "serve": _tuner("run the service", "serve"),
    "check": Command(
        "format, lint, imports, types and the fast tests; no Docker",
        images=False,
        tiers=(for_tests.FAST,),
    ),
    "test": _tests(
        "`check`, and what guards the product on real containers and PostgreSQL",
        for_tests.FAST,
        for_tests.REAL,
    ),
    "test-all": _tests("every check and every test", for_tests.FAST, for_tests.REAL_AND_FULL),
    "images": Command("have the base image and the load generator image", dependencies=False),
    "journeys": Command(
        "have the load generator image for bursts, journeys and unlike requests",
        dependencies=False,
        journeys=True,
    ),
    "measure": _tuner("measure a uwsgi.ini or compare several", "measure"),
    "calibrate": _tuner("see what this machine can tell apart", "calibrate"),
    "setup": Command("set up what is missing and nothing more"),
    "docs": Command(
        "build docs/ and the lint pages into one static site in site/",
        images=False,
        handover=("mkdocs", "build", "--quiet", "--strict", "--config-file", ".ci/mkdocs.yml"),
    ),
    "sbom": Command(
        "write bills of materials (CycloneDX) of the wheel and the images into sbom/",
        journeys=True,
        handover=("python", "-m", "tuner.provision.sbom"),
    ),
    "bench-host": _benchmark("how well this machine measures", "host"),
    "bench-honesty": _benchmark("A/A sets and a planted +5 %: does the measuring lie?", "honesty"),
    "bench-classes": _benchmark(
        "provoke every bottleneck, see which one is named", "classes", journeys=True
    ),
    "bench-observe": _benchmark("looks at staged productions, and what they cost", "observe"),
    "bench-burst": _benchmark("500 users at once, listen at 100 and 4096", "burst", journeys=True),
    "bench-cost": _benchmark("what measuring itself costs", "cost", journeys=True),
    "bench-search": _benchmark(
        "replay whole jobs on recorded landscapes; no Docker", "search", images=False
    ),
    "bench-record": _benchmark("record a grid of configurations, for `bench-search`", "record"),
    "bench-planted": _benchmark("jobs on containers whose truth is planted", "planted"),
    "bench-fragility": _benchmark("scenes: the same file twice, and 1 process for 3", "fragility"),
    "bench-nulls": _benchmark("jobs on containers where no option matters", "nulls"),
    "bench-ini": _benchmark("parse, lint and patch a file of 300 lines", "ini", images=False),
    "bench-lint": _benchmark(
        "start `tuner lint`: one file, 1 000 files, a change in an editor", "lint", images=False
    ),
    "bench-logs": _benchmark(
        "a workload from access logs of known mixes: errors, MB/s", "logs", images=False
    ),
    "bench-capacity": _benchmark(
        "the estimator of capacity on queues of known capacity", "capacity", images=False
    ),
    "bench-polls": _benchmark("200 conditional requests a second", "polling", images=False),
    "bench-events": _benchmark("200 open streams of events beside polls", "streams", images=False),
    "bench-pages": _benchmark(
        "what pages cost a browser", "page_loads", images=False, chromium=True
    ),
    "bench-lighthouse": _benchmark(
        "what Lighthouse says of five pages; needs npx", "lighthouse", images=False, chromium=True
    ),
    "bench-hostile": _benchmark("polls beside files that take long", "hostile", images=False),
    "bench-services": _benchmark(
        "what services cost, and whether data stay", "services", journeys=True
    ),
    "bench-round-trips": _benchmark(
        "the way to a service, a stub's latency: wanted, measured, CPU time",
        "round_trips",
        journeys=True,
    ),
    "bench-backing": _benchmark(
        "a PostgreSQL with a fifth of a CPU: is it named?", "backing", journeys=True
    ),
    "bench-real": _benchmark(
        "Kinto and django-shop, services elsewhere and beside: what is answered?",
        "real",
        journeys=True,
    ),
    "bench-placement": _benchmark(
        "a service near and far, elsewhere and beside: are the best slots found?",
        "placement",
        journeys=True,
    ),
    "bench-service-kills": _benchmark(
        "kill worker, PostgreSQL and dockerd in jobs with services; needs root",
        "kills",
        journeys=True,
    ),
    "bench-faults": _benchmark(
        "kills, outages, full disks, moved clocks, lost packets; needs root",
        "faults",
        faults=True,
    ),
    "bench-pool": _benchmark(
        "1 to 16 hosts on one PostgreSQL; a host is killed, drained, added", "pool", images=False
    ),
    "bench-login": _benchmark(
        "users log in at once: 2 to 64 processes, listen at 100 and 4096", "login", journeys=True
    ),
    "bench-spent": _benchmark("where the time of a finished job went", "spent", images=False),
    "bench-years": _benchmark(
        "100 000 trials and 2 million windows: times, dump, restore, prune; 10 GB",
        "years",
        images=False,
    ),
    "bench-suites": _benchmark("a planted slower arm, and an equal one: which is found?", "suites"),
}


def prepare(machine: Machine, command: Command) -> None:
    """Take the command's steps, side by side where none waits for another. Raises StepFailed."""
    with ThreadPoolExecutor() as pool:
        running = list(_started(pool, machine, command))
        try:
            for step in as_completed(running):
                step.result()
        except BaseException:  # Ctrl-C too: threads end when their programs have ended
            machine.commands.stop()
            raise


def _started(
    pool: ThreadPoolExecutor, machine: Machine, command: Command
) -> Iterator[Future[None] | Future[bool]]:
    if command.dependencies:
        synced = pool.submit(programs.sync, machine, compiled=command.images)
        yield synced
        if command.helm:
            yield pool.submit(_helm, machine, synced)
    if command.chromium:
        yield pool.submit(for_tests.ensure_chromium, machine)
        yield pool.submit(for_tests.ensure_provider, machine)
    if command.faults:
        yield pool.submit(for_tests.ensure_faults, machine)
    if not command.images:
        return
    python = pool.submit(_python_image, machine)
    base = pool.submit(_base, machine, python)
    load = pool.submit(_load, machine, python, base)
    yield from (python, base, load)
    if command.journeys:
        yield pool.submit(_journeys, machine, python, load)
    if command.compose:
        yield pool.submit(for_tests.ensure_compose, machine)
    if command.prometheus:
        yield pool.submit(for_tests.ensure_prometheus, machine)


def _helm(machine: Machine, synced: Future[None]) -> None:
    synced.result()  # there is a uv then
    for_tests.ensure_helm(machine)


def _python_image(machine: Machine) -> bool:
    """Have the engine and the image with a Python. Returns whether a registry answers."""
    docker_engine.ensure(machine)
    source = machine.environment.get("TUNER_PYTHON_IMAGE") or images.DEFAULT_SOURCE
    images.ensure(machine, source)
    return images.image_id(machine, images.DEFAULT_SOURCE) is not None


def _base(machine: Machine, python: Future[bool]) -> None:
    python.result()
    images.ensure_base(machine)


def _load(machine: Machine, python: Future[bool], base: Future[None]) -> None:
    binary = oha.ensure(machine, python.result)
    base.result()
    images.ensure_load(machine, binary)


def _journeys(machine: Machine, python: Future[bool], load: Future[None]) -> None:
    binary = k6.ensure(machine, python.result)
    load.result()
    images.ensure_journeys(machine, binary)


def set_up(apps: Path, *, journeys: bool) -> int:
    """What an installed product lacks on this machine: Docker, and the images; the exit code.

    `apps` is the folder of the product's own target apps.
    """
    command = Command("", dependencies=False, journeys=journeys)
    return _alone(lambda machine: prepare(machine, command), apps)


def take_away() -> int:
    """Remove what `set_up` made and what the product built with it; the exit code."""
    return _alone(removal.remove)


def main(argv: Sequence[str]) -> int:
    """Run one of COMMANDS; the exit code. A hand-over does not return, and gets the other words."""
    listing = "\n".join(f"  {name:<21}{command.help}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python3 -m tuner.provision",
        description=f"commands:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="passed on")
    chosen = parser.parse_args(argv)
    command = COMMANDS[chosen.command]
    code = _alone(lambda machine: prepare(machine, command))
    return code or _reported(lambda steps: _hand_over(steps, command, chosen.arguments))


def _reported(step: Callable[[Steps], int]) -> int:
    """The exit code of the step; what went wrong becomes a line."""
    steps = Steps(sys.stdout)
    try:
        return step(steps)
    except StepFailed as failure:
        steps.failed(failure)
        return 1
    except KeyboardInterrupt:
        return 130


def _alone(work: Callable[[Machine], None], apps: Path | None = None) -> int:
    """Do it to this machine, while no other set-up runs; the exit code."""

    def step(steps: Steps) -> int:
        host = detect(os.environ)
        host.cache.mkdir(parents=True, exist_ok=True)
        with _locked(steps, host.cache):
            commands = Commands(host.cache / "provision.log")
            work(Machine(steps, commands, host, CHECKOUT, os.environ, apps))
        return 0

    return _reported(step)


def _hand_over(steps: Steps, command: Command, arguments: Sequence[str]) -> int:
    if command.tiers:
        failed = for_tests.run(steps, CHECKOUT, command.tiers)
        if failed:
            raise StepFailed(
                "checks", f"{', '.join(failed)} failed", "read what they printed above"
            )
    if command.handover:
        program = CHECKOUT / ".venv" / "bin" / command.handover[0]
        if not program.exists():
            raise StepFailed(
                str(program), "it is not there", "delete .venv and run the same command again"
            )
        os.chdir(CHECKOUT)
        os.execv(program, [str(program), *command.handover[1:], *arguments])  # noqa: S606
    return 0


@contextmanager
def _locked(steps: Steps, cache: Path) -> Iterator[None]:
    """One set-up at a time: two would install, start and build the same things."""
    with (cache / "provision.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            steps.working("another set-up is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
