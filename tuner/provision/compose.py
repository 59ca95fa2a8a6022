"""Docker Compose, for the test that brings the whole stack up."""

from __future__ import annotations

from tuner.provision.apt import Apt
from tuner.provision.commands import Commands
from tuner.provision.steps import StepFailed, Steps


def ensure(steps: Steps, commands: Commands, apt: Apt) -> None:
    """Have `docker compose` or `docker-compose`. Raises StepFailed when neither can be had."""
    if not _present(commands):
        if not apt.usable:
            raise StepFailed(
                "Docker Compose",
                "neither `docker compose` nor `docker-compose` answers",
                "install Docker's compose plugin (Debian and Ubuntu: the package docker-compose),"
                " then run the same command again",
            )
        with steps.slow("installing docker-compose with apt", "docker-compose installed"):
            apt.install(["docker-compose"], what="Docker Compose")
    steps.ok("Docker Compose answers")


def _present(commands: Commands) -> bool:
    return (
        commands.run(["docker", "compose", "version"]).ok
        or commands.run(["docker-compose", "version"]).ok
    )
