"""Which steps each command needs, and what it hands over to."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tuner.provision import checks, compose, docker_engine, images, python_image, uv
from tuner.provision.apt import Apt
from tuner.provision.commands import Commands, SystemCommands
from tuner.provision.host import Host, detect
from tuner.provision.steps import StepFailed, Steps

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Command:
    """What one command needs, and what comes after.

    `handover` is a program of `.venv/bin` that replaces us; `checks` are run one after the other.
    """

    help: str
    dependencies: bool = True
    images: bool = True
    journeys: bool = False
    compose: bool = False
    handover: tuple[str, ...] = ()
    checks: tuple[checks.Check, ...] = ()


def _benchmark(help: str, module: str, *, images: bool = True, journeys: bool = False) -> Command:
    handover = ("python", "-m", f"tests.benchmarks.{module}")
    return Command(help, images=images, journeys=journeys, handover=handover)


COMMANDS: Mapping[str, Command] = {
    "demo": Command(
        "set up what is missing, then run a real tuning job", handover=("tuner", "demo")
    ),
    "serve": Command("set up what is missing, then run the service", handover=("tuner", "serve")),
    "test": Command(
        "set up what is missing, then run every check and test",
        journeys=True,
        compose=True,
        checks=checks.FULL,
    ),
    "check": Command(
        "format, lint, imports, types, fast tests; no Docker", images=False, checks=checks.FAST
    ),
    "images": Command("have the base image and the load generator image", dependencies=False),
    "journeys": Command(
        "have the load generator image for bursts, journeys and unlike requests",
        dependencies=False,
        journeys=True,
    ),
    "measure": Command(
        "set up what is missing, then measure a uwsgi.ini or compare several",
        handover=("tuner", "measure"),
    ),
    "calibrate": Command(
        "set up what is missing, then see what this machine can tell apart",
        handover=("tuner", "calibrate"),
    ),
    "setup": Command("set up what is missing and nothing more"),
    "bench-host": _benchmark("how well this machine measures", "host"),
    "bench-honesty": _benchmark("A/A sets and a planted +5 %: does the measuring lie?", "honesty"),
    "bench-classes": _benchmark(
        "provoke every bottleneck, see which one is named", "classes", journeys=True
    ),
    "bench-burst": _benchmark("500 users at once, listen at 100 and 4096", "burst", journeys=True),
    "bench-cost": _benchmark("what measuring itself costs", "cost", journeys=True),
    "bench-search": _benchmark(
        "replay whole jobs on recorded landscapes; no Docker", "search", images=False
    ),
    "bench-planted": _benchmark("jobs on containers whose truth is planted", "planted"),
    "bench-nulls": _benchmark("jobs on containers where no option matters", "nulls"),
    "bench-ini": _benchmark("parse, lint and patch a file of 300 lines", "ini", images=False),
    "bench-polls": _benchmark("200 conditional requests a second", "polling", images=False),
}


@dataclass
class Provisioner:
    """The steps with what all of them need. Every step may raise StepFailed."""

    steps: Steps
    commands: Commands
    host: Host
    checkout: Path
    environment: Mapping[str, str]
    apt: Apt = field(init=False)

    def __post_init__(self) -> None:
        self.apt = Apt(self.commands, self.host)

    def prepare(self, command: Command) -> None:
        if command.dependencies:
            uv.sync(self.steps, self.commands, self.host, self.apt, self.checkout)
        if command.images:
            docker_engine.ensure(self.steps, self.commands, self.host, self.apt)
            self._images()
        if command.journeys:
            images.ensure_journeys(
                self.steps,
                self.commands,
                self.host,
                self.apt,
                self.checkout,
                k6_image=self.environment.get("TUNER_K6_IMAGE"),
            )
        if command.compose:
            compose.ensure(self.steps, self.commands, self.apt)

    def _images(self) -> None:
        source = self.environment.get("TUNER_PYTHON_IMAGE") or python_image.DEFAULT_SOURCE
        python_image.ensure(self.steps, self.commands, self.host, self.apt, source)
        images.ensure_base(self.steps, self.commands, self.checkout)
        images.ensure_load(
            self.steps,
            self.commands,
            self.host,
            self.apt,
            self.checkout,
            oha_image=self.environment.get("TUNER_OHA_IMAGE"),
        )


def main(name: str, arguments: Sequence[str]) -> int:
    """Run one of COMMANDS; the exit code. A hand-over does not return."""
    command = COMMANDS[name]
    steps = Steps(sys.stdout)
    try:
        host = detect(os.environ)
        host.cache.mkdir(parents=True, exist_ok=True)
        with _alone(steps, host.cache):
            commands = SystemCommands(host.cache / "provision.log")
            Provisioner(steps, commands, host, CHECKOUT, os.environ).prepare(command)
        return _hand_over(steps, command, arguments)
    except StepFailed as failure:
        steps.failed(failure)
        return 1
    except KeyboardInterrupt:
        return 130


def _hand_over(steps: Steps, command: Command, arguments: Sequence[str]) -> int:
    if command.checks:
        if command.checks == checks.FULL:
            checks.require_every_level(CHECKOUT)
        failed = checks.run(steps, CHECKOUT, command.checks)
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
def _alone(steps: Steps, cache: Path) -> Iterator[None]:
    """One set-up at a time: two would install, start and build the same things."""
    with (cache / "provision.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            steps.working("another set-up is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
