"""socat and faketime, for the tests that lose packets and move clocks."""

from __future__ import annotations

from tuner.provision.machine import Machine
from tuner.provision.steps import StepFailed

PROGRAMS = ("socat", "faketime")  # the packages have the same names


def ensure(machine: Machine) -> None:
    """Have the programs on PATH. Raises StepFailed when they cannot be had."""
    lacking = [program for program in PROGRAMS if not machine.which(program)]
    if lacking:
        if not machine.host.can_apt:
            raise StepFailed(
                "tests of faults",
                f"not on PATH: {', '.join(lacking)}",
                "install them (packages of the same names), then run the same command again",
            )
        words = " and ".join(lacking)
        with machine.steps.slow(f"installing {words} with apt", f"{words} installed"):
            machine.apt.install(lacking, what="tests of faults")
    machine.steps.ok(f"{' and '.join(PROGRAMS)} are here, for the tests of faults")
