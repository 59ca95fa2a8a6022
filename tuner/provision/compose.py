"""Docker Compose, for the test that brings the whole stack up."""

from __future__ import annotations

from tuner.provision.machine import Machine
from tuner.provision.steps import StepFailed


def ensure(machine: Machine) -> None:
    """Have `docker compose` or `docker-compose`. Raises StepFailed when neither can be had."""
    if not _present(machine):
        if not machine.host.can_apt:
            raise StepFailed(
                "Docker Compose",
                "neither `docker compose` nor `docker-compose` answers",
                "install Docker's compose plugin (Debian and Ubuntu: the package docker-compose),"
                " then run the same command again",
            )
        with machine.steps.slow("installing docker-compose with apt", "docker-compose installed"):
            machine.apt.install(["docker-compose"], what="Docker Compose")
    machine.steps.ok("Docker Compose answers")


def _present(machine: Machine) -> bool:
    either = (["docker", "compose"], ["docker-compose"])
    return any(machine.run([*program, "version"]).ok for program in either)
